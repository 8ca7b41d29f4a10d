"""Measuring a candidate against the incumbent on held-out tasks, one task after another as the gate asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from skillopt_gate.metrics import project
from skillopt_gate.verdicts import Evidence, Policy, Verdict
from skillopt_replay.rollouts import Score
from skillopt_replay.skills import Skill
from skillopt_replay.tasks import Task
from skillopt_sleep.events import Listener, ignore
from skillopt_sleep.night.arms import Arms, Scorer
from skillopt_sleep.night.leading import Lead, Question
from skillopt_sleep.night.rolls import Roller
from skillopt_sleep.night.ruling import Ruling, ask_gate
from skillopt_sleep.records import TaskEvidence

# What each mode of the reference method compares; all others compare passed and failed.
_METRICS = {"soft": "soft", "mixed": "mixed"}

# A rewrite that saves less than this is no shortening, which would be held to a lower bar.
_WORTHWHILE = 0.95


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What the gate ruled and what it rests on; `stopped` names the ceiling that cut it short, if one did.

    `notes` are what the runs said of themselves (the commit, the sandbox), each with how many said it.
    `restarted`: last night's evidence was another agent's or model's, so it does not count here.
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
    aside: Sequence[Evidence] = (),
    renewed: Sequence[Task] = (),
    problems: Sequence[str] = (),
    candidates: int = 1,
    family_level: Callable[[str], float] | None = None,
    conditions: Conditions = Conditions(),  # noqa: B008 - frozen
    listen: Listener = ignore,
) -> Measurement:
    """Run both skills on the tasks the gate asks for, interleaved and alike, and have it rule.

    `identity` is the agent's own; the model that answers is added to it as soon as one did. When that is not
    whose evidence was carried here, that of `aside` goes on or the evidence starts anew, and the tasks in
    `renewed`, which the other had counted, are as good as fresh. `family_level` gives the candidate's level
    among all, by that identity.
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
    question = Question(
        arms=arms,
        agent=identity,
        evidence=evidence,
        aside=tuple(aside),
        policy=policy,
        problems=tuple(problems),
        shorter=incumbent is not None and _is_shorter(candidate.text, incumbent.text),
        rewritten=incumbent is not None and not _only_cuts(candidate.text, incumbent.text),
        candidates=candidates,
        family_level=family_level,
    )
    by_id = {task.id: task for task in (*tasks, *renewed)}
    run = Lead(arms, question, list(tasks), list(renewed), listen, candidate.name)
    await run.work(by_id, width=max(1, -(-conditions.concurrency // (2 * conditions.repeats))))
    now = question.identity()
    pairs = arms.pairs()
    ruling = ask_gate(
        incumbent,
        candidate,
        pairs,
        question.find_evidence(now),
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
