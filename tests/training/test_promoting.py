"""In the end the skill in force is measured beside the best one, and takes its place if it is better."""

from __future__ import annotations

import json

import pytest

from tests.support.school import School, Teacher, rule
from tests.training.test_trainer import read, run

FORCED = {"slow_update_gate_with_selection": False}


async def test_what_was_forced_in_and_is_better_becomes_the_best(tmp_path):
    school = School(heeds="Always read")
    summary, _, _ = await run(tmp_path, school, train={"batch_size": 8}, optimizer=FORCED)
    assert "Always read" in summary.best.text
    assert (summary.final.hard, summary.best_measure.hard) == (1.0, 1.0)
    assert (tmp_path / "run" / "best_skill.md").read_text() == summary.best.text
    assert read(tmp_path, "final_selection.json")["action"] == "promote"
    assert read(tmp_path, "summary.json")["final_selection_hard"] == 1.0


async def test_what_was_forced_in_and_is_no_better_does_not(tmp_path):
    summary, _, _ = await run(tmp_path, optimizer=FORCED)
    assert "Always read" not in summary.best.text
    assert read(tmp_path, "final_selection.json")["action"] == "keep"
    assert summary.final.hard == summary.best_measure.hard


async def test_it_does_not_depend_on_the_test_split(tmp_path):
    school = School(heeds="Always read")
    summary, _, _ = await run(
        tmp_path, school, train={"batch_size": 8}, optimizer=FORCED, evaluation={"eval_test": False}
    )
    assert "Always read" in summary.best.text


async def test_it_is_asked_once_in_a_run(tmp_path):
    first, _, _ = await run(tmp_path, optimizer=FORCED)
    again, school, teacher = await run(tmp_path, optimizer=FORCED)
    assert again == first
    assert (school.rolled, teacher.asked) == ([], [])


async def test_a_skill_that_is_the_best_already_is_not_measured_again(tmp_path):
    summary, _, _ = await run(tmp_path)
    assert summary.final is None
    assert not (tmp_path / "run" / "final_selection.json").exists()


@pytest.mark.parametrize("better", [True, False], ids=["better", "worse"])
async def test_without_a_gate_a_higher_score_is_enough(tmp_path, better):
    def write(family):
        return rule(family) if better else f"Think about every {family}."

    summary, _, _ = await run(tmp_path, teacher=Teacher(write=write), evaluation={"use_gate": False})
    assert summary.best_measure.hard == (1.0 if better else 0.0)
    assert (summary.best_step == 0) is not better


async def test_the_learning_rates_that_the_optimizer_set_are_told_line_by_line(tmp_path):
    await run(tmp_path, optimizer={"learning_rate": 4, "lr_control_mode": "auto"})
    lines = [json.loads(line) for line in (tmp_path / "run" / "lr_history.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [1, 2, 3, 4]
    assert {line["learning_rate"] for line in lines} == {1}
    await run(tmp_path, out="fixed")
    assert not (tmp_path / "fixed" / "lr_history.jsonl").exists()
