"""Tokens, each model call once.

The client tells the sum of the whole session, again and again (`token_count`), and in newer versions each
call by itself as well (`token_usage_record`). A sum goes on over resumes and forks. It may stand still, start
again from nothing, and be followed by an older one.
"""

from __future__ import annotations

import msgspec

from skillopt_harvesters.records import Tokens
from skillopt_harvesters.sources.codex.records import TokenInfo, Usage


class Meter(msgspec.Struct):
    """How far the session's tokens are counted. `dip` is a sum that was smaller than the one before it.

    `itemised` says that the calls of the task that goes on are told one by one; the sums then tell nothing
    new (some versions leave the calls of compactions out of them). `inherited` says that the first sum holds
    the calls of another session.
    """

    sum: Tokens | None = None
    dip: Tokens | None = None
    itemised: bool = False
    inherited: bool = False

    def take_call(self, usage: Usage) -> Tokens:
        """Return the tokens of one call."""
        self.itemised = True
        return to_tokens(usage)

    def take_sum(self, info: TokenInfo, *, copied: bool) -> Tokens:
        """Return what a sum says beyond what is counted; nothing for a copied record."""
        if info.total_token_usage is None:
            return Tokens()
        new = self._advance(to_tokens(info.total_token_usage), info.last_token_usage)
        return Tokens() if copied or self.itemised else new

    def _advance(self, total: Tokens, last: Usage | None) -> Tokens:
        before = self.sum
        if before is None:
            self.sum = total
            return to_tokens(last) if self.inherited and last else total
        # A sum that is no more than its last call began anew with it, however large that is.
        begins = total == Tokens() or (last is not None and total == to_tokens(last) != before)
        if begins or _reaches(total, before):
            self.sum, self.dip = total, None
            return total if begins else minus(total, before)
        # An older sum that comes late is followed by one that goes on from the latest; a counter that
        # started again is not.
        dip = self.dip
        self.dip = total
        if dip is None or total == dip or not _reaches(total, dip):
            return Tokens()
        self.sum, self.dip = total, None
        return minus(total, dip)


def to_tokens(usage: Usage) -> Tokens:
    """Return the client's numbers with the cache taken out of the input, so that the parts add up.

    The client's input includes both what was read from and what was written to the cache; Claude Code's
    does not, and `Tokens` follows that.
    """
    whole, read = usage.input_tokens or 0, usage.cached_input_tokens or 0
    written = usage.cache_write_input_tokens or 0
    if read + written > whole:
        read = min(read, whole)
        written = min(written, whole - read)
    return Tokens(whole - read - written, usage.output_tokens or 0, read, written)


def minus(one: Tokens, other: Tokens) -> Tokens:
    """Return the difference, part by part, never less than nothing."""
    given, fresh = one.input - other.input, one.output - other.output
    read, written = one.cache_read - other.cache_read, one.cache_write - other.cache_write
    if given < 0 or fresh < 0 or read < 0 or written < 0:
        return Tokens(max(given, 0), max(fresh, 0), max(read, 0), max(written, 0))
    return Tokens(given, fresh, read, written)


def _reaches(one: Tokens, other: Tokens) -> bool:
    return (
        one.output >= other.output
        and one.input + one.cache_read + one.cache_write >= other.input + other.cache_read + other.cache_write
    )
