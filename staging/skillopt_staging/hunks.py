"""A change cut into hunks, so that it can be shown and taken piece by piece."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from difflib import SequenceMatcher
from enum import Enum
from typing import Any

import msgspec

from skillopt_staging.errors import StagingError

# Up to so many pairs of lines are matched as a whole (a few hundred milliseconds at worst).
_QUICK = 100_000
NO_END = "\\ No newline at end of file"


class Kind(str, Enum):
    SAME = " "
    REMOVED = "-"
    ADDED = "+"


class Line(msgspec.Struct, frozen=True):
    """One line of a hunk, with its number (from 1) in the old and the new text; None where it is not in it.

    `text` is without the line feed; `ended` is False for a last line that has none.
    """

    kind: Kind
    text: str
    old: int | None
    new: int | None
    ended: bool = True


class Hunk(msgspec.Struct, frozen=True):
    """One place that changes: `index` from 1, and start (from 1) and length of it in both texts."""

    index: int
    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: tuple[Line, ...]

    @property
    def header(self) -> str:
        """Return the `@@ -1,3 +1,4 @@` line."""
        old = _range(self.old_start, self.old_count)
        return f"@@ -{old} +{_range(self.new_start, self.new_count)} @@"

    @property
    def text(self) -> str:
        """Return the hunk as a unified diff has it, header included."""
        shown = [self.header]
        for line in self.lines:
            shown.append(line.kind.value + line.text)
            if not line.ended:
                shown.append(NO_END)
        return "\n".join(shown) + "\n"


def hunks(base: str, text: str, context: int = 3) -> tuple[Hunk, ...]:
    """Return what changes from `base` to `text`; empty when nothing does.

    Changes closer than twice `context` lines share a hunk. Lines end at line feeds only.
    """
    old, new = _lines(base), _lines(text)
    return tuple(
        _hunk(index, group, old, new) for index, group in enumerate(_groups(old, new, context), start=1)
    )


def take(base: str, text: str, indices: Iterable[int], context: int = 3) -> str:
    """Return `base` with only the hunks of these indices changed.

    All of them give `text`, none `base`. Raises StagingError for an index that `hunks` does not give.
    """
    old, new = _lines(base), _lines(text)
    groups = _groups(old, new, context)
    wanted = set(indices)
    unknown = sorted(wanted - set(range(1, len(groups) + 1)))
    if unknown:
        raise StagingError(
            f"there is no hunk {', '.join(map(str, unknown))}", hint=f"this change has {len(groups)}"
        )
    taken: list[str] = []
    position = 0
    for index, group in enumerate(groups, start=1):
        first, last = group[0], group[-1]
        taken += old[position : first[1]]
        taken += new[first[3] : last[4]] if index in wanted else old[first[1] : last[2]]
        position = last[2]
    return "".join(taken + old[position:])


def unified(base: str, text: str, path: str, context: int = 3) -> str:
    """Return the whole change as a unified diff that `git apply` and `patch` read; "" when there is none."""
    parts = hunks(base, text, context)
    if not parts:
        return ""
    old = f"a/{path}" if base else "/dev/null"
    new = f"b/{path}" if text else "/dev/null"
    return f"--- {old}\n+++ {new}\n" + "".join(hunk.text for hunk in parts)


_Code = tuple[str, int, int, int, int]


def _lines(text: str) -> list[str]:
    # str.splitlines would also cut at form feeds and Unicode separators, which are content here.
    pieces = text.split("\n")
    return [piece + "\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def _groups(old: list[str], new: list[str], context: int) -> list[list[_Code]]:
    if old == new:
        return []
    few = len(old) * len(new) <= _QUICK
    matcher = SequenceMatcher(None, old, new, autojunk=False) if few else _Anchored(old, new)
    return [list(group) for group in matcher.get_grouped_opcodes(context)]


class _Anchored(SequenceMatcher[str]):
    """Groups what `_anchored` found, as a matcher of the whole texts would."""

    def __init__(self, old: list[str], new: list[str]) -> None:
        super().__init__()
        self._codes = _anchored(old, new)

    def get_opcodes(self) -> list[Any]:
        return self._codes


def _anchored(old: list[str], new: list[str]) -> list[Any]:
    """Match what lies between the lines both texts have exactly once, each stretch on its own.

    Repeated lines (blank ones, above all) make the matching of whole texts grow with more than the square
    of their length. A stretch without anchors that is still too large counts as rewritten.
    """
    codes: list[_Code] = []
    low, new_low = 0, 0
    for high, new_high in [*_anchors(old, new), (len(old), len(new))]:
        _add_stretch(codes, old, new, (low, high, new_low, new_high))
        if high < len(old):
            _add(codes, ("equal", high, high + 1, new_high, new_high + 1))
        low, new_low = high + 1, new_high + 1
    return codes


def _anchors(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """Return the longest run of lines that stand once in both texts and in the same order in both."""
    once_old, once_new = Counter(old), Counter(new)
    places = {line: at for at, line in enumerate(new) if once_new[line] == 1}
    pairs = [(at, places[line]) for at, line in enumerate(old) if once_old[line] == 1 and line in places]
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for index, (_, place) in enumerate(pairs):
        rank = bisect_left(tails, place)
        before.append(ends[rank - 1] if rank else -1)
        tails[rank : rank + 1] = [place]
        ends[rank : rank + 1] = [index]
    chosen: list[tuple[int, int]] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        chosen.append(pairs[at])
        at = before[at]
    return chosen[::-1]


def _add_stretch(codes: list[_Code], old: list[str], new: list[str], ends: tuple[int, int, int, int]) -> None:
    low, high, new_low, new_high = ends
    if (high - low) * (new_high - new_low) > _QUICK:
        _add(codes, ("replace", *ends))
        return
    inner = SequenceMatcher(None, old[low:high], new[new_low:new_high], autojunk=False)
    for tag, a, b, c, d in inner.get_opcodes():
        _add(codes, (tag, a + low, b + low, c + new_low, d + new_low))


def _add(codes: list[_Code], code: _Code) -> None:
    if codes and (codes[-1][0] == "equal") == (code[0] == "equal"):
        tag, low, _, new_low, _ = codes.pop()
        _, _, high, _, new_high = code
        if tag != "equal":
            tag = "insert" if low == high else "delete" if new_low == new_high else "replace"
        code = (tag, low, high, new_low, new_high)
    codes.append(code)


def _hunk(index: int, group: list[_Code], old: list[str], new: list[str]) -> Hunk:
    lines: list[Line] = []
    for tag, old_from, old_to, new_from, new_to in group:
        if tag == "equal":
            shift = new_from - old_from
            lines += [_line(Kind.SAME, old[at], at, at + shift) for at in range(old_from, old_to)]
        else:
            lines += [_line(Kind.REMOVED, old[at], at, None) for at in range(old_from, old_to)]
            lines += [_line(Kind.ADDED, new[at], None, at) for at in range(new_from, new_to)]
    first, last = group[0], group[-1]
    old_count, new_count = last[2] - first[1], last[4] - first[3]
    # A side without lines is named by the line before it, as diff does.
    return Hunk(
        index,
        first[1] + (1 if old_count else 0),
        old_count,
        first[3] + (1 if new_count else 0),
        new_count,
        tuple(lines),
    )


def _line(kind: Kind, text: str, old: int | None, new: int | None) -> Line:
    return Line(
        kind,
        text.removesuffix("\n"),
        None if old is None else old + 1,
        None if new is None else new + 1,
        text.endswith("\n"),
    )


def _range(start: int, count: int) -> str:
    return str(start) if count == 1 else f"{start},{count}"
