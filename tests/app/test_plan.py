"""What a night takes on, what it leaves alone, and why it says so."""

from __future__ import annotations

import msgspec
import pytest

from skillopt_sleep.config import Gate, Night, Settings, Training
from skillopt_sleep.night.plan import Place, make_plan, mark_splits
from tests.app.night_samples import make_task, make_tasks

PLACE = Place(scope="user", live="/home/someone/.claude/skills/x/SKILL.md", text="")


def plan(tasks, assigned=None, settings=None, **overrides):
    options = {
        "seed": "night",
        "locate": lambda tasks: msgspec.structs.replace(PLACE, live=f"/live/{tasks[0].skill}"),
        "waiting": lambda live: None,
        "rejected": lambda live: [],
        "is_open": lambda live: False,
        "suits": lambda task: True,
        **overrides,
    }
    return make_plan(tasks, assigned or {}, settings or Settings(), **options)


def test_train_and_held_out_tasks_have_nothing_in_common():
    (skill,) = plan(make_tasks(20)).skills
    train, gate = {t.group for t in skill.train}, {t.group for t in skill.gate}
    assert train
    assert len(skill.gate) >= 5
    assert not train & gate


def test_tasks_of_one_session_stay_on_one_side():
    tasks = [msgspec.structs.replace(t, group=f"g{i // 2}") for i, t in enumerate(make_tasks(20))]
    marked = mark_splits(tasks, plan(tasks).splits)
    for first, second in zip(marked[::2], marked[1::2], strict=True):
        assert first.split == second.split


def test_a_task_keeps_its_side_when_others_are_added():
    before = plan(make_tasks(20)).splits
    after = plan(make_tasks(40), before).splits
    assert {task: after[task] for task in before} == before


def test_a_night_takes_no_more_than_it_is_told_to():
    settings = Settings(gate=Gate(tasks=6), training=Training(tasks=3), night=Night(skills=1))
    tasks = [*make_tasks(30), *make_tasks(20, skill="other")]
    made = plan(tasks, settings=settings)
    (skill,) = made.skills
    assert (skill.skill, len(skill.train), len(skill.gate)) == ("add-packages", 3, 6)
    assert [(s.skill, s.reason) for s in made.skipped] == [("other", "other skills come first tonight")]


@pytest.mark.parametrize(
    ("tasks", "overrides", "reason"),
    [
        (make_tasks(12, checks=False), {}, "nothing in its sessions says what a right result looks like"),
        (make_tasks(3), {}, "too few"),
        (make_tasks(12), {"suits": lambda task: False}, "a chat model"),
        (make_tasks(12), {"is_open": lambda live: True}, "waits for your review"),
    ],
)
def test_what_is_left_alone_is_named_with_its_reason(tasks, overrides, reason):
    made = plan(tasks, **overrides)
    assert made.skills == ()
    (skipped,) = made.skipped
    assert reason in skipped.reason
    assert skipped.tasks == len(tasks)


def test_tasks_that_went_wrong_are_learned_from_first():
    settings = Settings(training=Training(tasks=2))
    tasks = [make_task(n, failed=n % 3 == 0) for n in range(24)]
    (skill,) = plan(tasks, settings=settings).skills
    assert all(task.failed_before for task in skill.train)


def test_a_plan_survives_being_written_down():
    made = plan(make_tasks(20))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(made), type=type(made)) == made
