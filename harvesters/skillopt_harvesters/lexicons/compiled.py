"""Lexicons as compiled patterns."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillopt_harvesters.lexicons.shape import Lexicon

_GAPS = " \t\r\n,.:!"
QUOTED = r"`[^`\n]{1,200}`|\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|(?<!\w)'[^'\n]{1,200}'(?!\w)"


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
_INSIDE = "too complaints instead obligations asides offers backward".split()
_PIECES = "praise consent drops fillers repeats sequels".split()
_FORMS = "pairs wanted unwanted unwanted_commands facts printed".split()


@lru_cache(maxsize=16)
def compile_lexicon(lexicon: Lexicon) -> Phrases:
    """Return the patterns of a lexicon. Raises `re.error` when one of its entries is no pattern."""
    return Phrases(
        lexicon=lexicon,
        fronts={name: _front(getattr(lexicon, name), lexicon) for name in _FRONTS},
        inside={
            **{name: _inside(getattr(lexicon, name), lexicon) for name in _INSIDE},
            "marks": _inside(lexicon.marks, lexicon),
            "foreign": _inside(lexicon.foreign or (r"(?!)",), lexicon),
        },
        pieces={name: tuple(_front((p,), lexicon) for p in getattr(lexicon, name)) for name in _PIECES},
        wholes={name: _front(getattr(lexicon, name), lexicon) for name in _PIECES},
        forms={name: tuple(_form(p, lexicon) for p in getattr(lexicon, name)) for name in _FORMS},
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
