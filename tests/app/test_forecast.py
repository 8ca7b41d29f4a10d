"""What a night may take is told before it begins."""

from __future__ import annotations

import json
import re

import msgspec
import pytest

from skillopt_replay.tasks import Rubric
from skillopt_sleep.night.forecast import describe_forecast, make_forecast
from skillopt_sleep.night.planned import Place, Plan, SkillPlan
from skillopt_sleep.settings import Ceilings, Replay, Settings, Training
from skillopt_sleep.store.typical import Typical
from tests.app.conftest import Sleeper
from tests.app.night_samples import make_tasks

SETTINGS = Settings(
    training=Training(candidates=2, minibatch_size=4), replay=Replay(repeats=3), ceilings=Ceilings(usd=7.0)
)


def make_plan(**changes) -> Plan:
    tasks = make_tasks(14)
    place = Place(scope="project", live="/p/SKILL.md", text="")
    skill = SkillPlan(
        skill="s", title="S", client="claude", place=place, train=tuple(tasks[:6]), gate=tuple(tasks[6:])
    )
    return Plan(skills=(msgspec.structs.replace(skill, **changes),), skipped=(), splits={})


def test_every_kind_of_call_of_the_plan_is_counted():
    forecast = make_forecast(make_plan(), SETTINGS, {}, slots=2)
    # Six train tasks without a skill and with two candidates; eight held-out ones, three runs on both sides;
    # one of them five times more on both.
    assert forecast.rollouts == 6 * 3 + 8 * 2 * 3 + 2 * 5
    # Two candidates, each from two minibatches, merged and ranked.
    assert forecast.optimizer_calls == 2 * (2 + 2)
    assert forecast.judge_calls == 0


def test_what_calls_cost_lately_tells_what_the_night_may_cost():
    typical = {
        "rollout": Typical(calls=9, usd=0.1, tokens=1000.0, seconds=60.0),
        "optimizer": Typical(calls=2, usd=0.5, tokens=100.0, seconds=30.0),
    }
    forecast = make_forecast(make_plan(), SETTINGS, typical, slots=2)
    assert forecast.usd == pytest.approx(76 * 0.1 + 8 * 0.5)
    assert forecast.tokens == 76_800
    assert forecast.minutes == pytest.approx((76 * 60 + 8 * 30) / 60 / 2)
    said = describe_forecast(forecast)
    assert "up to $11.60, 76,800 tokens and 40 min; it stops at $7.00, where prices are known" in said


def test_what_is_left_of_the_month_is_told_where_it_is_less_than_the_night_may_cost():
    settings = msgspec.structs.replace(SETTINGS, ceilings=Ceilings(usd=7.0, usd_month=50.0))
    told = describe_forecast(make_forecast(make_plan(), settings, {}, slots=2, month_usd=43.0))
    assert told.endswith("it stops at $7.00, where prices are known")
    told = describe_forecast(make_forecast(make_plan(), settings, {}, slots=2, month_usd=48.5))
    assert told.endswith("it stops at $1.50, which is left of the month's $50.00, where prices are known")
    settings = msgspec.structs.replace(SETTINGS, ceilings=Ceilings(usd=7.0, usd_month=0))
    told = describe_forecast(make_forecast(make_plan(), settings, {}, slots=2, month_usd=480.0))
    assert told.endswith("it stops at $7.00, where prices are known")


def test_a_price_nobody_knows_is_not_zero():
    typical = {
        "rollout": Typical(calls=9, usd=None, tokens=1000.0, seconds=60.0),
        "optimizer": Typical(calls=2, usd=0.5, tokens=100.0, seconds=30.0),
    }
    forecast = make_forecast(make_plan(), SETTINGS, typical, slots=2)
    assert forecast.usd is None
    assert "an unknown price" in describe_forecast(forecast)


def test_questions_to_a_judge_are_counted_with_its_trial():
    judged = tuple(
        msgspec.structs.replace(task, checks=(Rubric(criterion="be brief"),)) for task in make_tasks(2)
    )
    forecast = make_forecast(make_plan(gate=judged), SETTINGS, {}, slots=2)
    assert forecast.judge_calls == 2 * 2 * 3 + 48


def test_a_dry_run_and_a_night_tell_it(sleeper: Sleeper):
    sleeper.work()
    planned = json.loads(sleeper.sleep("run", "--dry-run", "--json"))["forecast"]
    assert planned["rollouts"] > 0
    assert planned["usd"] is None
    report = sleeper.night()
    assert report["forecast"]["rollouts"] == planned["rollouts"]
    assert report["rollouts"] <= planned["rollouts"]
    text = sleeper.sleep("run", "--dry-run", expect=3)
    assert "forecast" not in text, "nothing is planned, so there is nothing to foretell"


def test_what_was_paid_for_is_what_the_next_forecast_goes_by(sleeper: Sleeper):
    sleeper.work(days=20)
    sleeper.night()
    sleeper.work(first=20, days=16, tests=True, corrected=(23, 29))
    text = sleeper.sleep("run", "--dry-run")
    assert re.search(
        r"forecast: up to \d+ rollouts, \d+ optimizer calls; by the calls of late that is up to", text
    )
