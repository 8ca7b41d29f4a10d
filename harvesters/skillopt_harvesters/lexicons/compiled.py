"""Lexicons as compiled patterns."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from skillopt_harvesters.lexicons.shape import Lexicon

T = TypeVar("T")

_GAPS = " \t\r\n,.:!"
QUOTED = r"`[^`\n]{1,200}`|\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|(?<!\w)'[^'\n]{1,200}'(?!\w)"


class _WhenAsked(dict[str, T]):
    """Makes what is under a name when it is first asked for: most prompts need little of a lexicon."""

    def __init__(self, make: Callable[[str], T]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, name: str) -> T:
        made = self[name] = self._make(name)
        return made


class Phrases(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The compiled patterns of one lexicon, by the names of its fields.

    `fronts` match where they are tried, `inside` are searched for; `pieces` are the phrases of which a whole
    clause may be made, one by one, and `wholes` the same in one pattern.
    """

    lexicon: Lexicon
    fronts: dict[str, re.Pattern[str]]
    inside: dict[str, re.Pattern[str]]
    pieces: dict[str, tuple[re.Pattern[str], ...]]
    wholes: dict[str, re.Pattern[str]]
    forms: dict[str, tuple[re.Pattern[str], ...]]

    def compile_all(self) -> None:
        """Compile every pattern there is. Raises `re.error` when one of the lexicon's entries is none."""
        for names, groups in (
            (_FRONTS, (self.fronts,)),
            (_INSIDE, (self.inside,)),
            (_PIECES, (self.pieces, self.wholes)),
            (_FORMS, (self.forms,)),
        ):
            for group in groups:
                for name in names:
                    group[name]

    def skip_fillers(self, text: str) -> int:
        """Return where the text begins to say something."""
        at = 0
        while (filler := self.fronts["fillers"].match(text, at)) and filler.end() > at:
            at = filler.end()
            while at < len(text) and text[at] in _GAPS:
                at += 1
        return at


_FRONTS = (
    "fillers requests contrasts sequels additions objections denials prohibitions repeats questions doubts "
    "assents absences steps deeds things adds known manners remarks pairs_alone asides leaning backward"
).split()
_INSIDE = (
    "changes too complaints instead obligations asides offers backward marks foreign negations voids "
    "keepings joints"
).split()
_PIECES = "praise consent drops fillers repeats sequels".split()
_FORMS = "pairs wanted unwanted unwanted_commands facts printed".split()


@lru_cache(maxsize=16)
def compile_lexicon(lexicon: Lexicon) -> Phrases:
    """Return the patterns of a lexicon, each compiled when it is first used."""

    def entries(name: str) -> Sequence[str]:
        found: Sequence[str] = getattr(lexicon, name)
        return found or ((r"(?!)",) if name == "foreign" else ())

    return Phrases(
        lexicon=lexicon,
        fronts=_WhenAsked(lambda name: _front(entries(name), lexicon)),
        inside=_WhenAsked(lambda name: _inside(entries(name), lexicon)),
        pieces=_WhenAsked(lambda name: tuple(_front((p,), lexicon) for p in entries(name))),
        wholes=_WhenAsked(lambda name: _front(entries(name), lexicon)),
        forms=_WhenAsked(lambda name: tuple(_form(p, lexicon) for p in entries(name))),
    )


def _either(patterns: Sequence[str]) -> str:
    return "(?:" + "|".join(patterns) + ")" if patterns else "(?!)"


def _front(patterns: Sequence[str], lexicon: Lexicon) -> re.Pattern[str]:
    edge = r"(?![\w-])" if lexicon.spaced else ""
    return re.compile(_either(patterns) + edge, re.IGNORECASE)


def _inside(patterns: Sequence[str], lexicon: Lexicon) -> re.Pattern[str]:
    before, after = (r"(?<!\w)", r"(?!\w)") if lexicon.spaced else ("", "")
    return re.compile(before + _either(patterns) + after, re.IGNORECASE)


def _form(pattern: str, lexicon: Lexicon) -> re.Pattern[str]:
    bare = f"{QUOTED}|{lexicon.bare}"
    for name, text in (
        ("{wanted_quoted}", f"(?P<wanted>{QUOTED})"),
        ("{unwanted_quoted}", f"(?P<unwanted>{QUOTED})"),
        ("{wanted}", f"(?P<wanted>{bare})"),
        ("{unwanted}", f"(?P<unwanted>{bare})"),
        ("{quoted}", f"(?:{QUOTED})"),
        ("{do}", _either(lexicon.doing)),
        ("{not}", _either(lexicon.contrast)),
        ("{fill}", lexicon.fill),
        ("{end}", lexicon.end),
    ):
        pattern = pattern.replace(name, text)
    return re.compile(pattern, re.IGNORECASE)
