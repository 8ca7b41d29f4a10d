"""Where Claude Code keeps its transcripts, and how to tell one by its first bytes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from skillopt_harvesters.lines import decode_leniently
from skillopt_harvesters.sources.folders import find_base, split_folders, unique
from skillopt_harvesters.walk import walk_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

# Types whose shape no other client shares, with a key that must stand beside `type`.
_OWN_TYPES = {
    "summary": "leafUuid",
    "file-history-snapshot": "snapshot",
    "queue-operation": "operation",
    "last-prompt": "sessionId",
    "mode": "mode",
    "permission-mode": "permissionMode",
    "atis-latch": "sessionId",
    "custom-title": "sessionId",
    "ai-title": "sessionId",
    "worktree-state": "sessionId",
    "api-request": "shapeHash",
    "api-request-shape": "shapeHash",
    "api-request-blob": "hash",
    "tools-used": "sessionId",
    "cost-state": "sessionId",
}
_PADDING = b"\xef\xbb\xbf\r\n\x00 \t"
_MESSAGES = {"user", "assistant"}
_NOTES = {"system", "attachment", "progress"}


def find_roots(env: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    """Return the folders to look in: CLAUDE_CONFIG_DIR when set, as the client does, else its defaults."""
    config = find_base(env, "XDG_CONFIG_HOME", home / ".config")
    folders = split_folders(env.get("CLAUDE_CONFIG_DIR"), home) or (home / ".claude", config / "claude")
    return unique(folder / "projects" for folder in folders)


def find_files(root: Path, *, warn: Callable[[str], None] | None = None) -> Iterator[Path]:
    """Yield the transcript files below a root: sessions and sub-agents."""
    return walk_files(root, (".jsonl",), warn=warn)


def recognise(head: bytes) -> bool:
    """Tell whether a file that begins with `head` is a transcript of Claude Code.

    Decides by the first record of a kind only this client writes. Where none is whole, the keys that open
    every message record decide.
    """
    position, end = 0, head.rfind(b"\n") + 1
    while position < end:
        line_end = head.index(b"\n", position) + 1
        verdict = _judge_line(head[position:line_end])
        if verdict is not None:
            return verdict
        position = line_end
    last = head[end:]
    verdict = _judge_line(last)
    if verdict is not None:
        return verdict
    opening = last[:2048]
    return b'"isSidechain"' in opening and b'"parentUuid"' in opening


def _judge_line(line: bytes) -> bool | None:
    try:
        return _judge(msgspec.json.decode(line))
    except (msgspec.DecodeError, RecursionError):
        pass
    verdicts = (_judge(record) for record in decode_leniently(line.strip(_PADDING)))
    return next((verdict for verdict in verdicts if verdict is not None), None)


def _judge(record: Any) -> bool | None:
    """Return yes, no, or None: this record fits several clients."""
    kind = record.get("type") if isinstance(record, dict) else None
    if not isinstance(kind, str):
        return None
    message = record.get("message")
    foreign = "payload" in record or ("data" in record and "parentId" in record)
    if foreign or (kind in _MESSAGES and isinstance(message, dict) and "parts" in message):
        return False
    if kind in _OWN_TYPES:
        return True if _OWN_TYPES[kind] in record else None
    ours = "isSidechain" in record or ("userType" in record and "sessionId" in record)
    complete = kind in _NOTES or (kind in _MESSAGES and isinstance(message, dict))
    return True if ours and complete else None
