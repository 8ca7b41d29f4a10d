"""What an ask opens with: a deed, and the noun phrase it is done to.

"Add missing docstrings in the storage package" asks for docstrings, as "add docstrings to ..." does, while
"add a docstring linter" asks for a linter: in English the last word of a noun phrase says what it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from skillopt_harvesters.normalise import is_cjk
from skillopt_harvesters.terms import PRODUCING, VALUE, Term

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_MOST_GENERAL = 8
_LEAST_WORDINGS = 2


class Phrase(msgspec.Struct, frozen=True):
    """The words up to the end of the first noun phrase, the deed in front; `head` is the last of them."""

    words: tuple[str, ...]

    @property
    def head(self) -> str:
        return self.words[-1]


def find_phrase(terms: Sequence[Term]) -> Phrase | None:
    """Return what an ask opens with, None when it does not open with two words or more that tell."""
    words = []
    for term in terms:
        if term.tail or term.word == VALUE or is_cjk(term.word) or term.word[0] in "/<":
            return None
        words.append(term.word)
        if term.closes and len(words) > 1:
            return Phrase(tuple(words))
    return None


class Worded(msgspec.Struct, frozen=True):
    """A pattern: the telling words most of its asks have, and the opening phrase of each distinct ask."""

    core: Collection[str]
    phrases: Sequence[Phrase | None]


def find_special(patterns: Sequence[Worded]) -> Iterator[tuple[int, int]]:
    """Yield the patterns, by number, that only add words to a phrase another one is made of: (that one, it).

    The other one must have been worded in two ways or more. Work grows with the number of patterns.
    """
    by_head: dict[str, list[int]] = {}
    for number, pattern in enumerate(patterns):
        for head in {phrase.head for phrase in pattern.phrases if phrase}:
            by_head.setdefault(head, []).append(number)
    for head, numbers in by_head.items():
        general = [n for n in numbers if len(patterns[n].phrases) >= _LEAST_WORDINGS]
        general = [n for n in general if _is_about(patterns[n], head)]
        general.sort(key=lambda n: (-len(patterns[n].phrases), n))
        for number in numbers:
            for other in general[:_MOST_GENERAL]:
                if number != other and _adds_words(patterns[number], patterns[other], head):
                    yield other, number


def _needed(core: Collection[str]) -> frozenset[str]:
    return frozenset(core) - PRODUCING - {VALUE}


def _is_about(pattern: Worded, head: str) -> bool:
    """Whether the pattern's core is all in the phrases that end with the head."""
    needed = _needed(pattern.core)
    return head in needed and any(
        phrase and phrase.head == head and needed <= set(phrase.words) for phrase in pattern.phrases
    )


def _adds_words(special: Worded, general: Worded, head: str) -> bool:
    needed = _needed(general.core)
    makes = needed != set(general.core) - {VALUE}
    return all(
        phrase is not None
        and phrase.head == head
        and needed <= set(phrase.words)
        and (phrase.words[0] in needed or (makes and phrase.words[0] in PRODUCING))
        for phrase in special.phrases
    )
