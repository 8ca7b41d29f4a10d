"""A text in slots with fixed lines between them: anyone can say what a three-way merge of it must give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hypothesis import strategies as st

BOM = b"\xef\xbb\xbf"
COUNT = 4


class Line(NamedTuple):
    text: str
    end: str = "\n"


class Slots(NamedTuple):
    """`parts` are slots and fixed lines in turn, fixed lines first and last; no line stands in it twice."""

    parts: tuple[tuple[Line, ...], ...]
    bom: bool = False
    finished: bool = True

    def values(self) -> list[tuple[str, ...]]:
        """Return the texts in each slot."""
        return [tuple(line.text for line in part) for part in self.parts[1::2]]

    def write(self) -> bytes:
        """Return the file."""
        text = "".join(line.text + line.end for part in self.parts for line in part)
        if not self.finished:
            text = text[: -len(self.parts[-1][-1].end)]
        return (BOM if self.bom else b"") + text.encode()

    def fill(self, values: Sequence[tuple[str, ...]]) -> Slots:
        """Return it with other values: lines that stay keep their end, new ones end as the line before."""
        ends = {line.text: line.end for part in self.parts for line in part}
        last = self.parts[0][0].end
        parts = []
        for at, part in enumerate(self.parts):
            made = []
            for text in values[at // 2] if at % 2 else [line.text for line in part]:
                last = ends.get(text, last)
                made.append(Line(text, last))
            parts.append(tuple(made))
        return self._replace(parts=tuple(parts))

    def restyle(self, style: tuple[str, bool, bool]) -> Slots:
        """Return it with line ends "\\n", "\\r\\n" or "mixed", with a mark or none, ended or not."""
        kind, bom, finished = style
        number = 0
        parts = []
        for part in self.parts:
            made = []
            for line in part:
                number += 1
                made.append(Line(line.text, ("\n", "\r\n")[number % 2] if kind == "mixed" else kind))
            parts.append(tuple(made))
        return Slots(tuple(parts), bom, finished)


def merge_values(
    base: Iterable[tuple[str, ...]], live: Iterable[tuple[str, ...]], wanted: Iterable[tuple[str, ...]]
) -> list[tuple[str, ...]] | None:
    """Return each slot as the side has it that changed it; None when both did, each in its own way."""
    merged = []
    for old, ours, theirs in zip(base, live, wanted, strict=True):
        if ours != old and theirs not in (old, ours):
            return None
        merged.append(ours if theirs == old else theirs)
    return merged


# One fixed line keeps two changes apart for git; after seven they are hunks of their own.
gaps = st.lists(st.sampled_from([1, 7]), min_size=COUNT + 1, max_size=COUNT + 1)
styles = st.tuples(st.sampled_from(["\n", "\n", "\r\n", "mixed"]), st.booleans(), st.booleans())
changes = st.lists(
    st.sampled_from(["keep", "keep", "put", "add", "cut"]), min_size=COUNT, max_size=COUNT
).filter(lambda kinds: set(kinds) != {"keep"})


def make(sizes: Sequence[int], style: tuple[str, bool, bool]) -> Slots:
    """Return a text with one line in each slot but the last, which is empty."""
    parts: list[tuple[Line, ...]] = []
    for at, size in enumerate(sizes):
        parts.append(tuple(Line(f"fixed {at}.{number}") for number in range(size)))
        if at < COUNT:
            parts.append((Line(f"first in {at}"),) if at < COUNT - 1 else ())
    return Slots(tuple(parts)).restyle(style)


def change(values: Sequence[tuple[str, ...]], kinds: Sequence[str], name: str) -> list[tuple[str, ...]]:
    """Return the values with each slot kept, put anew, added to or cut; `name` makes the new lines unique."""
    made = []
    for at, (value, kind) in enumerate(zip(values, kinds, strict=True)):
        new = f"{name} in {at}"
        made.append({"keep": value, "put": (new,), "add": (*value, new), "cut": ()}[kind])
    return made
