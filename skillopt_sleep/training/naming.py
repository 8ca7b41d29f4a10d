"""The models of a run by the names of its configuration, and where their servers are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from skillopt_sleep.errors import UsageError
from skillopt_sleep.training.backends import NAMES, OF_TARGET, find_agent, find_backend, find_kind
from skillopt_sleep.training.config import ModelSection, ServerSection

# What the reference calls the variables of a role's server, and what they are called here.
_VARIABLES = {"OPENAI_COMPATIBLE_API_KEY": "OPENAI_API_KEY", "QWEN_CHAT_API_KEY": "VLLM_API_KEY"}
_ADDRESSES = {"openai_compatible": "OPENAI_COMPATIBLE_BASE_URL", "qwen_chat": "QWEN_CHAT_BASE_URL"}
_OF_ROLE = ("AZURE_OPENAI_", "OPENAI_COMPATIBLE_", "QWEN_CHAT_", "MINIMAX_", "OPENAI_API_KEY")


class ModelName(msgspec.Struct, frozen=True, kw_only=True):
    """How a chat model is opened: `spec` as models are named everywhere, and what goes with its requests.

    `env` is where its keys are looked up; it is never shown or kept.
    """

    spec: str
    env: Mapping[str, str]
    effort: str = ""
    extra: Mapping[str, Any] = {}
    timeout_s: float | None = None

    def __repr__(self) -> str:
        return f"ModelName(spec={self.spec!r})"


def name_agent(section: ModelSection) -> str:
    """Return which agent runs the tasks, "" when a chat model answers them. Raises UsageError."""
    backend = find_backend(_list(section), "target")
    if backend and find_kind(backend) is None and not find_agent(backend):
        raise _unknown(backend, "target")
    return find_agent(backend)


def name_target(section: ModelSection, env: Mapping[str, str], *, timeout_s: float = 0.0) -> ModelName:
    """Return how the target model is opened. Raises UsageError."""
    return _name(section, "target", env, section.reasoning_effort, timeout_s)


def name_optimizer(section: ModelSection, env: Mapping[str, str]) -> ModelName:
    """Return how the optimizer model is opened. Raises UsageError."""
    return _name(section, "optimizer", env, section.reasoning_effort, 0.0)


def name_rewriter(section: ModelSection, env: Mapping[str, str]) -> ModelName | None:
    """Return how the optimizer is opened for whole documents, None where that is no other way."""
    effort = section.rewrite_reasoning_effort
    if not effort or effort == section.reasoning_effort:
        return None
    return _name(section, "optimizer", env, effort, 0.0)


def _name(
    section: ModelSection, role: str, env: Mapping[str, str], effort: str, timeout_s: float
) -> ModelName:
    backend = find_backend(_list(section), role)
    kind = find_kind(backend)
    if kind is None:
        raise _unknown(backend, role)
    if not backend and section.backend in OF_TARGET and not _names_kind(getattr(section, role)):
        kind = "openai"
    own = _of_role(role, env)
    server: ServerSection = getattr(section, f"{role}_server")
    if server.api_version:
        own["AZURE_OPENAI_API_VERSION"] = server.api_version
    model = str(getattr(section, role))
    address = server.base_url or own.get(_ADDRESSES.get(backend, ""), "")
    if address and "#" not in model:
        model = f"{address}#{model}"
    extra: dict[str, Any] = {} if server.temperature is None else {"temperature": server.temperature}
    if server.thinking != "server_default":
        extra |= _thinking(backend, on=server.thinking == "enabled")
    return ModelName(
        spec=f"{kind}:{model}" if kind and not model.startswith(f"{kind}:") else model,
        env=own,
        effort=effort,
        extra=extra,
        timeout_s=server.timeout_seconds or timeout_s or None,
    )


def _names_kind(model: str) -> bool:
    return ":" in model or model in {"local", "claude", "codex", "llamacpp"}


def _thinking(backend: str, *, on: bool) -> dict[str, Any]:
    """Return the fields by which a server is told whether its model is to think."""
    if backend == "minimax_chat":
        return {"thinking": {"type": "adaptive" if on else "disabled"}}
    return {"chat_template_kwargs": {"enable_thinking": on}}


def _of_role(role: str, env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with what is set for the role alone in its place."""
    own = dict(env)
    prefix = f"{role.upper()}_"
    for name, value in env.items():
        plain = name.removeprefix(prefix)
        if plain != name and plain.startswith(_OF_ROLE):
            own[plain] = value
    for name, ours in _VARIABLES.items():
        if own.get(name):
            own[ours] = own[name]
    return own


def _list(section: ModelSection) -> dict[str, Any]:
    return {name: getattr(section, name) for name in ("backend", "target_backend", "optimizer_backend")}


def _unknown(backend: str, role: str) -> UsageError:
    known = ", ".join(NAMES)
    said = f"is no model that writes edits: {backend!r}" if find_agent(backend) else f"is called {backend!r}"
    return UsageError(f"no backend for model.{role} {said}", hint=f"known are {known}")
