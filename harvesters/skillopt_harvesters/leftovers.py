"""Rare wordings of a kind of ask: what is said in the words of one family, and of no other, belongs to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from skillopt_harvesters.normalise import FENCED, is_cjk
from skillopt_harvesters.terms import LIGHT, VALUE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillopt_harvesters.cluster import Core

_FEW = 2
_ESTABLISHED = 2
_LONG = 25
_COVERED = 0.65


class Wording(NamedTuple):
    """One pattern: the words that tell what it asks for, and how many distinct asks it has."""

    core: Core
    asks: int


def place_leftovers(clusters: Sequence[Sequence[Wording]]) -> Iterator[tuple[int, int]]:
    """Yield (cluster, leftover) by number: a cluster of few asks, and the one whose words it is made of.

    One word at least must be that one's own among all that are established, and none another's. A word that
    only one of its asks has is no word of a cluster, and nothing is told by those of a long template.
    """
    owned = [frozenset(_find_vocabulary(wordings)) for wordings in clusters]
    owners: dict[str, list[int]] = {}
    for number, words in enumerate(owned):
        for word in words:
            owners.setdefault(word, []).append(number)
    for number, wordings in enumerate(clusters):
        if sum(one.asks for one in wordings) > _FEW or owned[number] or any(map(is_long, wordings)):
            continue
        said = {word: weight for one in wordings for word, weight in one.core.items() if tells(word)}
        own = {owners[word][0] for word in said if len(owners.get(word, ())) == 1}
        if len(own) != 1:
            continue
        [best] = own
        covered = sum(weight for word, weight in said.items() if word in owned[best])
        # One word beside a value may be part of the value.
        values = sum(one.core.get(VALUE, 0.0) for one in wordings) if len(said) == 1 else 0.0
        if covered >= max(1.0, _COVERED * (sum(said.values()) + values)):
            yield best, number


def _find_vocabulary(wordings: Sequence[Wording]) -> Iterator[str]:
    if sum(one.asks for one in wordings) >= _ESTABLISHED:
        for one in wordings:
            if one.asks > 1 and not is_long(one):
                yield from filter(tells, one.core)


def is_long(wording: Wording) -> bool:
    """Tell whether a wording is a long template, or a command."""
    return len(wording.core) >= _LONG or any(word == FENCED or word[0] == "/" for word in wording.core)


def tells(word: str) -> bool:
    """Tell whether a word says by itself what is asked."""
    return word not in LIGHT and word != VALUE and not is_cjk(word)
