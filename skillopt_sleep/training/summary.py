"""What came of a run, with intervals, and of an evaluation of one skill on a split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from skillopt_gate.exact import sign_flip_test
from skillopt_gate.interval import bootstrap_interval
from skillopt_gate.pairs import as_fraction, compare, count
from skillopt_gate.standing import seeded_by
from skillopt_gate.verdicts import Pair
from skillopt_replay.rollouts import Rollout
from skillopt_replay.skills import Skill
from skillopt_replay.tasks import Task
from skillopt_sleep.training.contract import is_lost
from skillopt_sleep.training.gating import Gate, Measure
from skillopt_sleep.training.memory import Memory
from skillopt_sleep.training.rolling import Purpose, Runner, number
from skillopt_sleep.training.run_folder import RunState


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """A skill on the tasks of a split. `interval` is the 95 % bootstrap interval of the mean over tasks."""

    skill: str
    n_items: int
    hard: float
    soft: float
    runs: int
    lost: int
    interval: tuple[float, float]
    by_family: dict[str, float] = {}


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A skill beside a baseline on the same tasks: wins, losses, ties, mean difference, interval, exact p."""

    n: int
    wins: int
    losses: int
    ties: int
    effect: float
    interval: tuple[float, float]
    p_value: float


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A finished run. `best` is the skill to use; the tests are None where none were asked for.

    `final` is how the skill in force did on val in the end, where it was not the best one.

    `memory` is for a run that follows.
    """

    best: Skill
    best_step: int
    total_steps: int
    total_accepts: int
    total_rejects: int
    total_skips: int
    stopped: str
    baseline: Measure | None
    best_measure: Measure | None
    epoch_stats: tuple[dict[str, Any], ...]
    tokens: dict[str, dict[str, int]]
    memory: Memory = Memory()
    baseline_test: Evaluation | None = None
    best_test: Evaluation | None = None
    test_difference: Difference | None = None
    final: Measure | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the summary as `summary.json` holds it."""
        value: dict[str, Any] = msgspec.to_builtins(self)
        value["best"] = self.best.digest
        del value["memory"]
        value["baseline_selection_hard"] = self.baseline.hard if self.baseline else None
        value["best_selection_hard"] = self.best_measure.hard if self.best_measure else None
        value["final_selection_hard"] = self.final.hard if self.final else None
        value["final_selection_soft"] = self.final.soft if self.final else None
        value["baseline_test_hard"] = self.baseline_test.hard if self.baseline_test else None
        value["test_hard"] = self.best_test.hard if self.best_test else None
        value["test_delta_hard"] = self.test_difference.effect if self.test_difference else None
        return value


async def summarize(
    state: RunState,
    history: Sequence[Mapping[str, Any]],
    *,
    initial: Skill,
    best: Skill,
    tests: Sequence[Task],
    runner: Runner,
    gate: Gate,
) -> Summary:
    """Return the summary; initial and best skill are run on the test tasks, if there are any."""
    before, after, difference = None, None, None
    if tests:
        old = await evaluate(initial, tests, runner, index=0)
        new = old if best == initial else await evaluate(best, tests, runner, index=0)
        before, after = describe(initial, tests, old), describe(best, tests, new)
        difference = contrast(tests, old, new) if best != initial else None
    actions = [str(record["action"]) for record in history]
    return Summary(
        best=best,
        best_step=state.best_step,
        total_steps=len(history),
        total_accepts=sum("accept" in action for action in actions),
        total_rejects=actions.count("reject"),
        total_skips=sum(action.startswith("skip") for action in actions),
        stopped=state.stopped,
        baseline=state.baseline,
        best_measure=state.best_measure,
        epoch_stats=tuple(_by_epoch(history)),
        tokens=_add_tokens(history),
        memory=Memory(rejected=state.rejected, notes=state.memory, before=initial),
        baseline_test=before,
        best_test=after,
        test_difference=difference,
        final=state.final,
    )


