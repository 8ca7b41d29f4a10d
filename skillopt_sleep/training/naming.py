"""The models of a run by the names of its configuration."""

from __future__ import annotations

from skillopt_sleep.errors import UsageError
from skillopt_sleep.training.config import ModelSection

# The reference's backends, as models are named here.
_BACKENDS = {
    "": "",
    "openai_chat": "openai",
    "openai_compatible": "openai",
    "azure_openai": "azure",
    "qwen_chat": "qwen",
    "minimax_chat": "minimax",
    "claude_chat": "claude",
    "codex": "codex",
}


def name_target(section: ModelSection) -> str:
    """Return the name under which the target model is opened. Raises UsageError."""
    return _name(section.target, section.target_backend or section.backend, "target")


def name_optimizer(section: ModelSection) -> str:
    """Return the name under which the optimizer model is opened. Raises UsageError."""
    return _name(section.optimizer, section.optimizer_backend or section.backend, "optimizer")


def _name(model: str, backend: str, role: str) -> str:
    if backend not in _BACKENDS:
        known = ", ".join(name for name in _BACKENDS if name)
        raise UsageError(f"no backend for model.{role} is called {backend!r}", hint=f"known are {known}")
    kind = _BACKENDS[backend]
    return f"{kind}:{model}" if kind and not model.startswith(f"{kind}:") else model
