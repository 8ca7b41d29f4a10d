"""MinHash with banded locality-sensitive hashing (Broder 1997; Indyk and Motwani 1998).

Sets that are alike share a band with a chance that rises steeply with their Jaccard similarity, so each one
meets the few it could belong with, and not all.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from heapq import nsmallest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

_BANDS, _ROWS = 32, 2
_PRIME = (1 << 61) - 1
_MOST_IN_BAND = 50
_MOST_CANDIDATES = 40
_SKETCH = 48


def _coefficients() -> list[tuple[int, int]]:
    pairs = []
    for index in range(_BANDS * _ROWS):
        digest = hashlib.sha256(f"minhash {index}".encode()).digest()
        pairs.append((int.from_bytes(digest[:7], "big") | 1, int.from_bytes(digest[8:15], "big")))
    return pairs


_HASHES = _coefficients()


def sign(features: Collection[str]) -> list[int]:
    """Return the MinHash signature: for each hash function the least value over the features.

    Of large sets the features that hash lowest stand for all; alike sets have mostly the same ones.
    """
    hashed = (
        int.from_bytes(hashlib.blake2b(feature.encode("utf-8", "replace"), digest_size=7).digest(), "big")
        for feature in features
    )
    values = nsmallest(_SKETCH, hashed)
    return [min(((a * value + b) % _PRIME for value in values), default=0) for a, b in _HASHES]


class Neighbours:
    """Numbers by the sets filed under them; a look-up returns those with a set like the one asked about."""

    def __init__(self) -> None:
        self._bands: dict[tuple[int, int, int], list[int]] = {}

    def file(self, bands: Collection[tuple[int, int, int]], number: int) -> None:
        """File a number under a set's bands. A band that is full takes no more."""
        for band in bands:
            filed = self._bands.setdefault(band, [])
            if number not in filed and len(filed) < _MOST_IN_BAND:
                filed.append(number)

    def find(self, bands: Collection[tuple[int, int, int]]) -> list[int]:
        """Return at most 40 numbers, those that share most bands first, then the lowest."""
        shared = Counter(number for band in bands for number in self._bands.get(band, ()))
        return sorted(shared, key=lambda number: (-shared[number], number))[:_MOST_CANDIDATES]


def find_bands(features: Collection[str]) -> list[tuple[int, int, int]]:
    """Return the bands of a set of features."""
    marks = sign(features)
    return [(band, marks[_ROWS * band], marks[_ROWS * band + 1]) for band in range(_BANDS)]
