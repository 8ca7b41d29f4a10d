"""What a run may take at most, before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from skillopt_gate.vetoes import RECHECK_RUNS
from skillopt_replay.rollouts import Usage
from skillopt_replay.tasks import Task
from skillopt_sleep.training.batches import count_steps
from skillopt_sleep.training.config import Config
from skillopt_sleep.training.plain import RIVALS


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """Upper bounds of a whole run: rollouts by what they are for, questions to the optimizer, tokens, money.

    Tokens and money are what the calls may take at most, by the estimates of the models; `usd` is None when
    the price of some is not known.
    """

    steps: int
    rollouts: dict[str, int]
    questions: int
    tokens: int
    usd: float | None

    @property
    def total_rollouts(self) -> int:
        return sum(self.rollouts.values())


def forecast(
    config: Config,
    splits: Mapping[str, Sequence[Task]],
    *,
    rollout: Usage,
    question: Usage,
    follows: bool = False,
) -> Forecast:
    """Return the bounds for these splits; `rollout` and `question` are the estimates of one call each.

    `follows`: the run begins with what another left.
    """
    train, gate, rate = config.train, config.evaluation, config.optimizer
    size = {split: len(tasks) for split, tasks in splits.items()}
    steps = count_steps(size["train"], train) * train.num_epochs
    races = gate.gate_mode == "race"
    ends = train.num_epochs if follows else max(train.num_epochs - 1, 0)
    gated_ends = ends if rate.use_slow_update and rate.slow_update_gate_with_selection else 0
    gated_ends += train.num_epochs if rate.use_skill_aware_reflection else 0
    compared = steps + gated_ends + 1  # the last one when the run ends
    sides = 2 if gate.use_gate and gate.remeasure else 1
    slow = ends if rate.use_slow_update or rate.use_meta_skill else 0
    pairs = size["train"] if rate.longitudinal_pair_policy != "mixed" else rate.slow_update_samples
    rivals = train.candidates + RIVALS * config.gradient.plain
    raced = (rivals if rivals > 1 or races else 0) * train.num_epochs
    raced += ends if races and rate.use_slow_update else 0
    batch = min(train.batch_size * train.accumulation, size["train"])
    rollouts = {
        "train": train.num_epochs * size["train"] * train.samples,
        "race": raced * size["train"],
        "selection": size["val"] * gate.samples * (1 + sides * compared)
        if not races
        else size["val"] * steps * (rivals if rivals > train.keep else 0),
        # To pass, and so to be looked at again, a candidate has to be better on one task at least.
        "recheck": 2 * RECHECK_RUNS * max(size["val"] - 1, 0) * compared
        if gate.use_gate and not races
        else 0,
        "attribution": size["val"] * gate.samples * steps * min(rate.learning_rate, batch * 4)
        if gate.attribute_edits and not races
        else 0,
        "slow_update": slow * 2 * min(pairs, size["train"]),
        "test": 2 * size["test"] if gate.eval_test else 0,
    }
    analysts = math.ceil(batch / config.gradient.minibatch_size) + 2 * train.accumulation
    merges = math.ceil(analysts / (config.gradient.merge_batch_size - 1)) + 2
    # Where words are raced no analyst is asked, but perhaps for their learning rate and a shorter skill.
    plain = RIVALS * config.gradient.plain * 4
    asked = steps * (train.candidates * (analysts * 2 + merges * 2 + 4) + plain) + ends * 4 + train.num_epochs
    runs = sum(rollouts.values())
    costs = [
        None if usage.cost_usd is None else number * usage.cost_usd
        for number, usage in ((runs, rollout), (asked, question))
        if number
    ]
    return Forecast(
        steps=steps,
        rollouts=rollouts,
        questions=asked,
        tokens=runs * rollout.tokens + asked * question.tokens,
        usd=None if None in costs else sum(cost for cost in costs if cost is not None),
    )
