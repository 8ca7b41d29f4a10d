"""Which files begin with another session's records, and when their own began.

The client copies in three ways: with the session id of the original (until 1.0), with `forkedFrom` in each
copy, or with nothing but the fork's own id. In the last case a prompt that was queued before the first record
tells, if there is one: it is younger than the copies.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import BinaryIO

from skillopt_harvesters.lines import MAX_LINE
from skillopt_harvesters.sources.forks import UNDATED, find_time

_SESSION = re.compile(rb'"sessionId":\s?"([^"\\]*)"')
_COPIED = re.compile(rb'"forkedFrom":\s?\{')
_FORKED = b'"forkedFrom"'
_QUEUED = b'"queue-operation"'
_RECORD = re.compile(rb'"uuid":\s?"')
# So much of a fork is looked through for its first own record.
_MAX_COPIES = 64 * 1024 * 1024
# The first records stand in so much of it, with the line that goes beyond.
_FIRST = 16 * 1024


def find_fork(head: bytes, file: BinaryIO, path: Path) -> str | None:
    """Return when the session of a fork began, as far as the file tells; None for any other file."""
    folder, name = os.path.split(path)
    if name.startswith("agent-") or os.path.basename(folder) == "subagents":  # noqa: PTH119
        return None
    named = _SESSION.search(head)
    own = os.fsencode(name.removesuffix(".jsonl"))
    if (named is not None and named[1] != own) or _has_copies(head):
        return _find_first(file, own) or UNDATED
    # Only what stands before the first record matters.
    first = _RECORD.search(head)
    queued = head.find(_QUEUED, 0, first.start()) if first else -1
    if first is None or queued < 0:
        return None
    began = find_time(head, head.rfind(b"\n", 0, queued) + 1)
    earliest = find_time(head, head.rfind(b"\n", 0, first.start()) + 1)
    return began if began and earliest and earliest < began else None


def _has_copies(head: bytes) -> bool:
    """Tell whether a file begins with marked copies; its first records are, or none is."""
    end = head.find(b"\n", _FIRST)
    return head.find(_FORKED, 0, end if end > 0 else len(head)) >= 0 and _COPIED.search(head) is not None


def _find_first(file: BinaryIO, own: bytes) -> str | None:
    """Return the time of the first record that is no copy."""
    file.seek(0)
    read = 0
    while read < _MAX_COPIES and (line := file.readline(MAX_LINE)):
        read += len(line)
        named = _SESSION.search(line)
        if named is not None and named[1] == own and not (_FORKED in line and _COPIED.search(line)):
            time = find_time(line)
            if time is not None:
                return time
    return None
