"""Who runs the tasks and who writes the edits, by the names of a run's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# The reference's backends of chat models, as models are named here.
_CHATS = {
    "": "",
    "openai_chat": "openai",
    "openai_compatible": "openai",
    "azure_openai": "azure",
    "qwen_chat": "vllm",
    "minimax_chat": "minimax",
    "claude_chat": "claude",
    "codex": "codex",
}
# Backends of agents: the agent as target, and the model that such a client is as optimizer.
_AGENTS = {
    "claude_code_exec": ("claude_code", ""),
    "claude_code": ("claude_code", ""),
    "codex_exec": ("codex", "codex"),
    "copilot_exec": ("copilot", ""),
    "copilot": ("copilot", ""),
    "command": ("command", ""),
}
# Named for a whole run, these say who runs the tasks; who writes the edits is named apart.
OF_TARGET = (*(name for name in _AGENTS if name != "codex_exec"), "qwen_chat", "minimax_chat")
AZURE = frozenset({"azure_openai"})
QWEN = frozenset({"qwen_chat"})
MINIMAX = frozenset({"minimax_chat"})
CODEX = frozenset({"codex_exec", "codex"})
CLAUDE = frozenset({"claude_code_exec", "claude_code", "claude_chat"})
COPILOT = frozenset({"copilot_exec", "copilot"})

NAMES = tuple(name for name in (*_CHATS, *_AGENTS) if name)


def find_backend(section: Mapping[str, Any], role: str) -> str:
    """Return the backend of the role, target or optimizer, as the values of `model` name it ("": none)."""
    own = str(section.get(f"{role}_backend") or "")
    shared = str(section.get("backend") or "")
    return own or ("" if role == "optimizer" and shared in OF_TARGET else shared)


def find_agent(backend: str) -> str:
    """Return which agent a target of this backend is, "" for a chat model."""
    return _AGENTS[backend][0] if backend in _AGENTS else ""


def find_kind(backend: str) -> str | None:
    """Return the kind of chat model that the backend is, "" where the name says it, None for none."""
    if backend in _CHATS:
        return _CHATS[backend]
    return _AGENTS[backend][1] or None if backend in _AGENTS else None
