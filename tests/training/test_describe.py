"""A description says when to use the skill, in the words of train tasks only."""

from __future__ import annotations

import pytest

from skillopt_replay.skills import find_problems, new_skill
from skillopt_sleep.training.describe import describe


def test_it_reads_like_an_instruction_with_examples(world):
    tasks = [
        world.make_task(n, prompt=p)
        for n, p in enumerate(["Sum  orders\nof Oslo", "sum orders of oslo", "Max?"])
    ]
    assert describe("Write an SQL query.", tasks) == (
        'Use when the user asks: Write an SQL query. For example: "Sum orders of Oslo"; "Max?".'
    )


def test_a_title_without_an_end_gets_one_and_no_task_is_needed():
    assert describe("SQL for the house", []) == "Use when the user asks: SQL for the house."
    assert describe("Which command adds a package?", []) == (
        "Use when the user asks: Which command adds a package?"
    )


def test_whatever_the_asks_the_description_is_legal(world):
    tasks = [world.make_task(n, prompt=f"<b>{n} \x00\"quoted\" '---' : {'word ' * 400}") for n in range(9)]
    text = describe("T" * 5000, tasks)
    assert find_problems(new_skill("x", text, "Body.")) == []
    assert "\n" not in text
    assert "<" not in text


def test_held_out_tasks_are_refused(world):
    with pytest.raises(ValueError, match="not train tasks: task-1"):
        describe("Write SQL", [world.make_task(1, split="val")])
