"""A skill against itself: run anew on both sides, through the ledger, and shown beside later verdicts."""

from __future__ import annotations

import json
from collections import Counter

from skillopt_sleep.paths import locate
from skillopt_sleep.store.calibrations import find_calibration
from skillopt_sleep.store.database import connect
from skillopt_sleep.store.nights import last_night
from skillopt_sleep.store.trials import begin_trial, end_trial
from tests.app.conftest import Sleeper
from tests.app.test_night import SKILL
from tests.support.chat_server import RULE, TEST_RULE, ChatModel


def calibrate(sleeper: Sleeper, *options: str, expect: int = 0) -> dict:
    return json.loads(sleeper.sleep("calibrate", "--json", *options, expect=expect))


def waiting(sleeper: Sleeper) -> dict:
    """A first night, after which the tasks have their sides and a candidate waits for evidence."""
    sleeper.work(days=10)
    return sleeper.night()


def sides(sleeper: Sleeper) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for task in json.loads(sleeper.sleep("tasks", "--json")):
        found.setdefault(task["split"], set()).add(task["prompt"])
    return found


def test_before_the_first_night_there_are_no_held_out_tasks_and_it_says_what_to_do(sleeper: Sleeper):
    sleeper.work()
    sleeper.sleep("harvest")
    sleeper.sleep("calibrate", expect=3)


def test_both_sides_run_anew_on_held_out_tasks_alone(sleeper: Sleeper, model: ChatModel):
    night = waiting(sleeper)
    seen = len(model.requests)
    found = calibrate(sleeper, "--repeats", "2")
    asked = Counter(request.user for request in model.requests[seen:])
    held_out = sides(sleeper)["gate"]
    assert set(asked) == held_out
    assert set(asked.values()) == {4}, "two runs a side, none of them taken from the other"
    assert not any(request.has_skill for request in model.requests[seen:]), "nothing is in force yet"
    assert (found["tasks"], found["lost"], found["repeats"]) == (len(held_out), 0, 2)
    assert (found["effect"], found["error"], found["differing"]) == (0.0, 0.0, 0.0)
    assert found["skills"] == [SKILL]
    assert found["accepts"]["share"] == 0.0
    assert found["accepts"]["high"] < 0.01
    connection = connect(locate().database)
    calls = connection.execute("select count(*) from calls where night = ?", (found["id"],)).fetchone()[0]
    assert calls == 4 * len(held_out)
    last = last_night(connection)
    assert last is not None
    assert last.id == night["night"], "a calibration is no night"
    connection.close()


def test_noise_is_measured_and_stands_beside_later_verdicts(sleeper: Sleeper, model: ChatModel):
    waiting(sleeper)
    turns: Counter[str] = Counter()

    def flip(request) -> bool:
        turns[request.user] += 1
        return turns[request.user] % 2 == 0

    model.knows = flip
    told = sleeper.sleep("calibrate")
    assert told.startswith("Calibration calibration-")
    assert "(gate mode: evidence" in told.splitlines()[0]
    for words in ("noise floor", "differ from themselves", "this gate", "higher mean", "100 %"):
        assert words in told.replace("100%", "100 %")
    model.knows = lambda request: False
    sleeper.work(first=10, days=14, corrected=(12,))
    report = sleeper.night()
    (skill,) = report["skills"]
    assert skill["noise"].startswith("noise here: an unchanged skill's mean is off by")
    assert skill["noise"] in (locate().nights / report["night"] / "report.md").read_text()
    (proposal,) = report["proposals"]
    assert "Noise here: an unchanged skill" in sleeper.sleep("review", "--plain")
    shown = json.loads(sleeper.sleep("gate", "explain", proposal, "--json"))
    assert shown["noise"] == skill["noise"]


def test_options_bound_what_is_run(sleeper: Sleeper, model: ChatModel):
    waiting(sleeper)
    seen = len(model.requests)
    found = calibrate(sleeper, "--tasks", "2", "--nights", "3", "--skill", SKILL)
    assert (found["tasks"], found["nights"]) == (2, 3)
    assert len(model.requests) - seen == 4
    sleeper.sleep("calibrate", "--skill", "unheard-of", expect=3)


def test_a_ceiling_ends_it_with_5_and_what_was_measured_counts(sleeper: Sleeper):
    waiting(sleeper)
    sleeper.set(ceilings_calls=5)
    found = calibrate(sleeper, expect=5)
    assert found["tasks"] == 2
    assert "5 calls are used up" in found["stopped"]


def test_runs_that_are_all_lost_say_so_and_store_nothing(sleeper: Sleeper, model: ChatModel):
    waiting(sleeper)
    model.refuses = lambda request: 501
    sleeper.sleep("calibrate", expect=1)
    connection = connect(locate().database)
    assert find_calibration(connection, "any", SKILL) is None
    connection.close()


def test_a_calibration_that_was_cut_off_goes_on_and_another_one_is_new(tmp_path):
    connection = connect(tmp_path / "state.db")
    first = begin_trial(connection, "calibration", ["plan"])
    assert begin_trial(connection, "calibration", ["plan"]) == first
    assert begin_trial(connection, "calibration", ["other plan"]) == f"{first}.2"
    end_trial(connection, first, "calibration", {})
    assert begin_trial(connection, "calibration", ["plan"]) == f"{first}.3"
    assert last_night(connection) is None
    connection.close()


def test_all_skills_are_calibrated_together_and_one_alone_when_asked(sleeper: Sleeper, model: ChatModel):
    sleeper.work(corrected=(3, 7, 11))
    sleeper.work(tests=True)
    model.propose = lambda request: TEST_RULE if "Run all tests" in request.user else RULE
    sleeper.night()
    found = calibrate(sleeper, "--tasks", "3")
    assert sorted(found["skills"]) == [SKILL, "run-tests"]
    assert found["tasks"] == 6
    seen = len(model.requests)
    alone = calibrate(sleeper, "--tasks", "3", "--skill", "run-tests")
    assert alone["skills"] == ["run-tests"]
    assert {request.right for request in model.requests[seen:]} == {"make check"}


def test_a_live_skill_is_what_is_measured_against_itself(sleeper: Sleeper, model: ChatModel):
    sleeper.work()
    (proposal,) = sleeper.night()["proposals"]
    sleeper.sleep("apply", proposal)
    seen = len(model.requests)
    calibrate(sleeper, "--tasks", "2")
    assert all(request.has_skill for request in model.requests[seen:])
