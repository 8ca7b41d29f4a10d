"""Whole nights through the real command: a scripted model, real transcripts, real repositories."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from skillopt_replay.models.catalogue import ENTRIES
from skillopt_replay.rollouts import Rollout
from skillopt_sleep.config import set_value
from skillopt_sleep.paths import locate
from skillopt_sleep.store.candidates import read_rejected_edits
from skillopt_sleep.store.nights import last_night
from skillopt_sleep.store.proposals import read_proposals
from tests.app.conftest import Sleeper, photograph
from tests.conftest import git
from tests.replay.models.test_openai_compatible import find_free_port
from tests.support.chat_server import RULE, TEST_RULE, ChatModel
from tests.support.transcripts import PACKAGES

SKILL = "add-package-project"
LIVE = Path(".claude", "skills", SKILL, "SKILL.md")
MADE_BY_HAND = (
    f"---\nname: {SKILL}\ndescription: Use when a package is added.\n---\n\n# Packages\n\n- Be brief.\n"
)


def judged(report: dict) -> dict:
    (verdict,) = report["verdicts"]
    return verdict


# --- what becomes of a candidate -----------------------------------------------------------------


def test_what_helps_is_staged_in_the_projects_repository_and_nothing_of_the_users_changes(
    sleeper: Sleeper, model: ChatModel
):
    sleeper.work()
    before = photograph(sleeper.project)
    report = sleeper.night()
    assert photograph(sleeper.project) == before
    assert (report["state"], judged(report)["decision"], judged(report)["losses"]) == ("done", "accept", 0)
    (proposal,) = report["proposals"]
    branch = f"skillopt/{proposal}"
    assert RULE in git(sleeper.project, "show", f"{branch}:{LIVE}")
    assert git(sleeper.project, "rev-list", "--count", f"main..{branch}") == "1"
    assert not (sleeper.project / LIVE).exists()
    asked = {request.package for request in model.task_requests} - {""}
    assert asked <= set(PACKAGES[:20])
    unskilled = {r.package for r in model.task_requests if not r.has_skill}
    skilled = {r.package for r in model.task_requests if r.has_skill}
    assert skilled == unskilled, "both sides ran on the same tasks"


def test_the_report_lies_in_the_nights_folder_in_both_forms(sleeper: Sleeper):
    sleeper.work()
    report = sleeper.night()
    folder = locate().nights / report["night"]
    assert json.loads((folder / "report.json").read_text()) == report
    text = (folder / "report.md").read_text()
    assert judged(report)["reason"] in text
    assert report["proposals"][0] in text
    assert text.startswith("# Night ")
    page = (folder / "report.html").read_text()
    assert page.startswith("<!doctype html>")
    assert report["proposals"][0] in page
    assert report["next_steps"] == ["1 proposal waits for you: `skillopt-sleep review`."]


@pytest.mark.parametrize("gone", [True, False])
def test_without_a_repository_the_skill_is_the_users_and_waits_in_the_vault(
    sleeper: Sleeper, database, gone: bool
):
    sleeper.work()
    shutil.rmtree(sleeper.project if gone else sleeper.project / ".git")
    sleeper.night()
    (proposal,) = read_proposals(database)
    live = sleeper.home / ".claude" / "skills" / SKILL / "SKILL.md"
    assert (proposal.scope, proposal.staged.live) == ("user", str(live))
    assert proposal.staged.repository == str(locate().vault)
    assert RULE in git(locate().vault, "show", f"{proposal.staged.branch}:{proposal.staged.path}")
    assert not live.exists()


def work_in_two_projects(sleeper: Sleeper, other: Path, **days: int) -> None:
    shutil.copytree(sleeper.project, other)
    sleeper.work(**days)
    Sleeper(sleeper.home, other, sleeper.model).work(first=days["days"], corrected=(15, 25), **days)


def test_asks_from_two_projects_stay_apart_whatever_was_said_in_the_other(
    sleeper: Sleeper, database, tmp_path: Path
):
    work_in_two_projects(sleeper, tmp_path / "other", days=14)
    report = sleeper.night()
    assert [skill["skill"] for skill in report["skills"]] == [SKILL, f"{SKILL}-other"]
    here, there = sorted(read_proposals(database), key=lambda proposal: len(proposal.skill))
    assert (here.scope, here.staged.repository) == ("project", str(sleeper.project))
    assert (there.scope, there.staged.repository) == ("project", str(tmp_path / "other"))
    assert here.note.usage.tokens == there.note.usage.tokens == report["tokens"] / 2
    told = json.loads(sleeper.sleep("tasks", "--json"))
    sessions = {task["root"]: set() for task in told}
    for task in told:
        sessions[task["root"]] |= {check["origin"]["session"] for check in task["checks"]}
    assert set(sessions) == {str(sleeper.project), str(tmp_path / "other")}
    assert not set.intersection(*sessions.values())


def test_asks_from_two_projects_make_a_skill_of_the_users_when_told_so(
    sleeper: Sleeper, database, tmp_path: Path
):
    work_in_two_projects(sleeper, tmp_path / "other", days=10)
    sleeper.set(mine_across_projects="true")
    sleeper.night()
    (proposal,) = read_proposals(database)
    assert proposal.scope == "user"


def test_a_worktree_and_a_subfolder_are_the_same_project(sleeper: Sleeper, database, tmp_path: Path):
    worktree = tmp_path / "hotfix"
    git(sleeper.project, "worktree", "add", "-q", "--detach", str(worktree))
    (sleeper.project / "docs").mkdir()
    sleeper.work(days=8)
    Sleeper(sleeper.home, worktree, sleeper.model).work(first=8, days=6)
    Sleeper(sleeper.home, sleeper.project / "docs", sleeper.model).work(first=14, days=6)
    report = sleeper.night()
    assert [skill["skill"] for skill in report["skills"]] == [SKILL]
    (proposal,) = read_proposals(database)
    assert (proposal.scope, proposal.staged.repository) == ("project", str(sleeper.project))


def test_a_skill_of_the_users_that_fits_is_taught_where_it_is(sleeper: Sleeper, database):
    live = sleeper.home / ".claude" / "skills" / "add-packages" / "SKILL.md"
    live.parent.mkdir(parents=True)
    text = MADE_BY_HAND.replace(SKILL, "add-packages").replace(
        "a package is added", "adding packages to a project"
    )
    live.write_text(text)
    sleeper.work()
    sleeper.sleep("harvest")
    told = json.loads(sleeper.sleep("tasks", "--json"))
    assert {(task["skill"], task["skill_origin"]) for task in told} == {("add-packages", "fits")}
    sleeper.night()
    (proposal,) = read_proposals(database)
    assert (proposal.scope, proposal.staged.live, proposal.base_text) == ("user", str(live), text)


def test_a_repository_that_was_moved_away_teaches_no_skill_of_the_users(
    sleeper: Sleeper, model: ChatModel, database
):
    sleeper.work()
    sleeper.sleep("harvest")
    sleeper.sleep("tasks")
    sleeper.project.rename(sleeper.project.with_name("moved"))
    report = sleeper.night(expect=3)
    (left,) = report["skipped"]
    assert "is not there any more" in left["reason"]
    assert (model.requests, read_proposals(database)) == ([], [])


def test_what_helps_only_on_tasks_it_was_learned_from_is_not_staged(sleeper: Sleeper, model: ChatModel):
    sleeper.work()
    refs = git(sleeper.project, "for-each-ref")
    model.obeys = model.is_training
    report = sleeper.night()
    assert report["skills"][0]["train_after"] == 1.0
    assert judged(report)["decision"] != "accept"
    assert judged(report)["effect"] == 0.0
    assert report["proposals"] == []
    assert git(sleeper.project, "for-each-ref") == refs


def test_what_breaks_one_task_is_turned_down_and_the_next_night_is_told(
    sleeper: Sleeper, model: ChatModel, database
):
    sleeper.work()
    victim: list[str] = []

    def is_victim(request) -> bool:
        if not victim and request.package not in model.trained_on:
            victim.append(request.package)
        return request.package in victim

    model.knows = lambda request: bool(model.optimizer_requests) and is_victim(request)
    model.obeys = lambda request: not is_victim(request)
    report = sleeper.night()
    verdict = judged(report)
    assert verdict["decision"] == "reject"
    assert len(verdict["broken"]) == 1
    assert report["proposals"] == []
    rechecks = Counter((r.package, r.has_skill) for r in model.task_requests)
    assert rechecks[victim[0], True] > 1, "it was run again before it vetoed"
    assert [r.content for r in read_rejected_edits(database, str(sleeper.project / LIVE))] == [RULE]

    asked = len(model.optimizer_requests)
    model.rules = ["Type `uv add` and the name of the package."]
    again = sleeper.night()
    assert again["night"] != report["night"]
    told = model.optimizer_requests[asked].user
    assert f'"{RULE}" was turned down: {verdict["reason"]}' in told


def test_a_candidate_waits_for_evidence_and_goes_on_with_fresh_tasks_without_the_optimizer(
    sleeper: Sleeper, model: ChatModel
):
    sleeper.work(days=10)
    first = sleeper.night()
    assert judged(first)["decision"] == "not enough evidence yet"
    assert first["proposals"] == []
    assert judged(first)["wins"] == judged(first)["n"] < 7

    waiting = sleeper.night(expect=3)
    assert "it has not been measured on" in waiting["skipped"][0]["reason"]

    asked = len(model.optimizer_requests)
    known = {request.package for request in model.requests}
    sleeper.work(first=10, days=14, corrected=(12,))
    seen = len(model.requests)
    second = sleeper.night()
    verdict = judged(second)
    assert len(model.optimizer_requests) == asked
    assert verdict["decision"] == "accept"
    assert verdict["nights"] == 2
    assert verdict["n_all"] == verdict["n"] + judged(first)["n"]
    assert verdict["wealth"] > judged(first)["wealth"]
    assert not known & {r.package for r in model.requests[seen:] if r.has_skill}, "each task counts once"
    assert len(second["proposals"]) == 1


def test_a_candidate_is_outdated_once_the_user_has_changed_the_skill(
    sleeper: Sleeper, model: ChatModel, database
):
    live = sleeper.project / LIVE
    live.parent.mkdir(parents=True)
    live.write_text(MADE_BY_HAND)
    sleeper.work(days=10)
    assert judged(sleeper.night())["decision"] == "not enough evidence yet"
    live.write_text(MADE_BY_HAND.replace("Be brief", "Be very brief"))
    asked = len(model.optimizer_requests)
    again = sleeper.night()
    assert len(model.optimizer_requests) > asked, "a new candidate was trained on what is live now"
    assert "Be very brief" in model.optimizer_requests[-1].user
    assert judged(again)["nights"] == 1, "and starts without evidence"
    states = Counter(row["state"] for row in database.execute("select state from candidates"))
    assert states == {"outdated": 1, "waiting": 1}


def test_an_open_proposal_keeps_its_skill_from_being_worked_on(sleeper: Sleeper, model: ChatModel):
    sleeper.work()
    (proposal,) = sleeper.night()["proposals"]
    seen = len(model.requests)
    report = sleeper.night(expect=3)
    assert [s["reason"] for s in report["skipped"]] == ["its last proposal waits for your review"]
    assert len(model.requests) == seen
    sleeper.sleep("apply", proposal)
    again = sleeper.night()
    assert again["skills"][0]["note"].startswith("nothing to learn"), "the live skill is the incumbent now"
    assert all(r.has_skill for r in model.requests[seen:])


# --- when there is nothing to do, or no more to spend --------------------------------------------


def test_a_night_without_anything_that_recurs_ends_with_3_and_asks_no_model(
    sleeper: Sleeper, model: ChatModel
):
    sleeper.work(days=1, corrected=())
    report = sleeper.night(expect=3)
    assert (report["state"], report["night"], report["skills"]) == ("nothing", "", [])
    assert model.requests == []


def test_a_dry_run_says_when_the_agent_that_is_named_is_not_there(sleeper: Sleeper):
    sleeper.work()
    sleeper.set(target_agent="command")
    why, *what_to_do = sleeper.night("--dry-run")["notes"]
    assert why.startswith("no night could begin now: no command is named as the agent")
    assert any("target.command" in note for note in what_to_do)


def test_a_dry_run_names_who_would_work(sleeper: Sleeper, model: ChatModel):
    sleeper.work()
    sleeper.set(optimizer_model="anthropic:claude-x", judge_model="ollama:j")
    report = sleeper.night("--dry-run")
    assert report["target"] == f"chat, model {model.spec}"
    assert (report["optimizer"], report["judge"]) == ("anthropic:claude-x", "ollama:j")
    trouble = next(note for note in report["notes"] if note.startswith("no night could begin now: "))
    assert "ANTHROPIC_API_KEY" in trouble
    text = sleeper.sleep("run", "--dry-run")
    assert f"- target: chat, model {model.spec}\n- optimizer: anthropic:claude-x\n- judge: ollama:j\n" in text
    sleeper.set(target_agent="command", target_command='["my-agent", "--fast"]', target_model="m1")
    assert sleeper.night("--dry-run")["target"] == "my-agent --fast, model m1"


def test_a_dry_run_says_what_a_night_would_fetch_first(sleeper: Sleeper):
    sleeper.work()
    sleeper.set(target_model="", optimizer_model="local:qwen2.5-coder-0.5b")
    first = [note for note in sleeper.night("--dry-run")["notes"] if "fetch" in note]
    assert first == [
        "the model qwen2.5-coder-1.5b is not here yet: a night would fetch 1.1 GB first",
        "the model qwen2.5-coder-0.5b is not here yet: a night would fetch 0.5 GB first",
    ]
    locate().models.mkdir(parents=True)
    for entry in ENTRIES:
        (locate().models / entry.file).touch()
    assert not [note for note in sleeper.night("--dry-run")["notes"] if "fetch" in note]


def test_a_dry_run_asks_no_model_and_leaves_no_trace_but_the_index(
    sleeper: Sleeper, model: ChatModel, database
):
    sleeper.work()
    before = photograph(sleeper.project), git(sleeper.project, "for-each-ref")
    report = sleeper.night("--dry-run")
    assert report["state"] == "planned"
    assert "would learn from" in report["skills"][0]["note"]
    assert model.requests == []
    assert (photograph(sleeper.project), git(sleeper.project, "for-each-ref")) == before
    for table in ("nights", "calls", "splits", "proposals", "candidates"):
        assert database.execute(f"select count(*) from {table}").fetchone()[0] == 0
    assert sleeper.night()["state"] == "done", "nor is the real night any different for it"


def test_a_ceiling_in_training_stops_the_night_with_5(sleeper: Sleeper, model: ChatModel, database):
    sleeper.work()
    sleeper.set(ceilings_calls=5)
    report = sleeper.night(expect=5)
    assert report["state"] == "stopped"
    assert any("5 calls are used up" in note for note in report["notes"])
    assert len(model.requests) == 5
    night = last_night(database)
    assert night
    assert night.state == "stopped"


def test_what_was_measured_before_a_ceiling_is_kept_as_evidence(sleeper: Sleeper, model: ChatModel):
    sleeper.work()
    planned = sleeper.night("--dry-run")["skills"][0]["note"]
    train = int(re.findall(r"\d+", planned)[0])
    # Each train task runs without and with the candidate; two variants reflect on batches of four.
    training = 2 * train + 2 * -(-train // 4)
    sleeper.set(ceilings_calls=training + 12)
    report = sleeper.night(expect=5)
    assert judged(report)["decision"] == "not enough evidence yet"
    assert judged(report)["n"] == 6
    asked = len(model.optimizer_requests)
    sleeper.set(ceilings_calls=400)
    again = sleeper.night()
    assert judged(again)["decision"] == "accept"
    assert judged(again)["n_all"] == 6 + judged(again)["n"]
    assert len(model.optimizer_requests) == asked


def test_a_price_that_is_not_known_cannot_pass_the_ceiling_of_tokens(sleeper: Sleeper, model: ChatModel):
    sleeper.work()
    sleeper.set(ceilings_tokens=5_000)
    report = sleeper.night(expect=5)
    assert report["tokens"] <= 5_000
    assert report["state"] == "stopped"


def test_lost_runs_are_missing_data_and_not_failures(sleeper: Sleeper, model: ChatModel):
    sleeper.work()
    lost: list[str] = []

    def refuse(request) -> int:
        held_out = request.has_skill and not model.is_training(request)
        if held_out and request.package not in lost and len(lost) < 2:
            lost.append(request.package)
        return 501 if held_out and request.package in lost else 0

    model.refuses = refuse
    report = sleeper.night()
    verdict = judged(report)
    assert verdict["decision"] == "accept"
    assert verdict["losses"] == 0
    assert verdict["broken"] == []
    assert (len(verdict["missing"]), verdict["n"]) == (2, 7), "and it ends once the evidence suffices"


def test_a_server_that_refuses_everything_learns_nothing_and_says_why(sleeper: Sleeper, model: ChatModel):
    sleeper.work()
    model.refuses = lambda r: 501
    report = sleeper.night(expect=1)
    assert (report["state"], report["verdicts"]) == ("failed", [])
    assert "the infrastructure failed" in report["skills"][0]["note"]
    assert "HTTP 501" in report["skills"][0]["note"]


def test_a_price_in_the_settings_makes_the_ceiling_in_dollars_hold(sleeper: Sleeper, model: ChatModel):
    sleeper.work()
    sleeper.set(ceilings_usd=0.7, replay_concurrency=1)
    set_value(locate().config, "prices.scripted", "[100.0, 200.0]")
    report = sleeper.night(expect=5)
    assert report["state"] == "stopped"
    assert 0 < report["cost_usd"] <= 0.7
    assert not any("not known" in note for note in report["notes"])
    assert any("of $0.70 are spent" in note for note in report["notes"])


# --- when a service refuses for good --------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "error", "who", "said"),
    [
        (401, {"message": "Incorrect API key"}, "task", "the target is refused (sign-in): HTTP 401"),
        (404, {"message": "no such model", "code": "model_not_found"}, "task", "target.model"),
        (
            429,
            {"message": "no quota", "code": "insufficient_quota"},
            "optimizer",
            "the optimizer is refused (money)",
        ),
    ],
)
def test_the_first_lasting_refusal_ends_the_night_and_the_next_run_goes_on_with_it(
    sleeper: Sleeper, model: ChatModel, database, status: int, error: dict, who: str, said: str
):
    sleeper.work()
    model.refusal = error
    wanted = model.optimizer_requests if who == "optimizer" else model.task_requests
    limit = 0 if who == "optimizer" else 4
    model.refuses = lambda request: (
        status
        if request.is_optimizer is (who == "optimizer") and len(getattr(model, f"{who}_requests")) > limit
        else 0
    )
    assert wanted == []
    done = sleeper.start("run", "--json")
    _, told = done.communicate(timeout=120)
    assert done.returncode == 1, told
    assert said in told
    assert "hint: " in told
    assert "goes on with this night" in told
    assert "Traceback" not in told
    night = last_night(database)
    assert night.state == "running"
    refused = getattr(model, f"{who}_requests")[limit:]
    assert 1 <= len(refused) <= 2, "only what was under way when the first was refused"

    paid = [request.key for request in model.requests if request not in refused]
    model.refuses = lambda request: 0
    report = sleeper.night()
    assert (report["night"], report["state"]) == (night.id, "done")
    assert len(report["proposals"]) == 1
    asked = Counter(request.key for request in model.requests)
    once = {key for key, times in Counter(paid).items() if times == 1}
    again = [key for key in once if asked[key] > 1 and key not in {r.key for r in refused}]
    assert again == [], "what was answered is not asked again"


def test_a_night_whose_server_on_this_machine_was_never_started_ends_at_once_and_goes_on_later(
    sleeper: Sleeper, model: ChatModel, database
):
    sleeper.work()
    port = find_free_port()
    sleeper.set(target_model=f"vllm:http://127.0.0.1:{port}/v1#m", optimizer_model=model.spec)
    done = sleeper.start("run", "--json")
    _, told = done.communicate(timeout=30)
    assert done.returncode == 1, told
    assert f"the target cannot be reached: 127.0.0.1:{port}" in told
    assert f"is a server running at http://127.0.0.1:{port}/v1?" in told
    assert "hint: start the server; then" in told
    assert "goes on with this night" in told
    assert last_night(database).state == "running"


def test_an_agent_that_is_updated_during_a_night_ends_it_and_the_next_run_goes_on_with_the_new_one(
    sleeper: Sleeper, model: ChatModel, database, tmp_path: Path
):
    sleeper.work()
    agent, runs = tmp_path / "my-agent", tmp_path / "runs.txt"
    # Its third run updates it.
    agent.write_text(
        f'#!/bin/sh\necho run >> {runs}\n[ $(wc -l < {runs}) -ne 3 ] || echo "# newer" >> "$0"\necho done\n'
    )
    agent.chmod(0o755)
    sleeper.set(target_agent="command", replay_sandbox="none", replay_concurrency=1)
    sleeper.set(target_command=f'["{agent}"]', optimizer_model=model.spec)
    done = sleeper.start("run", "--json")
    _, told = done.communicate(timeout=120)
    assert done.returncode == 1, told
    assert f"the target is refused (replaced): {agent} was replaced or removed" in told
    assert "goes on with this night and the program that is there now" in told
    assert runs.read_text() == "run\n" * 3
    night = last_night(database)
    assert night.state == "running"
    report = sleeper.night()
    assert (report["night"], report["state"]) == (night.id, "done")
    agents = {
        msgspec.msgpack.decode(row["result"], type=Rollout).agent
        for row in database.execute("select result from calls where kind = 'rollout' and state = 'done'")
    }
    assert len(agents) == 2, "each run counts for the version that made it"


# --- when it is interrupted ----------------------------------------------------------------------


def in_the_gate(model: ChatModel):
    return lambda r: r.has_skill and bool(model.optimizer_requests) and r.package not in model.trained_on


def in_the_race(model: ChatModel):
    return lambda r: r.has_skill and model.is_training(r)


def in_the_optimizer(model: ChatModel):
    return lambda r: r.is_optimizer and len(model.optimizer_requests) > 1


@pytest.fixture
def undisturbed(sleeper: Sleeper, model: ChatModel) -> dict:
    """What the night comes to when nothing happens; then everything is as it was before it."""
    sleeper.work()
    report = sleeper.night()
    for name in report["proposals"]:
        sleeper.sleep("reject", name, "--reason", "to try again")
    for path in locate().data.glob("state.db*"):
        path.unlink()
    model.requests.clear()
    model.answered.clear()
    model.trained_on.clear()
    return report


def outcome(report: dict) -> dict:
    changing = {"seconds", "tokens", "cost_usd"}
    return {key: value for key, value in report.items() if key not in changing}


def settle(model: ChatModel, database) -> Counter[str]:
    """Wait until every answer the model gave is written down; return the requests it answered."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        answered = Counter(model.answered)
        rows = database.execute("select count(*) from calls where state = 'done'").fetchone()
        if answered and rows[0] == sum(answered.values()):
            time.sleep(0.05)
            if Counter(model.answered) == answered:
                return answered
        time.sleep(0.02)
    raise AssertionError("the night never settled")


