"""Where pi keeps its sessions, and how to tell one by its first bytes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillopt_harvesters.salvage import decode_leniently
from skillopt_harvesters.sources.folders import expand, split_folders, unique

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAX_SETTINGS = 1024 * 1024
_ROLES = frozenset({"user", "assistant", "toolResult", "bashExecution", "system", "custom", "hookMessage"})
# What `--mode json` prints, which people save under the same names, and keys of other clients.
_EVENTS = frozenset({"agent_start", "turn_start", "message_start", "message_update", "tool_execution_start"})
_FOREIGN = frozenset({"uuid", "parentUuid", "sessionId", "isSidechain", "payload", "data"})
_NAME = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_(?P<id>.+)\Z")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\Z")


def find_roots(env: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    """Return the folders to look in.

    `PI_CODING_AGENT_DIR` replaces `~/.pi/agent`. Where sessions go can be moved by a variable and by the
    `sessionDir` of the settings; what was written before stays where it was, so that place is read as well.
    """
    homes = split_folders(env.get("PI_CODING_AGENT_DIR"), home) or (home / ".pi" / "agent",)
    moved = split_folders(env.get("PI_CODING_AGENT_SESSION_DIR"), home)
    configured = (folder for one in homes if (folder := _read_setting(one, home)) is not None)
    return unique([*moved, *configured, *(one / "sessions" for one in homes)])


def identify(path: Path) -> str:
    """Return a session's id: the one in the file's name. Old versions wrote another one into the file.

    An id the user chose may be in use in several folders: then the time before it belongs to it.
    """
    match = _NAME.match(path.stem)
    return match["id"] if match and _UUID.match(match["id"]) else path.stem


def recognise(head: bytes) -> bool:
    """Tell whether a file that begins with `head` is a session of pi.

    Decides by the first record of a kind only this client writes, and by what follows a header: the client
    prints its events under the same header. A cut last line does not count, unless it is all there is.
    """
    lines = head.split(b"\n")
    headed = False
    for line in lines[: len(lines) if head.endswith(b"\n") or len(lines) == 1 else -1]:
        for record in decode_leniently(line.strip(b"\xef\xbb\xbf\r\x00 \t")):
            verdict = _judge(record)
            if verdict is not None:
                return verdict
            headed = headed or _is_header(record)
    return headed


def _judge(record: Any) -> bool | None:
    """Return yes, no, or None: this record fits several programs."""
    kind = record.get("type") if isinstance(record, dict) else None
    if not isinstance(kind, str):
        return None
    # What an extension keeps in a session stands in `data`, and may come first.
    foreign = _FOREIGN - {"data"} if kind == "custom" and "customType" in record else _FOREIGN
    if kind in _EVENTS or not foreign.isdisjoint(record):
        return False
    message = record.get("message")
    if kind == "message" and isinstance(message, dict) and message.get("role") in _ROLES:
        return True if "timestamp" in record and ("content" in message or "command" in message) else None
    return True if kind in {"model_change", "thinking_level_change"} and "timestamp" in record else None


def _is_header(record: Any) -> bool:
    return (
        isinstance(record, dict)
        and record.get("type") == "session"
        and isinstance(record.get("id"), str)
        and "timestamp" in record
        and "cwd" in record
    )


def _read_setting(agent: Path, home: Path) -> Path | None:
    try:
        with (agent / "settings.json").open("rb") as file:
            settings = decode_leniently(file.read(_MAX_SETTINGS))
    except (OSError, ValueError):
        return None
    value = settings[0].get("sessionDir") if settings and isinstance(settings[0], dict) else None
    return expand(value, home) if isinstance(value, str) else None
