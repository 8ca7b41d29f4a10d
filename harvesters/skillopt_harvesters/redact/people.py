"""E-mail addresses of people."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillopt_harvesters.redact.view import Edit, View

# Read outwards from the sign in the middle: a search from the left would try every letter before it.
_DOMAIN = re.compile(r"(?:@|%40)(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24}\b(?!:)")
_NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789._%+-"
_LONGEST_NAME = 64
_NO_PERSON = re.compile(
    r"@(?:[\w-]+\.)*example\.(?:com|org|net)\Z|^(?:no-?reply|git)@|\.(?:local|test|invalid)\Z"
)


def find_emails(view: View) -> Iterator[Edit]:
    """Find addresses, except reserved ones and those of programs (noreply, git)."""
    lowered = view.lowered
    if "@" not in lowered and "%40" not in lowered:
        return
    done = 0
    for match in _DOMAIN.finditer(lowered):
        head = lowered[max(done, match.start() - _LONGEST_NAME) : match.start()]
        name = head[len(head.rstrip(_NAME_CHARACTERS)) :]
        start = match.start() - len(name)
        if (
            # A sign of a patch before a decorator is nobody's name.
            name.strip("._%+-")
            and not lowered.startswith("://", start - 3)
            and not _NO_PERSON.search(lowered[start : match.end()].replace("%40", "@"))
        ):
            yield (start, match.end(), "email")
            done = match.end()
