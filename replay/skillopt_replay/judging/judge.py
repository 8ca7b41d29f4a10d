"""A chat model as judge: every question is paid through the ledger, and only grades come back."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from skillopt_replay.judging.prompts import (
    CHOICES,
    COMPARE_SCHEMA,
    GRADES,
    RATE_SCHEMA,
    VERSION,
    ask_to_compare,
    ask_to_rate,
)
from skillopt_replay.judging.work import Work, show
from skillopt_replay.protocols import Completion
from skillopt_replay.reserves import bound_call
from skillopt_replay.rollouts import CheckResult, Fault, Outcome, make_score
from skillopt_replay.tasks import Pairwise, Rubric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from skillopt_replay.protocols import ChatModel, Ledger, Message
    from skillopt_replay.rollouts import Rollout
    from skillopt_replay.tasks import Task

_MAX_TOKENS = 512
_PASSES = GRADES["met"]


class Undecided(Exception):
    """The judge gave no grade; `fault` says why."""

    def __init__(self, message: str, fault: Fault) -> None:
        super().__init__(message)
        self.message = message
        self.fault = fault


class Judge:
    """Grades work by one criterion at a time. What it writes besides the grade is not handed on."""

    def __init__(self, model: ChatModel, ledger: Ledger) -> None:
        self._model = model
        self._ledger = ledger

    @property
    def identity(self) -> str:
        """The model and the wording of the questions; evidence of another judge does not count on."""
        return name_judge(self._model)

    async def rate(self, task: str, criterion: str, work: Work) -> float:
        """Return how well the work meets the criterion: 0.0, 0.5 or 1.0.

        Nothing, and the task handed back, are worth 0.0 without a question. Raises Undecided, and
        CeilingReached before a question that would pass a ceiling.
        """
        if work.empty or (not work.diff and _is_copy(work.answer, task)):
            return 0.0
        return await self._ask(ask_to_rate(task, criterion, work), RATE_SCHEMA, "grade", GRADES)

    async def compare(self, task: str, criterion: str, one: Work, other: Work) -> tuple[float, float]:
        """Return how far `one` is preferred, in [0, 1], shown first and shown second. Raises as rate does."""
        ahead = await self._ask(
            ask_to_compare(task, criterion, one, other), COMPARE_SCHEMA, "better", CHOICES
        )
        behind = await self._ask(
            ask_to_compare(task, criterion, other, one), COMPARE_SCHEMA, "better", CHOICES
        )
        return ahead, 1.0 - behind

    async def finish(self, task: Task, rollout: Rollout) -> Rollout:
        """Return the rollout with its pending results decided.

        One that the judge cannot decide is missing data: its score is None. Raises CeilingReached.
        """
        if rollout.score is None or not any(result.pending for result in rollout.score.results):
            return rollout
        results = list(rollout.score.results)
        try:
            for place, result in enumerate(results):
                if result.pending:
                    results[place] = await self._decide(task, place, rollout)
        except Undecided as error:
            return msgspec.structs.replace(
                rollout,
                outcome=Outcome.INFRASTRUCTURE,
                score=None,
                error=f"the judge did not decide: {error.message}",
                fault=error.fault,
            )
        return msgspec.structs.replace(rollout, score=make_score(results))

    async def _decide(self, task: Task, place: int, rollout: Rollout) -> CheckResult:
        check, work = task.checks[place], show(rollout)
        if isinstance(check, Rubric):
            grade = await self.rate(task.prompt, check.criterion, work)
            holds, detail = grade >= _PASSES, f"the judge gave {grade:g} of 1"
        elif isinstance(check, Pairwise):
            reference = Work(answer=check.reference)
            first, second = await self.compare(task.prompt, check.criterion, work, reference)
            preferred = (first + second) / 2
            holds, detail = preferred >= 0.5, f"the judge preferred it to the reference by {preferred:g} of 1"
        else:
            raise TypeError(f"{type(check).__name__} needs no judge")
        return CheckResult(passed=holds is not check.negate, detail=detail)

    async def _ask(
        self, messages: Sequence[Message], schema: Mapping[str, Any], field: str, values: Mapping[str, float]
    ) -> float:
        digest = hashlib.sha256(msgspec.json.encode([self.identity, messages])).hexdigest()

        async def make() -> Completion:
            completion = await self._model.complete(messages, schema=schema, max_tokens=_MAX_TOKENS)
            if completion.error is None and _read(completion, field, values) is None:
                # Not kept as a result: asked again, the same model may keep to the form.
                said = "its reply has no grade"
                return msgspec.structs.replace(completion, text="", error=said, fault=Fault.REPLY)
            return completion

        most = bound_call(self._model, messages, schema=schema, max_tokens=_MAX_TOKENS)
        for attempt in range(2):
            reply = await self._ledger.once("judge", digest, most, make, Completion)
            value = _read(reply, field, values) if reply.error is None else None
            if value is not None:
                return value
            if reply.fault is not Fault.REPLY or attempt:
                break
        raise Undecided(reply.error or "no grade", reply.fault or Fault.REPLY)


def name_judge(model: ChatModel) -> str:
    """Return the identity of a judge that is this model."""
    return f"{model.identity} (questions {VERSION})"


def _read(completion: Completion, field: str, values: Mapping[str, float]) -> float | None:
    chosen = (completion.value or {}).get(field)
    return values.get(chosen.strip().lower()) if isinstance(chosen, str) else None


def _is_copy(answer: str, task: str) -> bool:
    """Say whether the answer is the task, or most of it, and nothing else."""
    bare, asked = (" ".join(text.split()).strip("\"'`.> ").casefold() for text in (answer, task))
    return bool(bare) and bare in asked and 2 * len(bare) > len(asked)
