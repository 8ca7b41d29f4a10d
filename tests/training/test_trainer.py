"""A whole run: what is learned, what is written, and what is never counted."""

from __future__ import annotations

import json
import re

import pytest

from skillopt_replay.errors import CeilingReached
from skillopt_replay.protocols import Completion
from skillopt_replay.skills import new_skill
from skillopt_sleep.errors import Busy
from skillopt_sleep.training import Trainer
from skillopt_sleep.training.contract import TrainingError
from skillopt_sleep.training.reading import make
from tests.support.school import FAMILIES, School, Teacher, make_delays, rule


def config(**sections):
    values = {
        "train": {"num_epochs": 2, "batch_size": 4},
        "optimizer": {"learning_rate": 1, "min_learning_rate": 1},
        "gradient": {"minibatch_size": 2, "merge_batch_size": 2},
        "evaluation": {"gate_mode": "strict"},
    }
    for section, own in sections.items():
        values[section] = {**values.get(section, {}), **own}
    return make(values)


async def run(tmp_path, school=None, teacher=None, skill=None, out="run", **sections):
    school, teacher = school or School(), teacher or Teacher()
    trainer = Trainer(school, teacher, config(**sections), out=tmp_path / out)
    return await trainer.train(skill), school, teacher


def read(tmp_path, name, out="run"):
    return json.loads((tmp_path / out / name).read_text())


async def test_a_skill_learns_a_rule_a_step_and_ends_with_all_of_them(tmp_path):
    summary, _, _ = await run(tmp_path)
    assert all(rule(family) in summary.best.text for family in FAMILIES)
    assert (summary.baseline_test.hard, summary.best_test.hard) == (0.0, 1.0)
    assert (summary.test_difference.wins, summary.test_difference.losses) == (8, 0)
    history = read(tmp_path, "history.json")
    assert [record["action"] for record in history] == ["accept_new_best"] * 4
    assert [record["selection_hard"] for record in history] == [0.25, 0.5, 0.75, 1.0]
    assert (tmp_path / "run" / "best_skill.md").read_text() == summary.best.text


async def test_the_folder_holds_what_users_of_the_reference_expect(tmp_path):
    await run(tmp_path)
    names = {str(p.relative_to(tmp_path / "run")) for p in (tmp_path / "run").rglob("*") if p.is_file()}
    for step in range(1, 5):
        for name in (
            "candidate_skill.md",
            "step_record.json",
            "trajectory_digest.json",
            "edit_apply_report.json",
        ):
            assert f"steps/step_{step:04d}/{name}" in names
    assert {f"skills/skill_v{n:04d}.md" for n in range(5)} <= names
    assert {"best_skill.md", "history.json", "config.yaml", "runtime_state.json", "summary.json"} <= names
    assert {"slow_update/epoch_02/slow_result.json", "meta_skill/epoch_02/meta_skill_result.json"} <= names
    assert str(tmp_path) not in (tmp_path / "run" / "runtime_state.json").read_text()


@pytest.mark.parametrize("seed", range(3))
async def test_the_order_in_which_replies_come_makes_no_difference(tmp_path, seed):
    plain, _, _ = await run(tmp_path, out="plain")
    mixed, _, _ = await run(
        tmp_path, School(delays=make_delays(seed)), Teacher(delays=make_delays(seed + 9)), out="mixed"
    )
    assert mixed.best == plain.best
    assert _without_times(read(tmp_path, "history.json", "mixed")) == _without_times(
        read(tmp_path, "history.json", "plain")
    )


def _without_times(history):
    return [{k: v for k, v in record.items() if k not in {"timing", "wall_time_s"}} for record in history]


async def test_no_more_runs_at_a_time_than_there_are_workers(tmp_path):
    _, school, _ = await run(tmp_path, School(delays=make_delays(1), size=24), env={"workers": 3})
    assert school.most_at_once == 3


async def test_lost_runs_are_no_failures(tmp_path):
    school = School(lost={"train-0", "val-1"})
    await run(tmp_path, school)
    history = read(tmp_path, "history.json")
    assert sum(record["rollout_lost"] for record in history) == 2
    assert history[-1]["selection_hard"] == 1.0
    assert history[-1]["selection_n"] == 7
    assert "train-0" not in json.dumps(
        [read(tmp_path, f"steps/step_000{n}/trajectory_digest.json") for n in (1, 2)]
    )


async def test_a_run_without_infrastructure_stops_and_scores_nothing(tmp_path):
    school = School(lost={f"train-{n}" for n in range(8)})
    with pytest.raises(TrainingError, match="429 rate limit"):
        await run(tmp_path, school)
    assert not (tmp_path / "run" / "history.json").exists()
    school.lost = set()
    summary, _, _ = await run(tmp_path, school)
    assert summary.best_test.hard == 1.0


