"""Which of the merged edits are made: how many, and which first."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt_replay.protocols import Message
from skillopt_sleep.training.asking import Optimizer, Unreachable, make_object
from skillopt_sleep.training.records import Edit
from skillopt_sleep.training.rejected import render_rejected
from skillopt_sleep.training.replies import ReplyMalformed
from skillopt_sleep.training.schedules import RateDecision, decide_rate
from skillopt_sleep.training.select import Selection, list_edits, select_edits
from skillopt_sleep.training.showing import show_skill
from skillopt_sleep.training.step_parts import Standing
from skillopt_sleep.training.traces import Trace


class Chooser:
    """Asks the optimizer for a ranking and, where it sets the rate itself, for the learning rate."""

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer

    async def select(
        self, standing: Standing, edits: Sequence[Edit], budget: int | None
    ) -> tuple[Selection, str]:
        if budget is None or len(edits) <= budget or budget == 0:
            return select_edits(edits, budget), ""
        parts = [show_skill(standing.skill)]
        parts += [f"Your own notes from earlier epochs:\n{standing.memory}"] * bool(standing.memory)
        rejected = render_rejected(standing.rejected.edits)
        parts += [f"What was tried before and turned down:\n{rejected}"] * bool(rejected)
        parts.append(f"The edits:\n{list_edits(edits)}\n\nName the best {budget}, best first.")
        schema = make_object(
            {
                "reasoning": {"type": "string"},
                "selected_indices": {"type": "array", "items": {"type": "integer"}, "maxItems": budget},
            }
        )
        messages = [Message("system", _RANKING), Message("user", "\n\n".join(parts))]
        try:
            reply = await self._optimizer.ask("ranking", messages, schema, key="selected_indices")
        except (Unreachable, ReplyMalformed) as error:
            return select_edits(edits, budget), f"the edits were ranked by their support alone: {error}"
        ranking = reply.value["selected_indices"]
        return select_edits(edits, budget, ranking=ranking if isinstance(ranking, list) else []), ""

    async def decide_rate(
        self, standing: Standing, edits: Sequence[Edit], traces: Sequence[Trace], cap: int | None
    ) -> tuple[RateDecision, str]:
        count = max(len(traces), 1)
        hard = sum(trace.hard for trace in traces) / count
        parts = [show_skill(standing.skill)]
        parts += [f"Your own notes from earlier epochs:\n{standing.memory}"] * bool(standing.memory)
        rejected = render_rejected(standing.rejected.edits)
        parts += [f"What was tried before and turned down:\n{rejected}"] * bool(rejected)
        parts.append(f"Of {len(traces)} runs {hard:.0%} passed. The edits:\n{list_edits(edits)}")
        text = {"type": "string"}
        schema = make_object(
            {
                "reasoning": text,
                "learning_rate": {"type": "integer", "minimum": 0},
                "confidence": {"type": "number"},
                "risk_notes": {"type": "array", "items": text},
            }
        )
        messages = [Message("system", _RATE), Message("user", "\n\n".join(parts))]
        try:
            reply = await self._optimizer.ask("lr_autonomous", messages, schema, key="learning_rate")
        except (Unreachable, ReplyMalformed) as error:
            return decide_rate({}, available=len(edits), cap=cap), f"no learning rate was chosen: {error}"
        return decide_rate(reply.value, available=len(edits), cap=cap), ""


_RANKING = """\
You choose which edits of a skill document to make first. What counts, in this order: that it mends what \
many runs had in common; that the chosen edits do not repeat each other; that it holds for every task of the \
kind; that an agent can act on it. Reply with JSON: "reasoning" (a sentence) and "selected_indices"."""
_RATE = """\
You set the learning rate of a step: how many of the edits, best first, are made to the skill document. \
Take few when the evidence is thin or the skill works; 0 when none is worth its risk. Reply with JSON: \
"reasoning", "learning_rate", "confidence" (0 to 1), "risk_notes" (a list)."""
