"""Marks: ids of records in eight bytes, and sets of millions of them in little memory."""

from __future__ import annotations

import hashlib
import struct
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence, Sized

# Below this many a plain set is faster and small enough.
_PLAIN = 1 << 16
_BUCKETS = 1 << 16
_WIDTH = 6
_ALL = (1 << 64) - 1
_REST = (1 << 48) - 1
# Multiplying by an odd number spreads marks over the buckets, whatever ids are like, and can be undone.
_SPREAD = 0x9E3779B97F4A7C15
_UUID = 36
# A UUID and a line end.
_LINE = 37
_halves = struct.Struct("qq").unpack
_GATHER = pow(_SPREAD, -1, 1 << 64)


def mark_of(record: str) -> int:
    """Return a record's id as a number of 64 bits, signed, the same in every process."""
    first, second = _halves(_digest_of(record) if len(record) == _UUID else _hash(record))
    return int(first ^ second)


def marks_of(records: Sequence[str]) -> list[int]:
    """Return the marks of records: of a UUID both halves combined, of anything else a hash."""
    numbers = read_uuids(records)
    return list(map(mark_of, records)) if numbers is None else fold(numbers)


def read_uuids(records: Sequence[str]) -> bytes | None:
    """Return the numbers that records have as ids, 16 bytes each; None when one is no UUID in lower case."""
    lines, count = "\n".join(records), len(records)
    is_even = len(lines) == _LINE * count - 1 and lines[_LINE - 1 :: _LINE] == "\n" * (count - 1)
    if not is_even or lines[8::_LINE] != "-" * count:
        return None
    digits = lines.replace("-", "")
    try:
        numbers = bytes.fromhex(digits)
    except ValueError:
        return None
    return numbers if numbers.hex("\n", 16) == digits else None


def fold(numbers: bytes) -> list[int]:
    """Return the marks of UUIDs: the exclusive or of both halves, in one step for all."""
    halves = array("q", numbers)
    first, second = halves[0::2].tobytes(), halves[1::2].tobytes()
    both = int.from_bytes(first, "little") ^ int.from_bytes(second, "little")
    return array("q", both.to_bytes(len(first), "little")).tolist()


def _digest_of(record: str) -> bytes:
    digits = record.replace("-", "")
    if len(digits) == 32:
        try:
            return bytes.fromhex(digits)
        except ValueError:
            pass
    return _hash(record)


def _hash(record: str) -> bytes:
    return hashlib.blake2b(record.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class MarkSet(Collection[int]):
    """A set of marks that only grows; takes about eight bytes a mark when there are very many.

    The latest marks lie in a plain set, the others in buckets by two of their bytes, once these are mixed: a
    bucket holds the other six of its marks one after another.
    """

    __slots__ = ("_buckets", "_latest", "_older")

    def __init__(self, marks: Iterable[int] = ()) -> None:
        self._latest: set[int] = set()
        self._buckets: list[bytearray | None] = []
        self._older = 0
        self.update(marks)

    def add(self, mark: int) -> bool:
        """Add a mark; tell whether it is new."""
        latest = self._latest
        if mark in latest or (self._older and self._is_older(mark)):
            return False
        latest.add(mark)
        if len(latest) >= _PLAIN:
            self._settle()
        return True

    def add_new(self, marks: list[int]) -> bool:
        """Add marks that come once each and are all new; else add none and return False."""
        new = set(marks)
        if len(new) != len(marks) or not self._latest.isdisjoint(new):
            return False
        if self._older and any(map(self._is_older, new)):
            return False
        if self._latest:
            self._latest |= new
        else:
            self._latest = new
        if len(self._latest) >= _PLAIN:
            self._settle()
        return True

    def update(self, marks: Iterable[int]) -> None:
        """Add several marks."""
        if not self._older and isinstance(marks, Sized) and len(marks) + len(self._latest) < _PLAIN:
            self._latest.update(marks)
            return
        for mark in marks:
            self.add(mark)

    def __contains__(self, mark: object) -> bool:
        return mark in self._latest or (self._older > 0 and isinstance(mark, int) and self._is_older(mark))

    def __len__(self) -> int:
        return self._older + len(self._latest)

    def __iter__(self) -> Iterator[int]:
        yield from self._latest
        for number, bucket in enumerate(self._buckets):
            held = bucket or b""
            for at in range(0, len(held), _WIDTH):
                mixed = number << 48 | int.from_bytes(held[at : at + _WIDTH], "big")
                mark = mixed * _GATHER & _ALL
                yield mark - (1 << 64) if mark >> 63 else mark

    def _is_older(self, mark: int) -> bool:
        mixed = mark * _SPREAD & _ALL
        bucket = self._buckets[mixed >> 48]
        if bucket is None:
            return False
        rest = (mixed & _REST).to_bytes(_WIDTH, "big")
        at = bucket.find(rest)
        while at > 0 and at % _WIDTH:
            at = bucket.find(rest, at + 1)
        return at >= 0

    def _settle(self) -> None:
        """Move the latest marks into the buckets."""
        if not self._buckets:
            self._buckets = [None] * _BUCKETS
        buckets = self._buckets
        for mark in self._latest:
            mixed = mark * _SPREAD & _ALL
            rest = (mixed & _REST).to_bytes(_WIDTH, "big")
            bucket = buckets[mixed >> 48]
            if bucket is None:
                buckets[mixed >> 48] = bytearray(rest)
            else:
                bucket += rest
        self._older += len(self._latest)
        self._latest = set()
