"""What a run has used, and whether that is all it may: pure functions over its limits and its usage."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from skillopt_replay.admission import Amount, find_bound
from skillopt_replay.rollouts import Usage

if TYPE_CHECKING:
    from skillopt_replay.protocols import Limits


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """What a run has told of its requests so far.

    `dearest` are the most dollars and the most tokens of any of them, `told` how many have ended, in whatever
    way (None: requests and what is told do not go together). `unheard` came to nothing without a word of the
    service: they are over, but nobody can tell whether they were paid for, or whether they went out at all.
    """

    usage: Usage = Usage()
    dearest: Amount = Amount()
    told: int | None = None
    unheard: int = 0


class Meter:
    """Adds up what a run tells of the replies to its requests.

    `usage` has the dollars of those whose price is known, for the limits of the run. `silent` came with no
    tokens at all, as where a service tells none: what they took is not known.
    """

    def __init__(self) -> None:
        self.usage = self.largest = Usage()
        self.replies = self.silent = 0
        self.dearest = Amount()
        self._is_priced = True

    @property
    def total(self) -> Usage:
        """What the run used in all; the cost is None where that of any reply is not known.

        A helper may have been given another model than the run: its replies are not free.
        """
        return self.usage if self._is_priced else msgspec.structs.replace(self.usage, cost_usd=None)

    def add(self, reply: Usage) -> None:
        """Count a reply that has ended."""
        self.usage, self.largest = self.usage.plus(reply), find_larger(self.largest, reply)
        self.replies += 1
        self.silent += not reply.tokens
        self._is_priced = self._is_priced and (reply.cost_usd is not None or not reply.tokens)
        self.dearest = find_bound(reply, self.dearest)


def fits(limits: Limits, tally: Tally, untold: int) -> bool:
    """Whether another request may go out while so many are out that nothing was told of.

    Each may take twice as much as the dearest so far; while none has told what it took, all there is. So only
    the one that goes out last may pass a limit.
    """
    if not untold:
        return True
    usd, tokens = (2 * untold * amount for amount in tally.dearest)
    if (
        limits.usd is not None
        and tally.usage.cost_usd is not None
        and tally.usage.cost_usd + usd >= limits.usd
    ):
        return False
    if limits.tokens is not None and tally.usage.tokens + tokens >= limits.tokens:
        return False
    return tally.dearest.tokens > 0 or (limits.usd is None and limits.tokens is None)


def find_excess(limits: Limits, usage: Usage, turns: int = 0) -> str | None:
    """Return why the run may not call its model again, None while it may.

    `turns` counts its calls to the model so far. Asked before each call, a run is over a limit by less than
    one call.
    """
    if turns >= limits.turns:
        return f"stopped after {turns} turns"
    if limits.tokens is not None and usage.tokens >= limits.tokens:
        return f"stopped after {usage.tokens} tokens; {limits.tokens} were allowed"
    if limits.usd is not None and usage.cost_usd is not None and usage.cost_usd >= limits.usd:
        return f"stopped after ${usage.cost_usd:.4f}; ${limits.usd:.4f} was allowed"
    return None


def find_larger(one: Usage, other: Usage) -> Usage:
    """Return the usage with more tokens, at the higher price of both."""
    costs = [usage.cost_usd for usage in (one, other) if usage.cost_usd is not None]
    larger = max(one, other, key=lambda usage: usage.tokens)
    return msgspec.structs.replace(larger, cost_usd=max(costs) if costs else None)


def share(usage: Usage, count: int) -> Usage:
    """Return what one of `count` requests used that used this in all, on average."""
    count = max(count, 1)
    return Usage(
        usage.input_tokens // count,
        usage.output_tokens // count,
        usage.cache_read_tokens // count,
        usage.cache_write_tokens // count,
        None if usage.cost_usd is None else usage.cost_usd / count,
    )


def let_grow(largest: Usage, unread: int, limits: Limits) -> Usage:
    """Return what a request may use that has so many bytes to read besides what the `largest` one did.

    No token is shorter than a byte, and none of those comes from the cache. Never more for them than a run
    may use in all.
    """
    if not unread or not largest.tokens:
        return largest
    most = math.inf if limits.tokens is None else max(limits.tokens - largest.tokens, 0)
    tokens, usd = int(min(unread, most)), largest.cost_usd
    if usd is not None:
        # What came from the cache is the cheapest: without it, a token costs no less than a new one.
        dearest = usd / max(largest.tokens - largest.cache_read_tokens, 1)
        usd = max(usd, min(usd + tokens * dearest, math.inf if limits.usd is None else limits.usd))
    return msgspec.structs.replace(largest, input_tokens=largest.input_tokens + tokens, cost_usd=usd)


def count_lost(usage: Usage, largest: Usage, lost: int) -> Usage:
    """Return the usage with that of `lost` requests: paid for, as it may be, with no reply that told it.

    Each counts as much as the `largest` reply did (see `let_grow`): a client that asks for a summary of what
    has grown too long, for one, sends all of it, and may tell nothing of that. Where there was none nothing
    is known of them; where its price is not, the cost in all is not either, and counts with the run's bound.
    """
    if not lost:
        return usage
    is_priced = largest.tokens and largest.cost_usd is not None and usage.cost_usd is not None
    for _ in range(lost):
        usage = usage.plus(largest)
    return usage if is_priced else msgspec.structs.replace(usage, cost_usd=None)
