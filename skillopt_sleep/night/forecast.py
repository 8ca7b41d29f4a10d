"""What a night may take, before it begins: calls from the plan, figures from the calls paid lately."""

from __future__ import annotations

import math
from collections.abc import Mapping

from skillopt_gate.vetoes import RECHECK_RUNS
from skillopt_replay.rollouts import Usage
from skillopt_replay.tasks import is_judged
from skillopt_sleep.night.curriculum import make_config
from skillopt_sleep.night.planned import Forecast, Plan, SkillPlan
from skillopt_sleep.review.wording import count
from skillopt_sleep.settings import Settings
from skillopt_sleep.store.typical import Typical
from skillopt_sleep.training.forecast import forecast

# A judge is tried on eight samples, with six questions each.
_TRIAL_QUESTIONS = 48


def make_forecast(
    plan: Plan, settings: Settings, typical: Mapping[str, Typical | None], slots: int, month_usd: float = 0.0
) -> Forecast:
    """Return the forecast; `typical` has what rollouts, edits and judge calls cost lately, by kind.

    `month_usd` were spent this month so far.
    """
    counts = {"rollout": 0, "optimizer": 0, "judge": 0}
    for skill in plan.skills:
        for kind, number in _count(skill, settings).items():
            counts[kind] += number
    if counts["judge"]:
        counts["judge"] += _TRIAL_QUESTIONS
    wanted = {kind: count for kind, count in counts.items() if count}
    known = {kind: typical.get(kind) for kind in wanted}
    usd = tokens = minutes = None
    if wanted and all(known.values()):
        sums = [(count, one) for kind, count in wanted.items() if (one := known[kind])]
        if all(one.usd is not None for _, one in sums):
            usd = sum(count * (one.usd or 0.0) for count, one in sums)
        tokens = round(sum(count * one.tokens for count, one in sums))
        minutes = sum(count * one.seconds for count, one in sums) / slots / 60
    return Forecast(
        rollouts=counts["rollout"],
        optimizer_calls=counts["optimizer"],
        judge_calls=counts["judge"],
        usd=usd,
        tokens=tokens,
        minutes=minutes,
        ceiling_usd=settings.ceilings.usd,
        ceiling_month_usd=settings.ceilings.usd_month,
        month_usd=month_usd,
    )


def _count(skill: SkillPlan, settings: Settings) -> dict[str, int]:
    training, gate, repeats = settings.training, settings.gate, settings.replay.repeats
    rollouts = reflections = 0
    judged = sum(1 for task in skill.gate for check in task.checks if is_judged(check))
    candidates = 1
    if skill.carried is None:
        candidates = min(gate.candidates, training.candidates)
        config = make_config(settings, len(skill.train), slots=1)
        splits = {"train": skill.train, "val": skill.val, "test": ()}
        taught = forecast(
            config, splits, rollout=Usage(), question=Usage(), follows=skill.learned.skill is not None
        )
        rollouts += taught.total_rollouts
        minibatches = math.ceil(min(config.train.batch_size, len(skill.train)) / training.minibatch_size)
        # What several minibatches propose is merged, and ranked where it is too much.
        reflections += taught.steps * training.candidates * (minibatches + 2 * (minibatches > 1))
        judged_train = sum(1 for task in skill.train for check in task.checks if is_judged(check))
        runs = training.epochs * (training.samples + training.candidates)
        judged = judged * candidates * 2 * repeats + judged_train * runs
    else:
        judged = judged * 2 * repeats
    rollouts += candidates * 2 * repeats * len(skill.gate)
    if gate.mode in {"evidence", "one-night"}:
        rollouts += candidates * 2 * RECHECK_RUNS
    return {"rollout": rollouts, "optimizer": reflections, "judge": judged}


def describe_forecast(forecast: Forecast) -> str:
    """Return the forecast in one line."""
    stop = f"it stops at ${forecast.ceiling_usd:.2f}"
    month = forecast.ceiling_month_usd
    if month and forecast.month_usd + forecast.ceiling_usd > month:
        left = max(month - forecast.month_usd, 0.0)
        stop = f"it stops at ${left:.2f}, which is left of the month's ${month:.2f}"
    stop += ", where prices are known"
    calls = [count(forecast.rollouts, "rollout"), count(forecast.optimizer_calls, "optimizer call")]
    if forecast.judge_calls:
        calls.append(count(forecast.judge_calls, "judge call"))
    said = f"forecast: up to {', '.join(calls)}"
    if forecast.tokens is None or forecast.minutes is None:
        return f"{said}; no call was paid for yet that would tell the cost; {stop}"
    usd = f"${forecast.usd:.2f}" if forecast.usd is not None else "an unknown price"
    return (
        f"{said}; by the calls of late that is up to {usd}, {forecast.tokens:,} tokens and"
        f" {forecast.minutes:.0f} min; {stop}"
    )