@pytest.mark.parametrize(
    ("how", "when"),
    [
        (signal.SIGKILL, in_the_optimizer),
        (signal.SIGKILL, in_the_race),
        (signal.SIGKILL, in_the_gate),
        (signal.SIGINT, in_the_optimizer),
        (signal.SIGTERM, in_the_gate),
        (signal.SIGHUP, in_the_gate),
    ],
)
def test_a_night_that_was_cut_off_goes_on_and_pays_nothing_twice(
    undisturbed: dict, sleeper: Sleeper, model: ChatModel, database, when, how
):
    model.hangs = when(model)
    child = sleeper.start("run", "--json")
    try:
        assert model.hanging.wait(30), "the night never came so far"
        finished = settle(model, database)
        os.killpg(child.pid, how)
        out, err = child.communicate(timeout=30)
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
    if how != signal.SIGKILL:
        assert child.returncode == 130, err
        assert "what was finished is kept" in err
        assert "Traceback" not in err
    assert out == ""
    night = last_night(database)
    assert night
    assert night.state == "running"
    assert "interrupted: the next run goes on with it" in sleeper.sleep("status")

    cut_at = len(model.requests)
    model.hangs = lambda request: False
    model.release.set()
    report = sleeper.night()
    assert outcome(report) == outcome(undisturbed)
    repeated = Counter(r.key for r in model.requests[cut_at:])
    assert finished
    assert not set(finished) & set(repeated), "a call that was finished was made again"
    assert report["tokens"] >= undisturbed["tokens"], "what was lost is counted"
    [(worked,)] = [tuple(row) for row in database.execute("select worked from nights")]
    assert report["seconds"] == pytest.approx(worked, abs=0.5), "and so is the time before"
    assert database.execute("select count(*) from nights").fetchone()[0] == 1


