"""A night's training is a run of the trainer: what it writes down, goes on with, and leaves behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import msgspec
import pytest

from skillopt_replay.rollouts import Usage
from skillopt_sleep.night.curriculum import PlannedTasks, make_blank, make_config
from skillopt_sleep.night.planned import Place, SkillPlan
from skillopt_sleep.paths import locate
from skillopt_sleep.settings import Gate, Settings, Training
from skillopt_sleep.store.candidates import read_rejected_edits
from skillopt_sleep.store.memories import read_learned
from skillopt_sleep.training.checking import check
from skillopt_sleep.training.config import Config
from skillopt_sleep.training.run_folder import RunFolder
from tests.app.conftest import Sleeper
from tests.app.night_samples import ScriptedRoller, make_tasks
from tests.support.chat_server import RULE, ChatModel

SKILL = "add-package-project"
LIVE = Path(".claude", "skills", SKILL, "SKILL.md")


def folder_of(night: str) -> Path:
    return locate().nights / night / "training" / SKILL


def test_each_step_is_written_down_in_the_nights_folder(sleeper: Sleeper, database):
    sleeper.work()
    report = sleeper.night()
    folder = folder_of(report["night"])
    record = json.loads((folder / "steps/step_0001/step_record.json").read_text())
    assert (record["action"], record["race"]["n_won"]) == ("accept_new_best", 1)
    assert record["rollout_n"] == report["tasks"] - 12
    (kept,) = json.loads((folder / "steps/step_0001/kept.json").read_text())
    assert [one["edit"]["content"] for one in kept["edits"]] == [RULE]
    assert kept["edits"][0]["edit"]["sessions"]
    assert RULE in (folder / "best_skill.md").read_text()
    assert {path.name for path in folder.iterdir()} >= {"config.yaml", "history.json", "summary.json"}
    assert not (folder / "calls.db").exists(), "the night's own ledger pays"
    said = "".join(path.read_text() for path in folder.rglob("*.json"))
    assert "pip install" not in said.replace(RULE, ""), "no answer of a run is in it"


def test_a_night_runs_no_more_tasks_than_its_train_tasks_and_the_race(sleeper: Sleeper, model: ChatModel):
    sleeper.work()
    report = sleeper.night()
    record = json.loads((folder_of(report["night"]) / "history.json").read_text())[0]
    in_training = [request for request in model.task_requests if model.is_training(request)]
    assert len(in_training) == 2 * record["rollout_n"], "without the skill, and with the one candidate"


def test_a_cut_off_night_whose_training_folder_is_gone_pays_nothing_twice(sleeper: Sleeper, model: ChatModel):
    sleeper.work()
    model.hangs = lambda r: (
        r.has_skill and bool(model.optimizer_requests) and r.package not in model.trained_on
    )
    child = sleeper.start("run")
    assert model.hanging.wait(30)
    os.killpg(child.pid, signal.SIGKILL)
    child.communicate()
    model.hangs = lambda request: False
    model.release.set()
    trained = [
        request.key for request in model.requests if request.is_optimizer or model.is_training(request)
    ]
    (night,) = locate().nights.iterdir()
    shutil.rmtree(night / "training")
    report = sleeper.night()
    assert len(report["proposals"]) == 1
    again = [request.key for request in model.requests if request.is_optimizer or model.is_training(request)]
    assert again == trained
    assert RULE in (folder_of(report["night"]) / "best_skill.md").read_text(), "and it is written down anew"


def test_a_cut_off_night_goes_on_with_other_settings_of_its_training(sleeper: Sleeper, model: ChatModel):
    sleeper.work()
    model.hangs = lambda r: r.is_optimizer
    child = sleeper.start("run")
    assert model.hanging.wait(30)
    os.killpg(child.pid, signal.SIGKILL)
    child.communicate()
    model.hangs = lambda request: False
    model.release.set()
    sleeper.set(training_candidates=1)
    report = sleeper.night()
    assert len(report["proposals"]) == 1
    assert "candidates: 1" in (folder_of(report["night"]) / "config.yaml").read_text()


@pytest.mark.parametrize("name", ["runtime_state.json", "steps/step_0001/kept.json", "skills/skill_v0001.md"])
def test_a_record_that_was_damaged_while_the_night_lay_cut_off_costs_nothing(
    sleeper: Sleeper, model: ChatModel, name: str
):
    sleeper.work()
    model.hangs = lambda r: r.has_skill and r.package not in model.trained_on
    child = sleeper.start("run")
    assert model.hanging.wait(30)
    os.killpg(child.pid, signal.SIGKILL)
    child.communicate()
    model.hangs = lambda request: False
    model.release.set()
    trained = len(model.optimizer_requests)
    (night,) = locate().nights.iterdir()
    (folder_of(night.name) / name).write_bytes(b"{torn \xff")
    report = sleeper.night()
    assert len(report["proposals"]) == 1
    assert len(model.optimizer_requests) == trained


def test_what_an_earlier_night_of_that_name_left_is_not_gone_on_with(sleeper: Sleeper, model: ChatModel):
    sleeper.work()
    first = sleeper.night()
    sleeper.sleep("reject", first["proposals"][0], "--reason", "to try again")
    for path in locate().data.glob("state.db*"):
        path.unlink()
    asked = len(model.optimizer_requests)
    again = sleeper.night()
    assert again["night"] == first["night"]
    assert len(model.optimizer_requests) == 2 * asked


def test_an_edit_that_did_harm_in_the_race_is_remembered_with_how_much(
    sleeper: Sleeper, model: ChatModel, database
):
    sleeper.work()
    known: list[str] = []

    def knows(request) -> bool:
        if not request.has_skill and not model.optimizer_requests and len(known) < 3:
            known.append(request.package)
        return request.package in known

    model.knows = knows
    model.obeys = lambda request: request.package not in known
    sleeper.set(training_tasks=4)
    report = sleeper.night()
    said, _, where = report["skills"][0]["note"].partition("; what they said and how each run went: ")
    assert said == "0 of 1 candidates did better on the train tasks than what is there"
    assert any(RULE in path.read_text() for path in Path(where).rglob("*.json*"))
    (rejected,) = read_rejected_edits(database, str(sleeper.project / LIVE))
    assert (rejected.content, rejected.effect) == (RULE, -0.5)
    asked = len(model.optimizer_requests)
    again = sleeper.night()
    assert "(with it the score fell by 0.500)" in model.optimizer_requests[asked].user
    assert f'proposed again what was turned down: "{RULE}"' in again["skills"][0]["note"]


def test_a_slow_update_looks_back_on_the_skill_of_the_night_before(
    sleeper: Sleeper, model: ChatModel, database
):
    sleeper.work()
    sleeper.set(training_use_slow_update="true", training_use_meta_skill="true")
    first = sleeper.night()
    live = str(sleeper.project / LIVE)
    begun = read_learned(database, live)
    assert begun.skill is not None
    assert RULE not in begun.skill.text
    sleeper.sleep("apply", first["proposals"][0])
    second = sleeper.night()
    end = folder_of(second["night"])
    slow = json.loads((end / "slow_update/epoch_01/slow_result.json").read_text())
    assert slow["action"] == "reject", "all train tasks pass, so it could gain nothing"
    pairs = json.loads((end / "slow_update/epoch_01/comparison_pairs.json").read_text())
    assert {pair["category"] for pair in pairs} == {"improved"}
    learned = read_learned(database, live)
    assert (learned.notes, RULE in learned.skill.text) == (RULE, True)
    assert second["proposals"] == []


def make_plan(**changes) -> SkillPlan:
    tasks = [msgspec.structs.replace(task, split="train") for task in make_tasks(4)]
    place = Place(scope="project", live="/p/SKILL.md", text="")
    plan = SkillPlan(
        skill="add-packages", title="Add", client="claude", place=place, train=tuple(tasks), gate=()
    )
    return msgspec.structs.replace(plan, **changes)


async def test_the_trainer_sees_train_and_val_tasks_alone_and_no_skill_where_there_is_none():
    gate, val = make_tasks(3, skill="held"), make_tasks(2, skill="chosen")
    plan = make_plan(gate=tuple(gate), val=tuple(val), renewed=tuple(gate))
    roll = ScriptedRoller(lambda task, skilled: skilled)
    tasks = PlannedTasks(plan, roll, identity="agent/1", estimate=Usage())
    assert [tasks.load(split) for split in ("train", "val", "test")] == [plan.train, plan.val, ()]
    await tasks.pay(plan.train[0], make_blank(plan), 0)
    await tasks.pay(plan.train[0], tasks.initial, 0)
    await tasks.pay(plan.train[0], make_blank(make_plan(title="Other")), 1)
    assert [(skilled, sample) for _, skilled, sample in roll.runs] == [(False, 0), (False, 0), (True, 1)]


def test_a_held_out_task_among_the_train_tasks_is_refused():
    plan = make_plan(train=tuple(msgspec.structs.replace(t, split="gate") for t in make_tasks(2)))
    with pytest.raises(ValueError, match="not train tasks"):
        PlannedTasks(plan, ScriptedRoller(lambda task, skilled: True), identity="a", estimate=Usage())


OTHER = {
    "learning_rate": 2,
    "candidates": 3,
    "minibatch_size": 2,
    "epochs": 2,
    "batch_size": 2,
    "samples": 2,
    "lr_scheduler": "cosine",
    "min_learning_rate": 2,
    "use_slow_update": True,
    "use_meta_skill": True,
    "use_skill_aware_reflection": True,
    "trace_tokens": 5000,
    "reply_tokens": 3000,
    "max_skill_tokens": 900,
    "seed": 7,
}


@pytest.mark.parametrize("key", sorted(set(Training.__struct_fields__) - {"tasks"}))
def test_every_key_of_training_reaches_the_trainer(key: str):
    plain = make_config(Settings(), tasks=8, slots=2)
    training = Training(**{key: OTHER[key]})
    changed = make_config(Settings(training=training), tasks=8, slots=2)
    assert check(changed) != plain
    sections = [name for name in Config.__struct_fields__ if getattr(changed, name) != getattr(plain, name)]
    assert len(sections) == 1, "and changes nothing else"


def test_a_local_model_is_shown_less_unless_the_settings_say_how_much():
    def make(optimizer: str, **training: int):
        settings = Settings(training=Training(**training))
        gradient = make_config(settings, tasks=8, slots=2, optimizer=optimizer).gradient
        return gradient.trace_tokens, gradient.reply_tokens

    assert make("local:qwen@1234") == (900, 500)
    assert make("openai:gpt-5.5") == (6000, 2000)
    assert make("local:qwen@1234", trace_tokens=3000, reply_tokens=10) == (3000, 100)


def test_as_many_winners_are_kept_as_may_reach_the_gate():
    assert make_config(Settings(gate=Gate(candidates=3)), tasks=8, slots=2).train.keep == 3


def test_the_folder_of_a_run_can_be_read_by_the_trainers_own_means(sleeper: Sleeper):
    sleeper.work()
    report = sleeper.night()
    state = RunFolder(folder_of(report["night"])).load_state()
    assert (state.step, state.epochs_ended, state.best_step) == (1, 1, 1)
