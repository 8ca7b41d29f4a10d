"""Families in different words of one kind: they share words that no other family has.

"Give me SQL for X grouped by day" and "write a SQL query that reports X per day" are less alike than two
wordings of one family need be. But of all that is asked nothing else is about SQL, or by day.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations, product
from typing import TYPE_CHECKING

from skillopt_harvesters.leftovers import Wording, is_long, tells
from skillopt_harvesters.terms import PRODUCING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillopt_harvesters.cluster import Core

# So many words must be theirs alone, and be so much of what either says.
_LEAST_SHARED = 2
_MOST_OF_ONE, _SOME_OF_OTHER = 0.6, 0.45


def find_kin(clusters: Sequence[Sequence[Wording]]) -> Iterator[tuple[int, int]]:
    """Yield the clusters, by number, that are one kind of ask by the words that only they have.

    Counted are wordings of two distinct asks and more, and no long templates. Asks for different deeds are
    never one kind, unless each is for something to be made.
    """
    cores = [
        [wording.core for wording in wordings if wording.asks > 1 and not is_long(wording)]
        for wordings in clusters
    ]
    owners: dict[str, set[int]] = defaultdict(set)
    for number, held in enumerate(cores):
        for core in held:
            for word in filter(tells, core):
                owners[word].add(number)
    shared: dict[tuple[int, int], set[str]] = defaultdict(set)
    for word, numbers in owners.items():
        if len(numbers) == 2:
            for pair in combinations(sorted(numbers), 2):
                shared[pair].add(word)
    for (one, other), words in sorted(shared.items()):
        if len(words) >= _LEAST_SHARED and any(
            _are_kin(first, second, words) for first, second in product(cores[one], cores[other])
        ):
            yield one, other


def _are_kin(one: Core, other: Core, words: set[str]) -> bool:
    both = words & one.keys() & other.keys()
    if len(both) < _LEAST_SHARED or not _have_one_deed(one, other):
        return False
    shares = sorted(_measure_share(core, both) for core in (one, other))
    return shares[0] >= _SOME_OF_OTHER and shares[1] >= _MOST_OF_ONE


def _measure_share(core: Core, words: set[str]) -> float:
    said = {word: weight for word, weight in core.items() if tells(word)}
    return sum(said[word] for word in words) / sum(said.values())


def _have_one_deed(one: Core, other: Core) -> bool:
    first, second = next(iter(one)), next(iter(other))
    return first == second or (first in PRODUCING and second in PRODUCING)
