"""Private keys in their armour: whole, escaped, indented, quoted, in a diff, or cut off at either end."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillopt_harvesters.redact.view import Edit, View

KIND = "private-key"
_LONGEST = 32_768

_BEGIN = re.compile(
    r"-{4,5} ?BEGIN[ A-Za-z0-9_+%]{0,48}?(?:PRIVATE|SECRET|Static)[ A-Za-z0-9_+%]{0,40}-{4,5}"
    r"|PuTTY-User-Key-File-[0-9]:"
)
_END = re.compile(r"-{4,5} ?END[ A-Za-z0-9_+%]{1,80}-{4,5}|Private-MAC: ?[0-9a-f]{0,128}")
_PRIVATE_END = re.compile(r"PRIVATE|SECRET|Static|MAC")
# What stands between the lines of a key: line ends raw and escaped, quotes, signs of a diff, line numbers.
_BETWEEN = r"[\s\"'`,+>|*#.\\-]|(?<=\\)[nrt]|%0[AaDd]|[0-9]{1,5}[\t:|→]"
_HEADERS = (
    r"(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash|Encryption|Public-Lines|Private-Lines):"
    r"[^\n\\]{0,120}"
)
_BODY = re.compile(rf"(?:{_HEADERS}|{_BETWEEN}|[A-Za-z0-9+/=%]{{16,}})*(?:[A-Za-z0-9+/=]{{1,15}}\Z)?")
# The same backwards, for a key whose beginning is missing.
_BODY_BACKWARDS = re.compile(r"[A-Za-z0-9+/=]{0,76}(?:[\s\"'`,+>|*#\\]|n(?=\\)|[A-Za-z0-9+/=]{40,})*")
_MATERIAL = re.compile(r"[A-Za-z0-9+/]{16,}")


def find_key_blocks(view: View) -> Iterator[Edit]:
    """Find private keys of PEM, OpenSSH, PGP, PuTTY and OpenVPN."""
    plain = view.plain
    if "BEGIN" not in plain and "END " not in plain and "PuTTY" not in plain:
        return
    done = 0
    ends = _Ends(plain)
    begins = list(_BEGIN.finditer(plain))
    for begin, following in zip_longest(begins, begins[1:]):
        if begin.start() < done:
            continue
        yield from _find_headless(plain, done, begin.start(), ends)
        limit = min(len(plain) if following is None else following.start(), begin.end() + _LONGEST)
        end = ends.after(begin.end())
        if end is not None and end.start() <= limit and _has_body(plain, begin.end(), end.start()):
            stop = end.end()
        else:
            stop = _body_end(plain, begin.end(), limit)
        if _MATERIAL.search(plain, begin.end(), stop):
            yield (begin.start(), stop, KIND)
            done = stop
    yield from _find_headless(plain, done, len(plain), ends)


class _Ends:
    """The end lines of a text, asked for with positions that only grow."""

    def __init__(self, plain: str) -> None:
        self._found = list(_END.finditer(plain))
        self._next = 0

    def after(self, position: int) -> re.Match[str] | None:
        while self._next < len(self._found) and self._found[self._next].start() < position:
            self._next += 1
        return self._found[self._next] if self._next < len(self._found) else None


def _has_body(plain: str, start: int, end: int) -> bool:
    """Whether what stands between two lines of armour is a key rather than a sentence about keys."""
    material = sum(len(match[0]) for match in _MATERIAL.finditer(plain, start, end))
    return material * 2 > end - start - 200


def _body_end(plain: str, start: int, limit: int) -> int:
    match = _BODY.match(plain, start, limit)
    return match.end() if match else start


def _find_headless(plain: str, start: int, stop: int, ends: _Ends) -> Iterator[Edit]:
    """Find keys of which only the end is there."""
    position = start
    while (end := ends.after(position)) is not None and end.end() <= stop:
        begin = max(position, end.start() - _LONGEST)
        position = end.end()
        if not _PRIVATE_END.search(end[0]):
            continue
        backwards = _BODY_BACKWARDS.match(plain[begin : end.start()][::-1])
        length = backwards.end() if backwards else 0
        if length and _MATERIAL.search(plain, end.start() - length, end.start()):
            yield (end.start() - length, end.end(), KIND)
