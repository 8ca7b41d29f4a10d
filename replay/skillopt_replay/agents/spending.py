"""What a run has used, and whether that is all it may: pure functions over its limits and its usage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from skillopt_replay.protocols import Limits
    from skillopt_replay.rollouts import Usage


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


def count_lost(usage: Usage, last: Usage, lost: int) -> Usage:
    """Return the usage with that of `lost` requests: paid for, as it may be, with no reply that told it.

    Each counts as much as the `last` reply did. Where there was none, or its price is not known, the cost is
    not known either, and the run counts with its bound.
    """
    if not lost:
        return usage
    if not last.tokens or (last.cost_usd is None and usage.cost_usd is not None):
        return msgspec.structs.replace(usage, cost_usd=None)
    for _ in range(lost):
        usage = usage.plus(last)
    return usage
