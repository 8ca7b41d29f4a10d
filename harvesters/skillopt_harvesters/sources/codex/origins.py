"""Who spoke in a session: a person, a program, another agent, or one of our own replays."""

from __future__ import annotations

from typing import Any

import msgspec

from skillopt_harvesters.calls import redact_name
from skillopt_harvesters.records import Kind
from skillopt_harvesters.sources.base import OWN_ENTRYPOINT, is_own_folder
from skillopt_harvesters.sources.codex.decode import decode_any
from skillopt_harvesters.sources.codex.records import Meta

# How the originators of clients that people type into begin, in lower case: the terminal, the editor
# extensions, the desktop application, and known programs that embed the client for people.
_PEOPLE = (
    "codex_cli",
    "codex-tui",
    "codex_tui",
    "codex_vscode",
    "codex ",
    "codex_desktop",
    "codex_work",
    "codex_chatgpt",
    "codex_atlas",
    "jetbrains",
    "t3code",
    "xcode",
    "zed",
)
_PROGRAMS = ("codex_exec", "codex_sdk", "codex_mcp")
# The thread sources of what a person begins: a thread, and a conversation beside one (`/side`).
_PEOPLES_THREADS = frozenset({None, "user", "tui_side_chat"})
# How the thread sources of what the desktop starts without its user end.
_AUTOMATION = "automation"
_HEADLESS_SOURCES = frozenset({"exec", "mcp", "appServer", "app_server"})


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Who began a session. `program` is the client's own headless mode, `strange` names an unknown client."""

    kind: Kind
    parent: str | None = None
    program: bool = False
    strange: str | None = None


def find_origin(meta: Meta) -> Origin:
    """Return who began a session. Where nothing is written it was a person, as far as anybody can tell."""
    source = decode_any(meta.source)
    originator = meta.originator or ""
    names = [name for name in (originator, meta.thread_source, source) if isinstance(name, str)]
    if any(name.startswith(OWN_ENTRYPOINT) for name in names) or is_own_folder(meta.cwd or ""):
        return Origin(kind=Kind.REPLAY)
    if meta.thread_source == "subagent" or (isinstance(source, dict) and "subagent" in source):
        return Origin(kind=Kind.SUBAGENT, parent=meta.parent_thread_id or _find_parent(source))
    is_headless = isinstance(source, str) and source in _HEADLESS_SOURCES
    is_program = is_headless or originator.lower().startswith(_PROGRAMS)
    if is_program or (meta.thread_source or "").endswith(_AUTOMATION):
        return Origin(kind=Kind.HEADLESS, program=True)
    strange = _find_stranger(source, meta.thread_source, originator)
    return Origin(kind=Kind.HEADLESS if strange else Kind.HUMAN, strange=strange)


def _find_stranger(source: Any, thread_source: str | None, originator: str) -> str | None:
    if not isinstance(source, (str, type(None))):
        return f"source {redact_name(str(source)):.40}"
    if thread_source not in _PEOPLES_THREADS:
        return f"thread source {redact_name(str(thread_source)):.40}"
    if source == "cli" or not originator or originator.lower().startswith(_PEOPLE):
        return None
    return f"originator {redact_name(originator):.40}"


def _find_parent(source: Any) -> str | None:
    """Return the thread that spawned an agent; how deep it stands depends on the kind of agent."""
    for _ in range(4):
        if not isinstance(source, dict):
            return None
        parent = source.get("parent_thread_id")
        if isinstance(parent, str):
            return parent
        source = next((value for value in source.values() if isinstance(value, dict)), None)
    return None
