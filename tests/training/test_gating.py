"""The gate of a run: how often nothing passes as something."""

from __future__ import annotations

import random

from skillopt_replay.ledger import MemoryLedger
from skillopt_replay.rollouts import CheckResult, Outcome, Rollout, Score
from skillopt_replay.skills import new_skill
from skillopt_sleep.training.config import EvaluationSection
from skillopt_sleep.training.gating import Gate
from skillopt_sleep.training.rolling import Runner
from tests.support.school import School


class Coins(School):
    """Every run is a coin of its own, whatever the skill says."""

    async def rollout(self, task, skill, sample):
        heads = float(random.Random(f"{task.id}/{skill.digest}/{sample}").random() < 0.5)
        return Rollout(
            task=task.id,
            skill=skill.digest,
            agent="coin",
            model="",
            outcome=Outcome.FINISHED,
            answer="",
            score=Score(heads, heads, (CheckResult(bool(heads), ""),)),
        )


async def test_a_skill_that_does_nothing_passes_no_more_often_than_declared():
    coins = Coins(size=30)
    runner = Runner(coins, MemoryLedger(), None, workers=64)
    gate = Gate(list(coins.load("val")), runner, EvaluationSection(gate_alpha=0.1))
    old = new_skill("coin", "Use for coins.", "# Coins")
    accepted = 0
    for trial in range(100):
        new = new_skill("coin", "Use for coins.", f"# Coins\n\nThrow {trial}.")
        accepted += (await gate.compare(old, new, index=trial, known=None)).accepted
    # 100 trials at 10 %: 18 or more happen by chance in less than one of a hundred.
    assert accepted < 18


async def test_a_task_that_only_seems_broken_is_run_again():
    class Lucky(Coins):
        async def rollout(self, task, skill, sample):
            rollout = await super().rollout(task, skill, sample)
            good = "better" in skill.text
            first = task.id == "val-0" and sample < 2_000_000
            hard = float(not good) if first else float(good or sample >= 2_000_000)
            return Rollout(
                task=task.id, skill=skill.digest, agent="l", model="", outcome=rollout.outcome, answer="",
                score=Score(hard, hard, (CheckResult(bool(hard), ""),)),
            )  # fmt: skip

    lucky = Lucky(size=20)
    gate = Gate(list(lucky.load("val")), Runner(lucky, MemoryLedger(), None, workers=8), EvaluationSection())
    old = new_skill("coin", "Use for coins.", "# Coins")
    better = new_skill("coin", "Use for coins.", "# Coins\n\nThrow better.")
    comparison = await gate.compare(old, better, index=0, known=None)
    assert comparison.accepted
    assert comparison.verdict.losses == 1
