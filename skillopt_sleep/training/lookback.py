"""What the optimizer is asked when an epoch is looked back on."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt_replay.protocols import Message
from skillopt_sleep.training.asking import Optimizer, Unreachable, make_object
from skillopt_sleep.training.config import GradientSection
from skillopt_sleep.training.longitudinal import PairOfRuns, render_pairs
from skillopt_sleep.training.replies import ReplyMalformed
from skillopt_sleep.training.traces import Trace, render_quotes
from skillopt_sleep.training.vouching import Witness


class Lookback:
    """Shows the optimizer what an epoch changed, and what the user said about it."""

    def __init__(self, config: GradientSection, optimizer: Optimizer, witness: Witness | None) -> None:
        self._config = config
        self._optimizer = optimizer
        self._witness = witness

    def show(self, pairs: Sequence[PairOfRuns]) -> str:
        """Return the pairs as text, and the user's words about them where edits have to rest on those."""
        gradient = self._config
        shown = render_pairs(pairs, gradient.trace_tokens, show_gold=gradient.show_gold)
        quotes = self._witness.quote(list_traces(pairs)) if self._witness is not None else ()
        return "\n\n".join(filter(None, [shown, render_quotes(quotes, gradient.trace_tokens // 2)]))

    async def ask(self, stage: str, system: str, parts: Sequence[str], key: str) -> tuple[str, str]:
        """Return the text asked for, or "" and why there is none."""
        schema = make_object({"reasoning": {"type": "string"}, key: {"type": "string"}})
        messages = [Message("system", system), Message("user", "\n\n".join(parts))]
        try:
            reply = await self._optimizer.ask(stage, messages, schema, key=key)
        except (Unreachable, ReplyMalformed) as error:
            return "", str(error)
        text = reply.value[key]
        if not isinstance(text, str) or not text.strip():
            return "", "the reply was empty"
        return text.strip(), str(reply.value.get("reasoning") or "")


def list_traces(pairs: Sequence[PairOfRuns]) -> list[Trace]:
    """Return the runs of all pairs."""
    return [trace for pair in pairs for trace in (pair.before, pair.after)]
