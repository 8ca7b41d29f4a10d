"""Files that begin with another session's records: a fork or resume copies them, and they are not its own.

A fork is read after the files it may have copied from, whichever was written to last: the one it was made
from may have gone on since. What gives a fork away is that it began later than the records it begins with.
"""

from __future__ import annotations

import re

from skillopt_harvesters.times import to_utc

# When a fork began is not known: it comes after those that tell.
UNDATED = "~"
_TIME = re.compile(rb'"timestamp":\s?(?:"([^"\\]{1,40})"|(\d{9,16}))')
_FIRST = 16 * 1024


def find_time(line: bytes, start: int = 0) -> str | None:
    """Return the first time that is written in a record, in UTC."""
    # The pattern takes many times as long to come to where it may begin.
    at = line.find(b'"timestamp"', start)
    found = _TIME.search(line, at) if at >= 0 else None
    if found is None:
        return None
    return to_utc(int(found[2]) if found[2] else found[1].decode("ascii", "replace"))


def compare_times(head: bytes) -> str | None:
    """Return the time of the first record when the one after it is older: a header over copies."""
    end = head.find(b"\n", 0, _FIRST)
    began = find_time(head[:end]) if end > 0 else None
    first = find_time(head, end + 1) if began else None
    return began if began and first and first < began else None
