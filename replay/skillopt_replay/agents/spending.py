"""Says when a run has used up what it may: pure functions over its limits and what it spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
