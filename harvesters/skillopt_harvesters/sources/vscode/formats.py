"""Which of VS Code's formats a file is in, told by how it begins."""

from __future__ import annotations

import io
import re
from enum import Enum
from typing import Any

from skillopt_harvesters.lines import decode_leniently
from skillopt_harvesters.sources.copilot.discover import Writer, find_writer
from skillopt_harvesters.sources.skim import Skimmer, Torn

_PADDING = b"\xef\xbb\xbf\r\n\x00 \t"
_SESSION_KEYS = frozenset({"requests", "sessionId", "creationDate", "responderUsername", "requesterUsername"})
_PATHS = frozenset(
    {"requests", "inputState", "customTitle", "pendingRequests", "hasPendingEdits", "repoData"}
)
_LOG_START = re.compile(rb'\{\s*"kind"\s*:\s*0\s*,\s*"v"\s*:\s*(?=\{)')
_FIRST_REQUEST = re.compile(rb'\[\s*\{\s*"requestId"\s*:')
_LAST_OPERATION = 3


class Format(str, Enum):
    """How a session is kept."""

    TRANSCRIPT = "transcript"
    LOG = "log"
    DOCUMENT = "document"


def find_format(head: bytes) -> Format | None:
    """Return the format of a file that begins with `head`; None when it is another program's."""
    if find_writer(head) in (Writer.EXTENSION, Writer.EITHER):
        return Format.TRANSCRIPT
    opening = head.lstrip(_PADDING)
    if not opening.startswith(b"{"):
        return Format.LOG if _has_operation(head) else None
    start = _LOG_START.match(opening)
    if start and len(_keys(opening[start.end() :]) & _SESSION_KEYS) > 1:
        return Format.LOG
    if _has_operation(head):
        return Format.LOG
    return Format.DOCUMENT if _is_session(opening) else None


def _has_operation(head: bytes) -> bool:
    """Whether a line is an operation on a session: its first line may be lost."""
    lines = head.split(b"\n")
    return any(_is_operation(value) for line in lines[:50] for value in _decode_short(line))


def _decode_short(line: bytes) -> list[Any]:
    return decode_leniently(line.strip(_PADDING)) if b'"kind"' in line[:200] else []


def _is_operation(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("kind"), int):
        return False
    path, state = value.get("k"), value.get("v")
    if value["kind"] == 0 and isinstance(state, dict):
        return len(state.keys() & _SESSION_KEYS) > 1
    return (
        0 < value["kind"] <= _LAST_OPERATION
        and isinstance(path, list)
        and bool(path[:1])
        and str(path[0]) in _PATHS
    )


def _is_session(opening: bytes) -> bool:
    keys = _keys(opening)
    told = len(keys & _SESSION_KEYS)
    if "requests" not in keys and told < 2:
        return False
    return ("requests" in keys and told > 1) or bool(_FIRST_REQUEST.search(opening[:65_536]))


def _keys(text: bytes) -> set[str]:
    """Return the keys of an object, as far as the text goes."""
    keys: set[str] = set()
    try:
        for key in Skimmer(io.BytesIO(text)).members():
            keys.add(key)
            if key == "requests" and len(keys & _SESSION_KEYS) > 1:
                break
    except Torn:
        pass
    return keys
