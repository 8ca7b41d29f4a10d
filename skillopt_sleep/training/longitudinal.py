"""Two skills on the same train tasks: what an epoch made better, what it made worse, what stays wrong."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

import msgspec

from skillopt_replay.skills import Skill
from skillopt_replay.tasks import Task
from skillopt_sleep.training.contract import is_lost
from skillopt_sleep.training.rolling import Purpose, Runner, number
from skillopt_sleep.training.traces import Trace, render

Category = Literal["improved", "regressed", "persistent_fail", "stable_success"]
Policy = Literal["mixed", "changed", "unchanged"]
_CHANGED = ("improved", "regressed")
_ORDER: tuple[Category, ...] = ("regressed", "persistent_fail", "improved", "stable_success")
_TITLES: dict[Category, str] = {
    "regressed": "Passed before, fail now",
    "persistent_fail": "Failed before and fail now",
    "improved": "Failed before, pass now",
    "stable_success": "Passed before and pass now",
}


class PairOfRuns(msgspec.Struct, frozen=True, kw_only=True):
    """One task with the skill before and the skill after; both runs are valid."""

    category: Category
    before: Trace
    after: Trace

    def as_json(self) -> dict[str, object]:
        """Return the pair as `comparison_pairs.json` holds it."""
        return {
            "id": self.before.task.id,
            "category": self.category,
            "prev": msgspec.to_builtins(self.before.rollout.score),
            "curr": msgspec.to_builtins(self.after.rollout.score),
        }


async def compare(
    before: Skill,
    after: Skill,
    tasks: Sequence[Task],
    runner: Runner,
    *,
    count: int,
    policy: Policy,
    seed: int,
    epoch: int,
) -> list[PairOfRuns]:
    """Return up to `count` pairs of the kind the policy keeps; lost runs make no pair.

    The tasks are drawn with seed and epoch. Where only changed or unchanged ones are kept, further tasks are
    run until there are enough or none is left.
    """
    order = list(tasks)
    random.Random(seed + epoch * 2000).shuffle(order)  # noqa: S311 - a sample, not a secret
    pairs: list[PairOfRuns] = []
    for start in range(0, len(order), count):
        chunk = order[start : start + count]
        steps = [(task, skill, number(Purpose.SLOW, epoch)) for skill in (before, after) for task in chunk]
        rolled = await runner.roll("slow_update", steps)
        for task, old, new in zip(chunk, rolled[: len(chunk)], rolled[len(chunk) :], strict=True):
            if not is_lost(old) and not is_lost(new):
                pairs.append(_pair(Trace(task, old), Trace(task, new)))
        pairs = [pair for pair in pairs if _keeps(policy, pair.category)]
        if policy == "mixed" or len(pairs) >= count:
            break
    return pairs[:count]


def _pair(before: Trace, after: Trace) -> PairOfRuns:
    names: dict[tuple[bool, bool], Category] = {
        (False, True): "improved",
        (True, False): "regressed",
        (False, False): "persistent_fail",
        (True, True): "stable_success",
    }
    return PairOfRuns(category=names[before.passed, after.passed], before=before, after=after)


def _keeps(policy: Policy, category: Category) -> bool:
    return policy == "mixed" or (category in _CHANGED) == (policy == "changed")


def render_pairs(pairs: Sequence[PairOfRuns], max_tokens: int, *, show_gold: bool = False) -> str:
    """Return the pairs as text, regressions first; tasks that pass with both skills are only counted."""
    groups = [(category, [p for p in pairs if p.category == category]) for category in _ORDER]
    shown = [(category, own) for category, own in groups if own and category != "stable_success"]
    share = max_tokens // max(len(shown), 1)
    parts = [f"{_TITLES[category]}: {len(own)}" for category, own in groups]
    for category, own in shown:
        traces = [trace for pair in own for trace in (pair.before, pair.after)]
        text = render(traces, share, show_gold=show_gold)
        parts.append(f"# {_TITLES[category]}: for each task the run before, then the run now\n\n{text}")
    return "\n\n".join(parts)
