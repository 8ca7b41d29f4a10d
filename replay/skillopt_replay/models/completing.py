"""From what a model said to a Completion: the same rules for every kind of model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from skillopt_replay.attempts import begin_another, reserve_at_least
from skillopt_replay.errors import CeilingReached
from skillopt_replay.models.replies import find_object
from skillopt_replay.models.schemas import find_mismatch
from skillopt_replay.protocols import Completion
from skillopt_replay.rollouts import Fault, Usage

# What a model that reasons before it answers gets besides the length asked for.
ROOM_TO_THINK = 8_192


async def complete_with_room(
    room: int, ask: Callable[[int], Awaitable[Completion]], bound: Callable[[int], Usage]
) -> tuple[Completion, int]:
    """Return the completion of `ask(room)`, and the room to give from now on.

    A reply that reached its longest length before there was any answer shows a model that reasons: it is
    asked once more with room for that, and both calls are paid for. `bound` tells what one may use at most.
    """
    given = room
    if room:
        try:
            await reserve_at_least(bound(room))
        except CeilingReached:
            given = 0  # for so much there was a reserve before the room was known to be needed
    first = await ask(given)
    if given or first.fault is not Fault.CUT or first.error is None or not first.usage.output_tokens:
        return first, room
    try:
        noted = await begin_another(first.usage, first.error, bound(ROOM_TO_THINK))
    except CeilingReached:
        return first, ROOM_TO_THINK
    second = await ask(ROOM_TO_THINK)
    usage = second.usage if noted else first.usage.plus(second.usage)
    both = msgspec.structs.replace(second, usage=usage, seconds=first.seconds + second.seconds)
    return both, ROOM_TO_THINK


def charge(usage: Usage | None, estimate: Usage, lost: Sequence[object]) -> Usage:
    """Return what a call cost: its reply's usage (None: refused), and the estimate for each lost try."""
    total = Usage(cost_usd=0.0) if usage is None else usage
    if usage is None and lost and estimate.cost_usd is None:
        total = Usage()
    for _ in lost:
        # As input alone: nothing of an output was seen, and only that shows a model that reasons.
        total = total.plus(Usage(input_tokens=estimate.tokens, cost_usd=estimate.cost_usd))
    return total


def fill_in(told: Usage, most: Usage) -> Usage:
    """Return what a reply told that it used; where it told no tokens, as many as it may have used at most."""
    if told.tokens:
        return told
    cost = most.cost_usd if told.cost_usd is None or most.cost_usd else told.cost_usd
    return Usage(input_tokens=most.tokens, cost_usd=cost)


def decline(text: str, *, model: str, usage: Usage, seconds: float) -> Completion:
    """Return the Completion of a model, or of its service, that will not answer: it failed, nothing broke.

    `text` is what was said instead.
    """
    return Completion(text=text, model=model, usage=usage, seconds=seconds, fault=Fault.REFUSAL)


def conclude(
    text: str,
    schema: Mapping[str, Any] | None,
    *,
    model: str,
    usage: Usage,
    seconds: float,
    value: Mapping[str, Any] | None = None,
    truncated: bool = False,
    refused: bool = False,
    thought: bool = False,
    max_tokens: int | None = None,
) -> Completion:
    """Return the Completion of a reply that came to its end.

    `value` is the object where it was handed in beside the text. An object counts when it is as the schema
    says. With no text and no object there is nothing to judge: that is an error, unless the model declined
    (`refused`). Text that was cut (`truncated`), declines or is not to the schema is kept, with the fault
    and without an error, as the one who asked can say so to the model.
    """
    if refused:
        return decline(text, model=model, usage=usage, seconds=seconds)
    if not text.strip() and value is None:
        error = "the model gave no answer"
        fault = Fault.REPLY
        if truncated:
            until = f"at {max_tokens} tokens" if max_tokens else "at its longest length"
            error = f"the reply was cut {until}, before there was any answer"
            fault = Fault.CUT
        if thought:
            error += ": it only reasoned"
        return Completion(text="", model=model, usage=usage, seconds=seconds, error=error, fault=fault)
    fault_ = Fault.CUT if truncated else None
    found: dict[str, Any] | None = None
    if schema is not None and fault_ is None:
        found = dict(value) if value is not None else find_object(text)
        if found is None or find_mismatch(found, schema) is not None:
            found, fault_ = None, Fault.REPLY
    return Completion(text=text, model=model, value=found, usage=usage, seconds=seconds, fault=fault_)