async def test_an_optimizer_out_of_reach_stops_the_run_and_skips_no_step(tmp_path):
    down = Teacher(answers={"analyst": lambda _m: Completion(text="", model="t", error="connection refused")})
    with pytest.raises(TrainingError, match="connection refused"):
        await run(tmp_path, teacher=down)
    summary, _, _ = await run(tmp_path)
    assert summary.total_accepts == 4


async def test_a_candidate_that_is_no_better_is_rejected_and_remembered(tmp_path):
    teacher = Teacher(write=lambda family: f"Think about every {family}.")
    summary, _, _ = await run(tmp_path, teacher=teacher)
    history = read(tmp_path, "history.json")
    assert history[0]["action"] == "reject"
    assert summary.best.body.strip() == "# School"
    state = read(tmp_path, "runtime_state.json")
    assert state["rejected"]["edits"][0]["effect"] == 0.0
    later = [m[1].content for stage, m in teacher.asked if stage == "analyst"][-1]
    assert "turned down" in later
    assert "Think about every" in later


async def test_the_exact_gate_lets_an_idle_edit_through_no_more_often_than_declared(tmp_path):
    teacher = Teacher(write=lambda family: f"Think about every {family}.")
    summary, _, _ = await run(tmp_path, teacher=teacher, evaluation={"gate_mode": "one-night"})
    assert summary.total_accepts == 0


async def test_the_exact_gate_asks_for_evidence(tmp_path):
    school = School(size=40)
    summary, _, _ = await run(
        tmp_path, school, train={"batch_size": 20}, evaluation={"gate_mode": "one-night"}
    )
    record = read(tmp_path, "history.json")[0]
    assert record["gate"]["p_value"] < 0.05
    assert summary.best_test.interval[0] > 0.8


async def test_without_a_gate_every_candidate_goes_in_and_the_best_is_kept(tmp_path):
    teacher = Teacher(write=lambda family: f"Think about every {family}.")
    summary, _, _ = await run(tmp_path, teacher=teacher, evaluation={"use_gate": False})
    assert read(tmp_path, "history.json")[0]["action"] == "force_accept"
    assert summary.best_step == 0


async def test_the_learning_rate_in_force_is_what_analysts_are_told(tmp_path):
    _, _, teacher = await run(
        tmp_path, optimizer={"learning_rate": 3, "min_learning_rate": 1, "lr_scheduler": "linear"}
    )
    told = [m[1].content.rpartition("Write ")[2] for stage, m in teacher.asked if stage == "analyst"]
    budgets = [record["edit_budget"] for record in read(tmp_path, "history.json")]
    assert budgets == [2, 2, 2, 1]
    assert {int((re.findall(r"\d+", text) or ["1"])[-1]) for text in told} == {1, 2}


async def test_a_learning_rate_of_zero_changes_nothing(tmp_path):
    summary, _, teacher = await run(tmp_path, optimizer={"learning_rate": 0})
    assert (summary.total_accepts, summary.total_skips) == (0, 4)
    assert "analyst" not in [stage for stage, _ in teacher.asked]


async def test_an_autonomous_rate_is_asked_for_and_obeyed(tmp_path):
    await run(tmp_path, optimizer={"learning_rate": 4, "lr_control_mode": "auto"})
    record = read(tmp_path, "history.json")[0]
    assert record["lr_decision"]["learning_rate"] == 1
    assert record["edit_apply_summary"]["total"] == 1


async def test_accumulation_takes_several_batches_to_a_step(tmp_path):
    await run(tmp_path, train={"accumulation": 2, "batch_size": 4})
    history = read(tmp_path, "history.json")
    assert len(history) == 2
    assert [batch["n_envs"] for batch in history[0]["accumulation_batches"]] == [4, 4]
    assert history[0]["rollout_n"] == 8


async def test_good_and_bad_runs_of_a_task_are_shown_side_by_side(tmp_path):
    school = School(flaky=("apple",))
    _, _, teacher = await run(tmp_path, school, train={"samples": 2, "num_epochs": 1})
    systems = [m[0].content for stage, m in teacher.asked if stage == "analyst"]
    both = re.compile("once it passed|failed once and passed once")
    contrast = [
        m[1].content for stage, m in teacher.asked if stage == "analyst" and both.search(m[0].content)
    ]
    assert len(contrast) < len(systems)
    assert "Passed" in contrast[0]
    assert "Failed" in contrast[0]


async def test_several_candidates_are_raced_on_the_batch(tmp_path):
    asked = []

    def analyst(messages):
        asked.append(messages)
        return Teacher().analyst(messages)

    summary, _, _ = await run(
        tmp_path,
        teacher=Teacher(answers={"analyst": analyst}),
        train={"candidates": 2, "num_epochs": 4},
    )
    history = read(tmp_path, "history.json")
    assert {record["n_candidates"] for record in history} == {2}
    assert max(record["race"]["n_fresh"] for record in history) == 2
    assert summary.best_test.hard == 1.0