async def evaluate(
    skill: Skill,
    tasks: Sequence[Task],
    runner: Runner,
    *,
    index: int = 0,
    samples: int = 1,
    stage: str = "test",
) -> list[list[Rollout]]:
    """Return the rollouts of each task with the skill; progress is told as that of `stage`."""
    steps = [(t, skill, number(Purpose.TEST, index + s)) for t in tasks for s in range(samples)]
    rolled = await runner.roll(stage, steps)
    return [rolled[i : i + samples] for i in range(0, len(rolled), samples)]


def describe(skill: Skill, tasks: Sequence[Task], runs: Sequence[Sequence[Rollout]]) -> Evaluation:
    """Return the means over tasks; a task without a valid run is left out, and its runs count as lost."""
    hard: list[tuple[str, float, float]] = []
    lost = 0
    for task, rollouts in zip(tasks, runs, strict=True):
        scores = [r.score for r in rollouts if r.score is not None and not is_lost(r)]
        lost += len(rollouts) - len(scores)
        if scores:
            number_of = len(scores)
            hard.append(
                (
                    task.family,
                    sum(s.hard for s in scores) / number_of,
                    sum(s.soft for s in scores) / number_of,
                )
            )
    n = max(len(hard), 1)
    values = [as_fraction(h) for _, h, _ in hard]
    families: dict[str, list[float]] = {}
    for family, h, _ in hard:
        families.setdefault(family, []).append(h)
    return Evaluation(
        skill=skill.digest,
        n_items=len(hard),
        hard=sum(h for _, h, _ in hard) / n,
        soft=sum(s for _, _, s in hard) / n,
        runs=sum(map(len, runs)) - lost,
        lost=lost,
        interval=bootstrap_interval(values, rng=seeded_by(values), within=(0.0, 1.0)),
        by_family={family: sum(own) / len(own) for family, own in sorted(families.items())},
    )


def contrast(
    tasks: Sequence[Task], baseline: Sequence[Sequence[Rollout]], skill: Sequence[Sequence[Rollout]]
) -> Difference:
    """Return how the skill's hard scores differ from the baseline's on the tasks both have valid runs of."""
    pairs = [
        Pair(task=task.id, incumbent=_hard(old), candidate=_hard(new))
        for task, old, new in zip(tasks, baseline, skill, strict=True)
    ]
    differences, _ = compare(pairs)
    values = [difference.value for difference in differences]
    wins, losses, ties = count(values)
    rng = seeded_by(values)
    return Difference(
        n=len(values),
        wins=wins,
        losses=losses,
        ties=ties,
        effect=float(sum(values) / len(values)) if values else 0.0,
        interval=bootstrap_interval(values, rng=rng),
        p_value=float(sign_flip_test(values, rng=rng)),
    )


def _hard(rollouts: Sequence[Rollout]) -> tuple[float, ...]:
    return tuple(r.score.hard for r in rollouts if r.score is not None and not is_lost(r))


def _by_epoch(history: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    stats = []
    for epoch in sorted({int(record["epoch"]) for record in history}):
        own = [record for record in history if record["epoch"] == epoch]
        actions = [str(record["action"]) for record in own]
        stats.append(
            {
                "epoch": epoch,
                "steps": len(own),
                "accepts": sum("accept" in action for action in actions),
                "rejects": actions.count("reject"),
                "skips": sum(action.startswith("skip") for action in actions),
                "best_score_at_epoch_end": own[-1]["best_score"],
                "current_score_at_epoch_end": own[-1]["current_score"],
            }
        )
    return stats


def _add_tokens(history: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    total: dict[str, dict[str, int]] = {}
    for record in history:
        for stage, use in record["tokens"].items():
            sums = total.setdefault(stage, {})
            for name, value in use.items():
                sums[name] = sums.get(name, 0) + int(value)
    return total