def test_a_night_that_was_cut_off_keeps_to_its_plan_whatever_came_since(
    undisturbed: dict, sleeper: Sleeper, model: ChatModel
):
    model.hangs = in_the_gate(model)
    child = sleeper.start("run")
    assert model.hanging.wait(30)
    os.killpg(child.pid, signal.SIGKILL)
    child.communicate()
    model.hangs = lambda request: False
    model.release.set()
    sleeper.work(first=20, days=10)
    assert outcome(sleeper.night()) == outcome(undisturbed)


def propose_for_each(request) -> str:
    return TEST_RULE if "Run all tests" in request.user else RULE


@pytest.fixture
def two_kinds(sleeper: Sleeper, model: ChatModel) -> Sleeper:
    """Somebody with two kinds of asks; the night comes to the packages first."""
    sleeper.work(corrected=(3, 7, 11))
    sleeper.work(tests=True)
    model.propose = propose_for_each
    return sleeper


def cut_off_in_the_second_skill(sleeper: Sleeper, model: ChatModel, database) -> None:
    model.hangs = lambda r: r.has_skill and r.right == "make check"
    child = sleeper.start("run")
    assert model.hanging.wait(30)
    settle(model, database)
    os.killpg(child.pid, signal.SIGKILL)
    child.communicate()
    model.hangs = lambda request: False
    model.release.set()