async def test_each_candidate_learns_from_as_many_minibatches_as_are_set(tmp_path):
    asked = []

    def analyst(messages):
        asked.append(messages[1].content)
        return Teacher().analyst(messages)

    await run(
        tmp_path,
        teacher=Teacher(answers={"analyst": analyst}),
        train={"candidates": 3, "num_epochs": 1, "batch_size": 8},
        gradient={"minibatch_size": 2, "minibatches": 1},
    )
    assert len(asked) == 3
    assert len(set(asked)) > 1
    assert all(text.count("Failed") == 2 for text in asked)


async def test_patience_ends_a_run_that_learns_nothing(tmp_path):
    teacher = Teacher(write=lambda family: f"Think about every {family}.")
    summary, _, _ = await run(tmp_path, teacher=teacher, train={"patience": 2, "num_epochs": 9})
    assert summary.total_steps == 2
    assert "2 steps in a row" in summary.stopped


async def test_a_ceiling_stops_the_run_and_a_higher_one_goes_on(tmp_path):
    with pytest.raises(CeilingReached):
        await run(tmp_path, model={"max_calls": 30})
    summary, school, _ = await run(tmp_path)
    assert summary.best_test.hard == 1.0
    assert len(school.rolled) == len(set(school.rolled))


async def test_a_run_that_is_finished_costs_nothing_more(tmp_path):
    first, _, _ = await run(tmp_path)
    again, school, teacher = await run(tmp_path)
    assert again == first
    assert (school.rolled, teacher.asked) == ([], [])


async def test_other_settings_or_data_are_told_apart(tmp_path):
    await run(tmp_path)
    with pytest.raises(TrainingError, match=r"optimizer.learning_rate \(was 1\) changed"):
        await run(tmp_path, optimizer={"learning_rate": 2})
    with pytest.raises(TrainingError, match="tasks"):
        await run(tmp_path, School(size=7))


async def test_a_moved_run_goes_on(tmp_path):
    with pytest.raises(CeilingReached):
        await run(tmp_path, model={"max_calls": 30})
    (tmp_path / "run").rename(tmp_path / "moved")
    summary, _, _ = await run(tmp_path, out="moved")
    assert summary.best_test.hard == 1.0


async def test_two_runs_in_one_process_do_not_meet(tmp_path):
    import asyncio

    one, two = await asyncio.gather(
        run(tmp_path, out="one"), run(tmp_path, School(families=("elm",)), out="two")
    )
    assert rule("elm") in two[0].best.text
    assert rule("elm") not in one[0].best.text


async def test_one_folder_takes_one_run_at_a_time(tmp_path):
    from filelock import FileLock

    (tmp_path / "run").mkdir()
    with FileLock(tmp_path / "run" / "run.lock"), pytest.raises(Busy):
        await run(tmp_path)


async def test_too_few_val_tasks_are_told_before_anything_is_spent(tmp_path):
    school = School(size=4)
    with pytest.raises(TrainingError, match="too few for the gate"):
        await run(tmp_path, school, evaluation={"gate_mode": "one-night"})
    assert school.rolled == []


async def test_the_slow_update_goes_through_the_gate_and_the_memory_reaches_the_optimizer(tmp_path):
    summary, _, teacher = await run(tmp_path, train={"num_epochs": 3})
    slow = read(tmp_path, "slow_update/epoch_02/slow_result.json")
    assert slow["action"] == "reject"
    assert "Always read the question" not in summary.best.text
    assert (tmp_path / "run" / "slow_update" / "epoch_02" / "candidate_skill.md").exists()
    assert read(tmp_path, "meta_skill/epoch_02/meta_skill_result.json")["action"] == "update"


async def test_a_forced_slow_update_goes_into_the_skill_in_force_only(tmp_path):
    summary, _, _ = await run(tmp_path, optimizer={"slow_update_gate_with_selection": False})
    state = read(tmp_path, "runtime_state.json")
    current = (tmp_path / "run" / state["current"]).read_text()
    assert "<!-- SLOW_UPDATE_START -->\nAlways read the question to its end." in current
    assert "Always read" not in summary.best.text


async def test_what_beats_a_forced_update_is_not_the_best_unless_it_scores_higher(tmp_path):
    class Distracted(School):
        """Knows nothing once it is told to read."""

        async def rollout(self, task, skill, sample):
            if "Always read" in skill.body and f"about every {task.family}" not in skill.body:
                skill = new_skill("school", "Use at school.", "# School")
            return await super().rollout(task, skill, sample)

    summary, _, _ = await run(
        tmp_path, Distracted(), train={"num_epochs": 3}, optimizer={"slow_update_gate_with_selection": False}
    )
    assert summary.best_measure.hard == 1.0
    assert "Always read" not in summary.best.text
