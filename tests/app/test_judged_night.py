"""Nights on what no code can check: the judge is tried first, and decides only when it passed."""

from __future__ import annotations

import json

import pytest

from skillopt_replay.judging.judge import Undecided
from skillopt_replay.judging.work import Work
from skillopt_replay.rollouts import Fault
from skillopt_sleep.events import ignore
from skillopt_sleep.night.judging import Sample, admit
from skillopt_sleep.store.judges import find_judge
from tests.app.conftest import Sleeper
from tests.support.chat_server import ChatModel
from tests.support.transcripts import PACKAGES, write_session

RULE = "Write a release note as bullets instead of prose."


@pytest.fixture
def writer(sleeper: Sleeper, model: ChatModel) -> Sleeper:
    """Somebody who asked for release notes on many days, and minded the form of some."""
    folder = sleeper.projects / str(sleeper.project).replace("/", "-")
    for day, package in enumerate(PACKAGES[:24]):
        turns = [(f"Write the release note of {package}", f"{package} is faster now, and safer.")]
        if day % 2:
            turns.append(("No, bullets instead of prose", f"bullets {package}"))
        write_session(folder, f"note {package}", turns, cwd=sleeper.project, day=day)
    model.rules = [RULE]
    sleeper.set(judge_model=model.spec)
    return sleeper


def judge_soundly(answer: str) -> float:
    return 1.0 if "bullets" in answer else 0.0


def test_without_a_judge_such_tasks_are_left_alone_and_the_reason_is_told(writer: Sleeper, model: ChatModel):
    writer.set(judge_model="")
    report = writer.night(expect=3)
    assert "only a model could judge its results, and none is set (judge.model)" in str(report["skipped"])
    assert model.requests == []
    assert "; only a model could judge these, and none is set (judge.model)" in writer.sleep("tasks")
    writer.set(judge_model=model.spec)
    assert "judge.model" not in writer.sleep("tasks")


def test_a_sound_judge_lets_a_night_learn_what_no_code_can_check(writer: Sleeper, model: ChatModel, database):
    model.judge = judge_soundly
    report = writer.night()
    (verdict,) = report["verdicts"]
    assert (verdict["decision"], verdict["losses"]) == ("accept", 0)
    assert report["judge"].startswith("openai:")
    tried = [r for r in model.judge_requests if "is faster now" in r.user]
    assert tried, "it was tried on recorded work"
    assert all("a thought of the judge" not in request.key for request in model.optimizer_requests)
    kinds = database.execute(
        "select kind, count(*) n from calls where state = 'done' group by kind"
    ).fetchall()
    counts = {row["kind"]: row["n"] for row in kinds}
    assert counts["judge"] == len(model.judge_requests)


@pytest.mark.parametrize(
    ("grade", "reason"),
    [
        (lambda answer: 1.0, "empty answers|constant answers|told good from bad|no known good"),
        (lambda answer: 0.0, "no known good|told good from bad"),
        (
            lambda answer: 1.0 if "requirement fully" in answer else judge_soundly(answer),
            "flattering answers",
        ),
        (lambda answer: 1.0 if "all tests pass" in answer else judge_soundly(answer), "constant answers"),
        (lambda answer: 1.0 - judge_soundly(answer), "told good from bad in 0"),
    ],
    ids=["likes everything", "likes nothing", "is flattered", "takes anything for done", "is upside down"],
)
def test_an_unfit_judge_decides_nothing(writer: Sleeper, model: ChatModel, grade, reason: str):
    model.judge = grade
    report = writer.night()
    said = " ".join(report["notes"])
    assert "is not fit to judge" in said
    assert any(part in said for part in reason.split("|")), said
    assert not report["proposals"]
    assert not model.task_requests, "nothing was run that nobody could have judged"


def test_a_judge_is_tried_once_and_not_every_night(writer: Sleeper, model: ChatModel):
    model.judge = judge_soundly
    model.obeys = lambda request: False
    writer.night()
    tried = [request for request in model.judge_requests if "is faster now" in request.user]
    writer.night(expect=0)
    again = [request for request in model.judge_requests if "is faster now" in request.user]
    assert len(again) == len(tried)


class Silent:
    """A judge that decides nothing."""

    identity = "silent"

    def __init__(self, fault: Fault) -> None:
        self._fault = fault

    async def rate(self, *_: object) -> float:
        raise Undecided("HTTP 503", self._fault)

    compare = rate


async def test_a_judge_whose_service_was_down_has_not_failed_and_is_tried_the_next_time(database):
    samples = [
        Sample(task=str(n), prompt="p", criterion="c", good=Work(answer="a"), bad=Work(answer="b"))
        for n in range(8)
    ]
    said = await admit(database, Silent(Fault.OVERLOAD), samples, ignore)
    assert said == "silent could not be tried on your past work: HTTP 503"
    assert find_judge(database, "silent") is None
    said = await admit(database, Silent(Fault.REPLY), samples, ignore)
    assert "is not fit to judge" in said
    assert find_judge(database, "silent") is not None


def test_how_a_judge_did_can_be_looked_at(writer: Sleeper, model: ChatModel):
    assert json.loads(writer.sleep("gate", "judges", "--json", expect=3)) == []
    writer.sleep("gate", "judges", expect=3)
    model.judge = judge_soundly
    writer.night()
    (judge,) = json.loads(writer.sleep("gate", "judges", "--json"))
    assert (judge["report"]["usable"], judge["samples"]) == (True, 8)
    text = writer.sleep("gate", "judges")
    assert "may judge" in text
    assert "told apart in 8, mixed up in 0, even in 0" in text


def test_why_a_judge_may_not_count_can_be_looked_at(writer: Sleeper, model: ChatModel):
    model.judge = lambda answer: 1.0
    writer.night()
    text = writer.sleep("gate", "judges")
    assert "may not judge" in text
    assert "why not" in text