def test_a_skill_turned_down_before_the_night_was_cut_off_is_not_worked_on_anew(
    two_kinds: Sleeper, model: ChatModel, database
):
    def break_one(request) -> bool:
        held_out = model.optimizer_requests and request.package not in model.trained_on
        if not victim and held_out and request.right == "uv add":
            victim.append(request.package)
        return request.package in victim and request.right == "uv add"

    victim: list[str] = []
    model.knows = break_one
    model.obeys = lambda request: not break_one(request)
    cut_off_in_the_second_skill(two_kinds, model, database)
    live = str(two_kinds.project / LIVE)
    assert len(read_rejected_edits(database, live)) == 1
    asked = [r.key for r in model.optimizer_requests]
    report = two_kinds.night()
    assert [v["decision"] for v in report["verdicts"]] == ["reject", "accept"]
    assert [r.key for r in model.optimizer_requests] == asked
    assert len(read_rejected_edits(database, live)) == 1


def test_what_was_decided_while_a_night_lay_cut_off_stays_decided(
    two_kinds: Sleeper, model: ChatModel, database
):
    cut_off_in_the_second_skill(two_kinds, model, database)
    (first,) = read_proposals(database)
    two_kinds.sleep("reject", first.id, "--reason", "not for this project")
    asked = len(model.optimizer_requests)
    report = two_kinds.night()
    assert len(report["proposals"]) == 2
    assert len(model.optimizer_requests) == asked
    states = {p.id: p.state.value for p in read_proposals(database)}
    assert states[first.id] == "rejected"
    assert f"skillopt/{first.id}" not in git(two_kinds.project, "branch", "--list", "skillopt/*")
    actions = [
        row["action"]
        for row in database.execute(
            "select action from decisions where proposal = ? order by id", (first.id,)
        )
    ]
    assert actions == ["stage", "reject"]


