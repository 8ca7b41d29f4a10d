"""Tokens counted while a session is being read: each model call once, however often it is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from skillopt_harvesters.records import Tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# So many of the latest calls can still be corrected.
MAX_OPEN_CALLS = 64
_TOKEN_BITS = 48


class Counts(Protocol):
    """Tokens as a client tells them: what it does not tell is None."""

    @property
    def input(self) -> int | None: ...

    @property
    def output(self) -> int | None: ...

    @property
    def cache_read(self) -> int | None: ...

    @property
    def cache_write(self) -> int | None: ...


class Spent(Tokens, frozen=True, array_like=True, gc=False):
    """Tokens of one model call that may be corrected; so that they take little room until then."""


def fold(usage: dict[str, Spent], counted: Tokens) -> Tokens:
    """Take the older half of the calls out of `usage` and return what was counted with them."""
    oldest = list(usage)[: len(usage) // 2]
    return counted.plus(add_counts([*map(usage.pop, oldest)]))


def add_counts(parts: Sequence[Counts]) -> Tokens:
    """Return the sum, without what no model call can have taken."""
    given = fresh = read = written = bits = 0
    for part in parts:
        one, two, three, four = part.input or 0, part.output or 0, part.cache_read or 0, part.cache_write or 0
        given += one
        fresh += two
        read += three
        written += four
        bits |= one | two | three | four
    if bits >> _TOKEN_BITS:
        return add_tokens(map(bound, parts))
    return Tokens(given, fresh, read, written)


def exchange(total: Tokens, before: Tokens, now: Tokens) -> Tokens:
    """Return a sum with one of its parts exchanged."""
    return Tokens(
        total.input - before.input + now.input,
        total.output - before.output + now.output,
        total.cache_read - before.cache_read + now.cache_read,
        total.cache_write - before.cache_write + now.cache_write,
    )


def minus(one: Tokens, other: Tokens) -> Spent:
    """Return the difference, part by part, never less than nothing."""
    return Spent(
        max(one.input - other.input, 0),
        max(one.output - other.output, 0),
        max(one.cache_read - other.cache_read, 0),
        max(one.cache_write - other.cache_write, 0),
    )


def add_tokens(parts: Iterable[Tokens]) -> Tokens:
    """Return the sum."""
    given = fresh = read = written = 0
    for part in parts:
        given += part.input
        fresh += part.output
        read += part.cache_read
        written += part.cache_write
    return Tokens(given, fresh, read, written)


def bound_all(usage: Mapping[str, Counts]) -> dict[str, Spent]:
    """Return the tokens of model calls, within bounds."""
    bounded: dict[str, Spent] = {}
    for call, counts in usage.items():
        if type(counts) is Spent:
            bounded[call] = counts
            continue
        given, fresh = counts.input or 0, counts.output or 0
        read, written = counts.cache_read or 0, counts.cache_write or 0
        # Nearly all are; a call of `bound` for each would take as long.
        is_bound = not (given | fresh | read | written) >> _TOKEN_BITS
        bounded[call] = Spent(given, fresh, read, written) if is_bound else bound(counts)
    return bounded


def bound(counts: Counts) -> Spent:
    """Return the tokens, without what no model call can have taken."""
    given, fresh = counts.input or 0, counts.output or 0
    read, written = counts.cache_read or 0, counts.cache_write or 0
    if (given | fresh | read | written) >> _TOKEN_BITS:
        told = (given, fresh, read, written)
        return Spent(*(0 if count >> _TOKEN_BITS else count for count in told))
    return Spent(given, fresh, read, written)
