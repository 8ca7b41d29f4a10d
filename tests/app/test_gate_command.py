"""Verdicts explained number by number, sealed tasks opened once, modes named first."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from skillopt_gate.verdicts import MODES, Policy
from skillopt_sleep.paths import locate
from skillopt_sleep.store.family import count_in, note_accepted, read_family
from skillopt_sleep.store.splits import read_splits, save_splits
from tests.app.conftest import Sleeper
from tests.app.test_night import judged
from tests.conftest import git
from tests.support.chat_server import RULE, ChatModel

OTHER_RULE = "Type `uv add` and the name of the package."


def shown(sleeper: Sleeper, name: str) -> dict:
    return json.loads(sleeper.sleep("gate", "explain", name, "--json"))


# --- explain -----------------------------------------------------------------------------------------


def test_a_verdict_is_explained_with_its_evidence_night_by_night(sleeper: Sleeper):
    sleeper.work(days=10)
    first = sleeper.night()
    waiting = shown(sleeper, f"{first['night']}-{first['skills'][0]['skill']}")
    assert [step["name"] for step in waiting["steps"]][:4] == ["mode", "structure", "coverage", "regressions"]
    assert waiting["verdict"]["decision"] == "not enough evidence yet"
    sleeper.work(first=10, days=14, corrected=(12,))
    second = sleeper.night()
    (proposal,) = second["proposals"]
    value = shown(sleeper, proposal)
    assert value["candidate"] == waiting["candidate"]
    assert [one["night"] for one in value["wealth"]] == [first["night"], second["night"]]
    assert [one["wealth"] for one in value["wealth"]] == [
        judged(first)["wealth"],
        judged(second)["wealth"],
    ]
    assert value["needed"] == 20.0
    assert value["wealth"][-1]["wealth"] >= value["needed"]
    assert value["looks"]["gate"] == 2
    assert shown(sleeper, value["candidate"][:8]) == value, "a candidate's id names its last verdict"

    told = sleeper.sleep("gate", "explain", proposal)
    assert "(gate mode: evidence)" in told.splitlines()[0]
    assert "to 1" in told
    assert "· cost: unknown" in told
    assert "· time: unknown" in told
    bars = [line for line in told.splitlines() if line.startswith(f"  {first['night']}")]
    assert len(bars) == 2
    assert "┆" in bars[0]
    assert "╋" in bars[1], "the second night passes the mark"


def test_what_the_gate_never_ruled_on_cannot_be_explained(sleeper: Sleeper):
    sleeper.sleep("gate", "explain", "2020-01-01-nothing", expect=2)
    sleeper.sleep("gate", "explain", "", expect=2)


# --- sealed tasks --------------------------------------------------------------------------------------


def test_sealed_tasks_run_once_at_release_and_never_before(sleeper: Sleeper, model: ChatModel, database):
    sleeper.work()
    report = sleeper.night()
    (proposal,) = report["proposals"]
    listed = json.loads(sleeper.sleep("tasks", "--json"))
    sealed = {task["prompt"] for task in listed if task["split"] == "test"}
    assert sealed
    assert report["skills"][0]["sealed"] == len(sealed)
    assert not sealed & {request.user for request in model.task_requests}
    assert not any(prompt in request.user for prompt in sealed for request in model.optimizer_requests)

    seen = len(model.requests)
    found = json.loads(sleeper.sleep("gate", "release", proposal, "--json"))
    assert {request.user for request in model.requests[seen:]} == sealed
    assert (found["n"], found["wins"], found["effect"], found["looks"]) == (len(sealed), len(sealed), 1.0, 1)
    assert shown(sleeper, proposal)["looks"] == {"gate": 1, "sealed": 1, "sealed_tasks": len(sealed)}

    seen = len(model.requests)
    sleeper.sleep("gate", "release", proposal, expect=4)
    assert len(model.requests) == seen, "a second look raises before anything runs"


def test_new_sealed_tasks_can_be_opened_and_the_spent_ones_stay_shut(sleeper: Sleeper, model: ChatModel):
    sleeper.work()
    (proposal,) = sleeper.night()["proposals"]
    told = sleeper.sleep("gate", "release", proposal)
    assert "(gate mode: evidence)" in told.splitlines()[0]
    spent = {t["prompt"] for t in json.loads(sleeper.sleep("tasks", "--json")) if t["split"] == "test"}
    sleeper.sleep("reject", proposal, "--reason", "not yet")
    model.rules = [OTHER_RULE]
    sleeper.work(first=20, days=20)
    (second,) = sleeper.night()["proposals"]
    seen = len(model.requests)
    sleeper.sleep("gate", "release", second)
    opened = {request.user for request in model.requests[seen:]}
    assert opened
    assert not opened & spent
    seen = len(model.requests)
    sleeper.sleep("gate", "release", second, expect=4)
    assert len(model.requests) == seen, "with nothing new sealed, neither the old nor the new open again"


def test_a_sealed_task_that_vanished_does_not_open_the_others_again(
    sleeper: Sleeper, model: ChatModel, database
):
    sleeper.work()
    (proposal,) = sleeper.night()["proposals"]
    sleeper.sleep("gate", "release", proposal)
    gone = next(name for name, side in read_splits(database).items() if side == "test")
    database.execute("delete from splits where task = ?", (gone,))
    database.commit()
    seen = len(model.requests)
    sleeper.sleep("gate", "release", proposal, expect=4)
    assert len(model.requests) == seen


def test_two_looks_at_once_open_the_sealed_tasks_once(sleeper: Sleeper, model: ChatModel):
    sleeper.work()
    (proposal,) = sleeper.night()["proposals"]
    seen = len(model.requests)
    both = [sleeper.start("gate", "release", proposal, "--json") for _ in range(2)]
    told = [one.communicate(timeout=60) for one in both]
    assert sorted(one.returncode for one in both) in ([0, 4], [0, 75]), told
    asked = [request.key for request in model.requests[seen:]]
    assert asked
    assert len(asked) == len(set(asked)), "no sealed task ran twice with the same skill"


def test_a_look_that_was_killed_goes_on_and_pays_nothing_twice(sleeper: Sleeper, model: ChatModel):
    sleeper.work()
    (proposal,) = sleeper.night()["proposals"]
    seen = len(model.requests)
    held: list[str] = []
    model.hangs = lambda request: len(model.requests) > seen + 2 and not held.append(request.key)
    looking = sleeper.start("gate", "release", proposal)
    assert model.hanging.wait(30)
    os.killpg(looking.pid, signal.SIGKILL)
    looking.communicate()
    model.hangs = lambda request: False
    model.release.set()
    paid = {request.key for request in model.requests[seen:]} - set(held)
    before = len(model.requests)
    found = json.loads(sleeper.sleep("gate", "release", proposal, "--json"))
    assert found["n"] > 0
    assert not paid & {request.key for request in model.requests[before:]}
    sleeper.sleep("gate", "release", proposal, expect=4)


def test_without_sealed_tasks_a_release_says_so(sleeper: Sleeper):
    sleeper.work()
    sleeper.set(gate_sealed_share=0.0)
    (proposal,) = sleeper.night()["proposals"]
    sleeper.sleep("gate", "release", proposal, expect=3)


def test_a_task_moves_only_to_a_side_that_has_seen_more_of_it(database):
    save_splits(database, {"a": "test", "b": "gate", "c": "train", "d": "val"})
    save_splits(database, dict.fromkeys("abcd", "gate"))
    assert read_splits(database) == {"a": "gate", "b": "gate", "c": "train", "d": "val"}
    save_splits(database, dict.fromkeys("abcd", "test"))
    assert read_splits(database) == {"a": "gate", "b": "gate", "c": "train", "d": "val"}


# --- modes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_every_report_names_the_mode_in_its_first_line(sleeper: Sleeper, mode: str):
    sleeper.set(gate_mode=mode)
    sleeper.work()
    report = sleeper.night()
    (proposal,) = report["proposals"]
    text = (locate().nights / report["night"] / "report.md").read_text()
    plain = sleeper.sleep("review", "--plain")
    explained = sleeper.sleep("gate", "explain", proposal)
    status = sleeper.sleep("status")
    printed = sleeper.sleep("run", "--dry-run", expect=3)
    for told in (text, plain, explained, status, printed):
        assert f"gate mode: {mode}" in told.splitlines()[0]
    trailers = git(sleeper.project, "log", "-1", "--format=%(trailers)", f"skillopt/{proposal}")
    assert f"Gate-Mode: {mode}" in trailers.splitlines()
    sleeper.sleep("reject", proposal, "--reason", "not now")
    nothing = sleeper.sleep("review", "--plain", expect=3)
    assert f"gate mode: {mode}" in nothing.splitlines()[0]
    holds = "no guarantee" in text
    assert holds == (mode not in {"evidence", "one-night"})
    assert "What holds:" in plain


def test_modes_of_means_accept_what_evidence_would_have_wait(sleeper: Sleeper, model: ChatModel):
    sleeper.set(gate_mode="strict")
    sleeper.work(days=10)
    report = sleeper.night()
    assert judged(report)["decision"] == "accept"
    assert "which luck does too" in judged(report)["reason"]


# --- several candidates, and all of a year -------------------------------------------------------------


def propose_in_turn(model: ChatModel):
    """Propose one rule to the first variant, which is asked without chance, and another to the second."""
    model.propose = lambda request: RULE if request.body["temperature"] == 0 else OTHER_RULE


def test_candidates_of_one_night_share_alpha_and_the_best_is_staged(
    sleeper: Sleeper, model: ChatModel, database
):
    propose_in_turn(model)
    sleeper.set(gate_candidates=2, gate_tasks=20)
    sleeper.work(days=30)
    report = sleeper.night()
    rulings = database.execute("select count(*) from rulings").fetchone()[0]
    assert rulings == 2
    assert len(report["proposals"]) == 1
    assert judged(report)["level"] == Policy().alpha / 2
    assert judged(report)["wealth"] >= 40
    assert "also judged:" in report["skills"][0]["note"]
    states = sorted(row["state"] for row in database.execute("select state from candidates"))
    assert states == ["accepted", "passed over"]
    assert "2 candidates shared alpha" in sleeper.sleep("gate", "explain", report["proposals"][0])


def test_val_tasks_choose_among_candidates_and_judge_none(sleeper: Sleeper, model: ChatModel, database):
    propose_in_turn(model)
    sleeper.set(gate_val_share=0.2)
    sleeper.work(days=30)
    report = sleeper.night()
    splits = read_splits(database)
    assert "val" in splits.values()
    assert len(report["proposals"]) == 1
    listed = {t["id"]: t["prompt"] for t in json.loads(sleeper.sleep("tasks", "--json"))}
    val = {listed[name] for name, side in splits.items() if side == "val" and name in listed}
    ran = {request.user for request in model.task_requests}
    assert val & ran
    assert not any(request.has_skill is False for request in model.task_requests if request.user in val)


def test_under_family_control_one_of_many_needs_more_evidence(sleeper: Sleeper, database):
    sleeper.set(gate_control="family", gate_tasks=20)
    sleeper.work(days=30)
    report = sleeper.night()
    verdict = judged(report)
    assert verdict["level"] == pytest.approx(0.1 / 32)
    text = (locate().nights / report["night"] / "report.md").read_text()
    assert "counted in blocks of 32" in text
    family = read_family(database)
    assert family.started == 1
    if verdict["decision"] == "accept":
        assert "of 32 candidates in a row" in verdict["guarantee"]
        assert family.accepted == (1,)


def test_places_in_the_family_last_and_a_restart_is_a_test_of_its_own(database):
    assert [count_in(database, name, "m1") for name in "aba"] == [1, 2, 1]
    assert count_in(database, "a", "m2") == 3
    note_accepted(database, 2)
    family = read_family(database)
    assert (family.started, family.accepted) == (3, (2,))


def test_an_accepted_proposal_says_which_guarantee_holds(sleeper: Sleeper):
    sleeper.work()
    report = sleeper.night()
    guarantee = judged(report)["guarantee"]
    assert "each on its own" in guarantee
    assert "as one of many" in guarantee
    assert guarantee in (locate().nights / report["night"] / "report.md").read_text()
    (proposal,) = json.loads(sleeper.sleep("review", "--json"))["proposals"]
    assert proposal["guarantee"] == guarantee


def test_the_pictures_of_the_documents_are_drawn_from_what_waits_for_review(sleeper: Sleeper, tmp_path: Path):
    script = Path(__file__).parents[2] / "benchmarks" / "draw_review.py"
    command = [sys.executable, str(script), "--to", str(tmp_path)]
    nothing = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "run the demo first" in nothing.stderr
    sleeper.work()
    sleeper.night()
    subprocess.run(command, check=True, capture_output=True)
    drawn = [(tmp_path / name).read_text() for name in ("review.svg", "evidence.svg")]
    assert all("gate&#160;mode:&#160;evidence" in picture for picture in drawn)
    assert "looks" in drawn[1]