def test_a_night_whose_plan_cannot_be_read_any_more_is_closed_and_a_new_one_begun(sleeper: Sleeper, database):
    sleeper.work()
    database.execute(
        "insert into nights (id, state, started, plan) values ('2020-01-01', 'running', '2020', x'93')"
    )
    report = sleeper.night()
    assert report["state"] == "done"
    states = dict(database.execute("select id, state from nights").fetchall())
    assert states == {"2020-01-01": "failed", report["night"]: "done"}


# --- what is wrong with one skill does not cost the others their night ---------------------------


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda project: (project / ".git/config").write_text("[core\n"), "bad config"),
        (lambda project: (project / LIVE).write_bytes(b"\xff\xfe"), "cannot read the skill"),
        (lambda project: (project / LIVE).write_text("no front matter"), "is no legal SKILL.md"),
    ],
    ids=["repository", "bytes", "front matter"],
)
def test_a_place_that_cannot_be_used_is_left_alone_and_named(
    two_kinds: Sleeper, tmp_path: Path, spoil, reason: str
):
    other = tmp_path / "other"
    shutil.copytree(two_kinds.project, other)
    shutil.rmtree(two_kinds.projects)
    two_kinds.work()
    Sleeper(two_kinds.home, other, two_kinds.model).work(tests=True)
    (two_kinds.project / LIVE).parent.mkdir(parents=True)
    spoil(two_kinds.project)
    report = two_kinds.night()
    assert [skill["skill"] for skill in report["skills"]] == ["run-tests"]
    assert len(report["proposals"]) == 1
    (skipped,) = report["skipped"]
    assert reason in skipped["reason"]


