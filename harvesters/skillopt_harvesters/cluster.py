"""Recurring asks: skeletons that are the same template with other values.

Candidates come from MinHash with banded locality-sensitive hashing (Broder 1997; Indyk and Motwani 1998),
so each skeleton meets the few families it could belong to, not all of them. Families are led: skeletons come
in the order of time, and one joins the first good family before it founds its own. Later arrivals therefore
never change what earlier ones belong to.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

from skillopt_harvesters.normalise import content_words, is_cjk

if TYPE_CHECKING:
    from collections.abc import Iterable

SIMILAR = 0.5
_OTHER_DEED = 0.7
_BANDS, _ROWS = 32, 2
_PRIME = (1 << 61) - 1
_MAX_FAMILIES_PER_BUCKET = 50
_MAX_EXEMPLARS = 12
_LEAD_WORDS = 3
_LEAD_WITHIN = 10


def _coefficients() -> list[tuple[int, int]]:
    pairs = []
    for index in range(_BANDS * _ROWS):
        digest = hashlib.sha256(f"minhash {index}".encode()).digest()
        pairs.append((int.from_bytes(digest[:7], "big") | 1, int.from_bytes(digest[8:15], "big")))
    return pairs


_HASHES = _coefficients()


def shingle(skeleton: tuple[str, ...]) -> frozenset[str]:
    """Return the features compared: content words, and pairs of neighbours among them."""
    words = content_words(skeleton)
    singles = {word for word in words if not is_cjk(word)}
    return frozenset(singles | {f"{a} {b}" for a, b in pairwise(words)})


def similarity(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    """Return how alike two skeletons are, 0 to 1.

    The better Jaccard of words alone and of all features, less when neither opens with a word of the other.
    """
    mine, theirs = content_words(one), content_words(other)
    alike = max(_jaccard(frozenset(mine), frozenset(theirs)), _jaccard(shingle(one), shingle(other)))
    # Another opening word is mostly another deed on the same thing: "document X" is not "commit X".
    same_deed = bool(mine and theirs) and (mine[0] in theirs or theirs[0] in mine)
    return alike if same_deed else alike * _OTHER_DEED


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    union = len(one | other)
    return len(one & other) / union if union else 0.0


def lead(skeleton: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the first three content words, the constant part of a template; None when there are fewer.

    Both "write the SQL query: how many ..." and "write the SQL query: total ..." lead with write, sql, query.
    """
    words = [word for word in content_words(skeleton[:_LEAD_WITHIN]) if not is_cjk(word)]
    return tuple(words[:_LEAD_WORDS]) if len(words) >= _LEAD_WORDS else None


def signature(features: Iterable[str]) -> list[int]:
    """Return the MinHash signature: for each hash function the least value over the features."""
    values = [
        int.from_bytes(hashlib.blake2b(feature.encode("utf-8", "replace"), digest_size=7).digest(), "big")
        for feature in features
    ]
    return [min(((a * value + b) % _PRIME for value in values), default=0) for a, b in _HASHES]


class Families:
    """Groups skeletons into families as they come, in near-linear time."""

    def __init__(self) -> None:
        self.leaders: list[tuple[str, ...]] = []
        self._members: list[list[tuple[str, ...]]] = []
        self._known: dict[tuple[str, ...], int] = {}
        self._leads: dict[tuple[str, ...], int] = {}
        self._buckets: dict[tuple[int, int, int], list[int]] = defaultdict(list)

    def add(self, skeleton: tuple[str, ...]) -> int:
        """Return the number of the skeleton's family, founding one when no other fits."""
        if skeleton in self._known:
            return self._known[skeleton]
        bands = self._bands(skeleton)
        opening = lead(skeleton)
        family = self._leads.get(opening) if opening else None
        if family is None:
            family = self._find_similar(skeleton, bands)
        if family is None:
            family = len(self.leaders)
            self.leaders.append(skeleton)
            self._members.append([])
        self._known[skeleton] = family
        if opening:
            self._leads.setdefault(opening, family)
        if len(self._members[family]) < _MAX_EXEMPLARS:
            self._members[family].append(skeleton)
            for band in bands:
                bucket = self._buckets[band]
                if family not in bucket and len(bucket) < _MAX_FAMILIES_PER_BUCKET:
                    bucket.append(family)
        return family

    def _bands(self, skeleton: tuple[str, ...]) -> list[tuple[int, int, int]]:
        features = content_words(skeleton)
        if len(set(features)) < 2:
            # One word says too little: only the very same skeleton belongs with it.
            return []
        marks = signature(features)
        return [(band, marks[_ROWS * band], marks[_ROWS * band + 1]) for band in range(_BANDS)]

    def _find_similar(self, skeleton: tuple[str, ...], bands: list[tuple[int, int, int]]) -> int | None:
        best, best_similarity = None, 0.0
        candidates = dict.fromkeys(family for band in bands for family in self._buckets.get(band, ()))
        for family in candidates:
            alike = max(similarity(skeleton, member) for member in self._members[family])
            if alike >= SIMILAR and alike > best_similarity:
                best, best_similarity = family, alike
        return best
