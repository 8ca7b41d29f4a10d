"""A text with its look-alikes made plain, character by character, so that positions agree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from skillopt_harvesters.redact.marks import IS_MARK, mark
from skillopt_harvesters.redact.names import find_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Edit = tuple[int, int, str]
"""Start, end and kind of a span to hide."""

_FULL_WIDTH = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_QUOTES = dict.fromkeys(map(ord, "“”„‟″〝〞❝❞"), '"') | dict.fromkeys(map(ord, "‘’‚‛′‵❛❜"), "'")
_SPACES = dict.fromkeys([0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000], " ")
# A stop in Chinese ends a value as a space does in English.
_STOPS = dict.fromkeys([0x3001, 0x3002, 0xFF0C, 0xFF1B, 0xFF01, 0xFF1F], " ") | {
    0xFE55: ":",
    0xFE66: "=",
    0x2236: ":",
    0xA789: ":",
}
_DASHES = dict.fromkeys([0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2212, 0xFE63], "-")
# Cyrillic and Greek letters that cannot be told from Latin ones by eye.
_LETTERS = str.maketrans(
    "аеорсухіјѕԁԛԝАВЕКМНОРСТУХІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧο", "aeopcyxijsdqwABEKMHOPCTYXIJSABEZHIKMNOPTYXo"
)
_PLAIN = _FULL_WIDTH | _QUOTES | _SPACES | _STOPS | _DASHES | _LETTERS
_WORD_CHARACTER = re.compile(r"\w")
# A quote inside a shell's single quotes: '\\'' or '"'"', also escaped, and inside such quotes once more.
_NESTED = re.compile(r"""'(?:\\{1,63}'|\\{0,63}"'\\{0,63}")'[\\'"]{0,63}""")
_ALIKE = re.compile("[" + "".join(map(re.escape, map(chr, _PLAIN))) + "]")


class View(NamedTuple):
    """`plain` and `lowered` are as long as `text`; spans found in them are spans of the text.

    `names` are the places of what promises a secret (`ANCHOR`), from left to right.
    """

    text: str
    plain: str
    lowered: str
    names: list[int]

    @classmethod
    def of(cls, text: str, named: list[str] | None = None) -> View:
        """Return the view of a text; `named` are all of its words, in lower case, that hold names."""
        if text.isascii():
            plain = _NESTED.sub(_escape_quote, text) if "'" in text else text
            lowered = plain.lower()
            return cls(text, plain, lowered, find_names(lowered, named if plain is text else None))
        plain = text.translate(_PLAIN) if _ALIKE.search(text) else text
        plain = _NESTED.sub(_escape_quote, plain)
        lowered = plain.lower()
        if len(lowered) != len(plain):
            # The dotted capital I is the one letter that becomes two.
            lowered = plain.replace("\u0130", "i").lower()
        return cls(text, plain, lowered, find_names(lowered))

    def edited(self, edits: Iterable[Edit]) -> View:
        """Return the view with the spans hidden; they come from left to right.

        A mark in a span is taken whole; a span with nothing else to hide stays as it is.
        """
        if "[redacted:" in self.text:
            edits = _beside_marks(self.text, edits)
        parts: list[str] = []
        done = 0
        for start, end, kind in edits:
            if start >= done:
                parts += (self.text[done:start], mark(kind))
                done = end
        if not parts:
            return self
        parts.append(self.text[done:])
        return View.of("".join(parts))


def _escape_quote(nested: re.Match[str]) -> str:
    """Write it as one quote with as many backslashes as are known to stand before one."""
    return "\\" * (len(nested[0]) - 1) + "'"


def _beside_marks(text: str, edits: Iterable[Edit]) -> Iterator[Edit]:
    for start, end, kind in edits:
        rest: list[str] = []
        begin, stop, done = start, end, start
        for found in IS_MARK.finditer(text, max(0, start - 60), end + 60):
            if found.end() <= start or found.start() >= end:
                continue
            rest.append(text[done : found.start()])
            done = found.end()
            begin, stop = min(begin, found.start()), max(stop, found.end())
        rest.append(text[done:end])
        if any(_WORD_CHARACTER.search(part) for part in rest):
            yield (begin, stop, kind)


def in_order(edits: list[Edit]) -> list[Edit]:
    """Return edits from left to right, of overlapping ones the first."""
    kept: list[Edit] = []
    for edit in sorted(edits):
        if not kept or edit[0] >= kept[-1][1]:
            kept.append(edit)
    return kept