def test_a_project_that_goes_away_in_the_night_does_not_keep_it_from_ending(
    sleeper: Sleeper, model: ChatModel, database
):
    sleeper.work()
    gone = sleeper.project.with_name("moved")

    def move(request) -> bool:
        if request.has_skill and not gone.exists():
            # Several requests come at once, and one of them is first.
            with contextlib.suppress(FileNotFoundError):
                sleeper.project.rename(gone)
        return True

    model.obeys = move
    report = sleeper.night()
    assert (report["state"], judged(report)["decision"], report["proposals"]) == ("done", "accept", [])
    assert "cannot be staged" in report["skills"][0]["note"]
    states = [row["state"] for row in database.execute("select state from candidates")]
    assert states == ["waiting"], "what was learned is kept"


def test_a_second_run_waits_its_turn(sleeper: Sleeper, model: ChatModel):
    sleeper.work()
    model.hangs = lambda request: True
    child = sleeper.start("run", "--json")
    try:
        assert model.hanging.wait(30)
        second = subprocess.run(
            [*child.args, "--dry-run"], capture_output=True, text=True, check=False, cwd=sleeper.project
        )
        assert second.returncode == 75
        assert f"run (pid {child.pid}" in second.stderr
        sleeper.sleep("harvest", expect=75)
        # A decision takes a moment and a night hours: the user does not have to wait.
        sleeper.sleep("apply", "any", expect=2)
        sleeper.sleep("status")
    finally:
        model.hangs = lambda request: False
        model.release.set()
        out, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    assert json.loads(out)["state"] == "done"
