"""What chance may do to a run: nothing by the order of replies, and to the gate no more than declared."""

from __future__ import annotations

import hashlib
import itertools

import msgspec
import pytest

from skillopt_replay.ledger import MemoryLedger
from skillopt_replay.rollouts import Outcome, Rollout
from skillopt_sleep.training import Trainer
from skillopt_sleep.training.reading import make
from tests.support.school import SEARCH, School, Teacher, make_delays, search_here
from tests.training.test_resume import RUNS, read_tree

STEPS, SEEDS = 20, 10
ALPHA = 0.05


@pytest.mark.parametrize("kind", RUNS)
@pytest.mark.parametrize("seed", range(2))
async def test_whatever_order_replies_come_in_the_same_is_written(tmp_path, monkeypatch, kind, seed):
    monkeypatch.setattr(SEARCH, search_here)
    run = RUNS[kind]
    many = msgspec.structs.replace(run.config, env=msgspec.structs.replace(run.config.env, workers=16))
    plain = Trainer(School(**run.school), Teacher(**run.teacher), run.config, out=tmp_path / "plain")
    await plain.train(run.skill)
    school = School(**run.school, delays=make_delays(seed))
    teacher = Teacher(**run.teacher, delays=make_delays(seed + 9))
    await Trainer(school, teacher, many, out=tmp_path / "mixed").train(run.skill)
    one, two = read_tree(tmp_path / "plain"), read_tree(tmp_path / "mixed")
    for tree in (one, two):
        tree.pop(next(name for name in tree if name.startswith("config.yaml")))
    assert two == one


class Coin(School):
    """Passes a task every other time, whatever the skill says."""

    def __init__(self, seed):
        super().__init__(size=24)
        self.seed = seed

    async def rollout(self, task, skill, sample):
        drawn = hashlib.sha256(f"{self.seed} {task.id} {skill.digest} {sample}".encode()).digest()[0]
        answer = f"It is {task.family.upper()}." if drawn % 2 else "I do not know."
        common = {"task": task.id, "skill": skill.digest, "agent": "coin/1", "model": "coin"}
        return Rollout(**common, outcome=Outcome.FINISHED, answer=answer)


async def count_accepted(tmp_path, mode, seeds=SEEDS):
    """Return how many of STEPS * seeds candidates that change nothing the gate let through, and how many."""
    accepted = compared = 0
    for seed in range(seeds):
        words = (f"Think {number} times about it." for number in itertools.count())
        config = make(
            {
                "train": {"num_epochs": STEPS, "batch_size": 24, "seed": seed},
                "optimizer": {
                    "learning_rate": 1,
                    "min_learning_rate": 1,
                    "max_skill_tokens": 4000,
                    "use_slow_update": False,
                    "use_meta_skill": False,
                },
                "evaluation": {"gate_mode": mode, "gate_alpha": ALPHA, "eval_test": False},
            }
        )
        teacher = Teacher(write=lambda _family, words=words: next(words))
        trainer = Trainer(Coin(seed), teacher, config, out=tmp_path / mode / str(seed), ledger=MemoryLedger())
        summary = await trainer.train()
        accepted += summary.total_accepts
        compared += summary.total_accepts + summary.total_rejects
    return accepted, compared


async def test_candidates_that_change_nothing_pass_no_more_often_than_declared(tmp_path):
    accepted, compared = await count_accepted(tmp_path, "one-night")
    assert compared == STEPS * SEEDS
    assert accepted <= ALPHA * compared


async def test_the_strict_gate_lets_luck_through(tmp_path):
    accepted, compared = await count_accepted(tmp_path, "strict", seeds=3)
    assert accepted > 0.2 * compared
