"""Measuring a candidate against the incumbent on held-out tasks, one task after another as the gate asks."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from skillopt_gate.decide import level_of
from skillopt_gate.metrics import project
from skillopt_gate.sequence import Next, Waiting, advance
from skillopt_gate.verdicts import Evidence, Policy, Verdict
from skillopt_replay.rollouts import Score
from skillopt_replay.skills import Skill
from skillopt_replay.tasks import Task
from skillopt_sleep.events import Event, Listener, ignore
from skillopt_sleep.night.arms import Arms, Scorer
from skillopt_sleep.night.identity import is_of, name_identity
from skillopt_sleep.night.past import went_well
from skillopt_sleep.night.ruling import Ruling, ask_gate
from skillopt_sleep.records import TaskEvidence
from skillopt_sleep.training.records import Roller

# What each mode of the reference method compares; all others compare passed and failed.
_METRICS = {"soft": "soft", "mixed": "mixed"}

# A rewrite that saves less than this is no shortening, which would be held to a lower bar.
_WORTHWHILE = 0.95


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What the gate ruled and what it rests on; `stopped` names the ceiling that cut it short, if one did.

    `notes` are what the runs said of themselves (the commit, the sandbox), each with how many said it.
    `restarted`: earlier evidence was another agent's or model's, so it counts no more.
    """

    ruling: Ruling
    tasks: tuple[TaskEvidence, ...]
    stopped: str = ""
    notes: tuple[tuple[str, int], ...] = ()
    restarted: bool = False

    @property
    def verdict(self) -> Verdict:
        return self.ruling.verdict

    @property
    def evidence(self) -> Evidence:
        return self.ruling.evidence


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """How tasks are run and compared: `weight` is the share of the soft score in mode mixed."""

    repeats: int = 1
    concurrency: int = 2
    weight: float = 0.5
    timed: bool = True


def make_scorer(mode: str, weight: float) -> Scorer:
    """Return the number of a score that this mode compares, in [0, 1]."""
    metric = _METRICS.get(mode, "hard")

    def score(of: Score) -> float:
        return project(of.hard, of.soft, metric, weight=weight)

    return score


async def measure(
    tasks: Sequence[Task],
    incumbent: Skill | None,
    candidate: Skill,
    roll: Roller,
    *,
    policy: Policy,
    identity: str,
    evidence: Evidence | None = None,
    renewed: Sequence[Task] = (),
    problems: Sequence[str] = (),
    candidates: int = 1,
    family_level: Callable[[str], float] | None = None,
    conditions: Conditions = Conditions(),  # noqa: B008 - frozen
    listen: Listener = ignore,
) -> Measurement:
    """Run both skills on the tasks the gate asks for, interleaved and alike, and have it rule.

    `identity` is the agent's own; the model that answers is added to it as soon as one did. When that is not
    whose evidence was carried here, the evidence starts anew, and the tasks in `renewed`, which it had
    counted, are as good as fresh. `family_level` gives the candidate's level among all, by that identity.
    A ceiling ends the measuring; what was measured until then is judged.
    """
    arms = Arms(
        incumbent,
        candidate,
        roll,
        repeats=conditions.repeats,
        concurrency=conditions.concurrency,
        score=make_scorer(policy.mode, conditions.weight),
        timed=conditions.timed,
    )
    question = _Question(
        arms=arms,
        agent=identity,
        evidence=evidence,
        policy=policy,
        problems=tuple(problems),
        shorter=incumbent is not None and _is_shorter(candidate.text, incumbent.text),
        rewritten=incumbent is not None and not _only_cuts(candidate.text, incumbent.text),
        candidates=candidates,
        family_level=family_level,
    )
    by_id = {task.id: task for task in (*tasks, *renewed)}
    run = _Run(arms, question, list(tasks), list(renewed), listen, candidate.name)
    await run.work(by_id, width=max(1, -(-conditions.concurrency // (2 * conditions.repeats))))
    now = question.identity()
    pairs = arms.pairs()
    ruling = ask_gate(
        incumbent,
        candidate,
        pairs,
        evidence,
        policy,
        identity=now,
        problems=problems,
        shorter=question.shorter,
        rewritten=question.rewritten,
        candidates=candidates,
        family_level=question.find_family_level(now),
    )
    return Measurement(
        ruling=ruling,
        tasks=arms.evidence(run.offered),
        stopped=arms.stopped,
        notes=arms.notes(),
        restarted=bool(pairs) and question.restarts(),
    )


def _is_shorter(candidate: str, incumbent: str) -> bool:
    """Say whether it takes text away: by cuts alone, or by enough to be worth a rewrite."""
    return len(candidate) < len(incumbent) and (
        _only_cuts(candidate, incumbent) or len(candidate) <= _WORTHWHILE * len(incumbent)
    )


def _only_cuts(candidate: str, incumbent: str) -> bool:
    """Say whether the candidate's lines are some of the incumbent's, in their order."""
    rest = iter(incumbent.splitlines())
    return all(line in rest for line in candidate.splitlines())


@dataclass(kw_only=True)
class _Question:
    """What the gate is asked after every result."""

    arms: Arms
    agent: str
    evidence: Evidence | None
    policy: Policy
    problems: tuple[str, ...]
    shorter: bool
    rewritten: bool
    candidates: int
    family_level: Callable[[str], float] | None

    def identity(self) -> str:
        """Return who answers; before anybody did, whose evidence it was, if it can still be the same."""
        model = self.arms.model
        if not model and self.evidence and is_of(self.evidence.identity, self.agent):
            return self.evidence.identity
        return name_identity(self.agent, model)

    def restarts(self) -> bool:
        return self.evidence is not None and self.evidence.identity != self.identity()

    def find_family_level(self, identity: str) -> float | None:
        """Return the candidate's level among all; it is counted as one of them from its first run on."""
        if self.family_level is None:
            return None
        return self.family_level(identity) if self.arms.began else self.policy.family_alpha

    def ask(self, waiting: Sequence[Task]) -> Next:
        identity = self.identity()
        return advance(
            self.arms.pairs(),
            [Waiting(task.id, guard=went_well(task)) for task in waiting],
            self.evidence,
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


class _Run:
    """The tasks in flight, those that wait, and those that may come back.

    Results are taken in the order in which the tasks were begun, whichever ends first, so that a night that
    is repeated from its ledger asks the gate the same questions.
    """

    def __init__(
        self,
        arms: Arms,
        question: _Question,
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
        self._flying: deque[asyncio.Task[None]] = deque()
        self._done = 0
        self._rechecked: set[str] = set()
        self.offered = list(waiting)

    async def work(self, by_id: dict[str, Task], *, width: int) -> None:
        try:
            while True:
                self._begin(by_id, width)
                if not self._flying:
                    break
                await self._flying.popleft()
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
                # lost is not looked at a third time: it counts as broken.
                if not self._flying and task.id not in self._rechecked:
                    self._rechecked.add(task.id)
                    self._flying.append(asyncio.create_task(self._arms.recheck(task)))
                return
            self._waiting.remove(task)
            self._flying.append(asyncio.create_task(self._arms.run(task)))
