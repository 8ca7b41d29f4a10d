"""Leading a candidate through a night: after every result the gate says which task is next."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skillopt_gate.decide import level_of
from skillopt_gate.sequence import Next, Waiting, advance
from skillopt_gate.verdicts import Evidence, Policy
from skillopt_replay.tasks import Task
from skillopt_sleep.events import Event, Listener
from skillopt_sleep.night.arms import Arms, Ran
from skillopt_sleep.night.identity import is_of, name_identity
from skillopt_sleep.night.past import went_well


@dataclass(kw_only=True)
class Question:
    """What the gate is asked after every result."""

    arms: Arms
    agent: str
    evidence: Evidence | None
    aside: tuple[Evidence, ...]
    policy: Policy
    problems: tuple[str, ...]
    shorter: bool
    rewritten: bool
    candidates: int
    family_level: Callable[[str], float] | None

    def identity(self) -> str:
        """Return who answers; before anybody did, whose evidence it was, if it can still be the same."""
        model = self.arms.model
        if not model:
            for one in self._gathered():
                if is_of(one.identity, self.agent):
                    return one.identity
        return name_identity(self.agent, model)

    def _gathered(self) -> tuple[Evidence, ...]:
        return (*((self.evidence,) if self.evidence else ()), *reversed(self.aside))

    def find_evidence(self, identity: str) -> Evidence | None:
        """Return the evidence that goes on, or the last one, which will start anew."""
        own = (one for one in self._gathered() if one.identity == identity)
        return next(own, self.evidence)

    def restarts(self) -> bool:
        return self.evidence is not None and self.evidence.identity != self.identity()

    def find_family_level(self, identity: str) -> float | None:
        """Return the candidate's level among all; it is counted as one of them from its first run on."""
        if self.family_level is None:
            return None
        return self.family_level(identity) if self.arms.began else self.policy.family_alpha

    def ask(self, waiting: Sequence[Task]) -> Next:
        identity = self.identity()
        evidence = self.find_evidence(identity)
        # What evidence that goes on has counted already adds nothing to it; it can only stand guard.
        counted = frozenset(evidence.seen if evidence and evidence.identity == identity else ())
        return advance(
            self.arms.pairs(),
            [
                Waiting(task.id, guard=went_well(task))
                for task in waiting
                if task.id not in counted or went_well(task)
            ],
            evidence,
            self.policy,
            identity=identity,
            problems=self.problems,
            shorter=self.shorter,
            rewritten=self.rewritten,
            level=level_of(
                self.policy,
                candidates=self.candidates,
                family_level=self.find_family_level(identity),
            ),
        )


class Lead:
    """The tasks in flight, those that wait, and those that may come back.

    Results count in the order in which the tasks were begun, whichever ends first, so that a night that is
    repeated from its ledger asks the gate the same questions.
    """

    def __init__(
        self,
        arms: Arms,
        question: Question,
        waiting: list[Task],
        renewed: list[Task],
        listen: Listener,
        detail: str,
    ) -> None:
        self._arms = arms
        self._question = question
        self._waiting = waiting
        self._renewed = renewed
        self._listen = listen
        self._detail = detail
        self._flying: deque[asyncio.Task[Ran]] = deque()
        self._done = 0
        self.offered = list(waiting)

    async def work(self, by_id: dict[str, Task], *, width: int) -> None:
        try:
            while True:
                self._begin(by_id, width)
                if not self._flying:
                    break
                self._arms.keep(await self._flying.popleft())
                self._done += 1
                total = self._done + len(self._flying) + len(self._waiting)
                self._listen(Event(stage="gate", done=self._done, total=total, detail=self._detail))
        finally:
            for left in self._flying:
                left.cancel()
            await asyncio.gather(*self._flying, return_exceptions=True)

    def _begin(self, by_id: dict[str, Task], width: int) -> None:
        while len(self._flying) < width and not self._arms.stopped:
            if self._renewed and self._question.restarts():
                self._waiting += self._renewed
                self.offered += self._renewed
                self._renewed = []
            step = self._question.ask(self._waiting)
            if step.task is None:
                return
            task = by_id[step.task]
            if step.again:
                # What is still running may settle that a second look is not needed. One whose runs were
                # lost is not looked at for ever: it counts as broken.
                if not self._flying and self._arms.may_recheck(task.id):
                    self._flying.append(asyncio.create_task(self._arms.recheck(task)))
                return
            self._waiting.remove(task)
            self._flying.append(asyncio.create_task(self._arms.run(task)))
