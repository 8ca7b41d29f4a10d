"""Patterns: asks whose templates are alike.

Patterns are led: cores come in the order of time and join the best pattern that fits before they found their
own. What fits is told by the founder and by the words most of the pattern's cores share, never by its last
member, so that cores which each differ a little from the one before do not chain into one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise

from skillopt_harvesters.minhash import Neighbours, find_bands
from skillopt_harvesters.normalise import FENCED
from skillopt_harvesters.terms import CJK_DEEDS, VALUE

ALIKE = 0.5 - 1e-9
_ALIKE_FENCED = 0.7
_OTHER_DEED = 0.7
_HELPING = 0.1
_LONG = 25
_MOST_FILED = 12

Core = Mapping[str, float]


class Patterns:
    """Groups cores in near-linear time: each is compared with a bounded number of patterns.

    A core maps words in order to their weights. `founders` are the first core of each pattern;
    `comparisons` counts what was compared.
    """

    def __init__(self) -> None:
        self.founders: list[Core] = []
        self.comparisons = 0
        self._counts: list[Counter[str]] = []
        self._weights: list[dict[str, float]] = []
        self._sizes: list[int] = []
        self._known: dict[frozenset[str], int] = {}
        self._neighbours = Neighbours()

    def add(self, core: Core) -> int:
        """Return the number of the core's pattern, founding one when no other fits."""
        key = frozenset(core)
        if key in self._known:
            return self._known[key]
        # One word says too little: only the very same core belongs with it.
        bands = find_bands(_features(core)) if _says_enough(core) else []
        number = self._find(core, bands)
        if number is None:
            number = len(self.founders)
            self.founders.append(core)
            self._counts.append(Counter())
            self._weights.append({})
            self._sizes.append(0)
        self._known[key] = number
        self._sizes[number] += 1
        self._counts[number].update(core.keys())
        for word, weight in core.items():
            self._weights[number][word] = max(weight, self._weights[number].get(word, 0.0))
        if self._sizes[number] <= _MOST_FILED:
            self._neighbours.file(bands, number)
        return number

    def find_middle(self, number: int) -> Core:
        """Return the words that more than half of the pattern's cores have."""
        half = self._sizes[number] / 2
        weights = self._weights[number]
        return {word: weights[word] for word, count in self._counts[number].items() if count > half}

    def find_alike(self) -> Iterator[tuple[int, int]]:
        """Yield (one, other): each pattern whose shared words are alike to those of another, with that one.

        A pattern's first asks may be like another's by their values, or show too little of their template.
        """
        middles = [self.find_middle(number) for number in range(len(self.founders))]
        bands = [
            find_bands(_features(one)) if _says_enough(one) and len(one) < _LONG else [] for one in middles
        ]
        neighbours = Neighbours()
        for number in sorted(range(len(middles)), key=lambda number: (-self._sizes[number], number)):
            best, most = None, ALIKE
            for other in neighbours.find(bands[number]):
                alike = self._compare(middles[number], middles[other])
                if alike >= most:
                    best, most = other, alike
            if best is not None:
                yield best, number
            neighbours.file(bands[number], number)

    def _find(self, core: Core, bands: list[tuple[int, int, int]]) -> int | None:
        best, most = None, 0.0
        for number in self._neighbours.find(bands):
            alike = self._compare(core, self.founders[number])
            if alike < ALIKE and len(core) < _LONG:
                alike = self._compare(core, self.find_middle(number))
            if alike >= ALIKE and alike > most:
                best, most = number, alike
        return best

    def _compare(self, one: Core, other: Core) -> float:
        self.comparisons += 1
        return compare(one, other)


def compare(one: Core, other: Core) -> float:
    """Return how alike two cores are, 0 to 1: weighted Jaccard of the words, for long ones of pairs too.

    Less when neither opens with a word of the other, which is mostly another deed on the same thing:
    "document X" is not "commit X". Templates around a fence must be closer than other long asks, since
    different ones have much in common.
    """
    if not one or not other or (FENCED in one) != (FENCED in other):
        return 0.0
    if max(len(one), len(other)) >= _LONG:
        mine, theirs = _features(one), _features(other)
        alike = len(mine & theirs) / len(mine | theirs)
        return alike * ALIKE / _ALIKE_FENCED if FENCED in one else alike
    # A word that is surely of the template in one is so in the other.
    both = sum(max(one[word], other[word]) for word in one.keys() & other.keys())
    apart = [*(one.keys() - other.keys()), *(other.keys() - one.keys())]
    alike = both / (both + sum(one.get(word, 0.0) + other.get(word, 0.0) for word in apart))
    return alike if _have_one_deed(one, other) else alike * _OTHER_DEED


def _says_enough(core: Core) -> bool:
    return len(core.keys() - {VALUE}) > 1


def _have_one_deed(one: Core, other: Core) -> bool:
    first, second = next(iter(one)), next(iter(other))
    mine, theirs = _find_deed(one), _find_deed(other)
    # "Make a commit" and "commit" are one deed, "make a test" and "run the test" are not.
    return mine == theirs or (mine == first and mine in other) or (theirs == second and theirs in one)


def _find_deed(core: Core) -> str:
    """Return the first word, but not the "make" of "make a commit"; in Chinese the deed may come later."""
    deed = next((word for word in core if word in CJK_DEEDS), None)
    return deed or next((word for word, weight in core.items() if weight > _HELPING), next(iter(core)))


def _features(core: Core) -> set[str]:
    words = list(core)
    return set(words) | {f"{one} {other}" for one, other in pairwise(words)}
