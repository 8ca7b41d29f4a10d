"""What a night takes on, what it leaves alone, and why it says so."""

from __future__ import annotations

import msgspec
import pytest

from skillopt_replay.tasks import Rubric, needs_judge
from skillopt_sleep.cli.tasks import _tell_missing
from skillopt_sleep.night.plan import make_plan, mark_splits
from skillopt_sleep.night.planned import Place
from skillopt_sleep.records import EditEvidence, TaskEvidence
from skillopt_sleep.settings import Gate, Night, Settings, Training
from skillopt_sleep.store.candidates import Carried
from tests.app.night_samples import CANDIDATE, make_task, make_tasks

PLACE = Place(scope="user", live="/home/someone/.claude/skills/x/SKILL.md", text="")


def plan(tasks, assigned=None, settings=None, **overrides):
    options = {
        "seed": "night",
        "locate": lambda tasks: msgspec.structs.replace(PLACE, live=f"/live/{tasks[0].skill}"),
        "waiting": lambda live: None,
        "rejected": lambda live: [],
        "is_open": lambda live: False,
        "is_settled": lambda live, base, train: False,
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
        (make_tasks(12), {"is_settled": lambda live, base, train: True}, "every train task passes already"),
    ],
)
def test_what_is_left_alone_is_named_with_its_reason(tasks, overrides, reason):
    made = plan(tasks, **overrides)
    assert made.skills == ()
    (skipped,) = made.skipped
    assert reason in skipped.reason
    assert skipped.tasks == len(tasks)


def test_tasks_that_need_a_judge_are_not_counted_as_missing_in_silence():
    judged = [msgspec.structs.replace(t, checks=(Rubric(criterion="as told"),)) for t in make_tasks(14)[2:]]
    tasks = [*make_tasks(2), *judged]
    (skipped,) = plan(tasks, suits=lambda task: not needs_judge([task])).skipped
    assert "1 held-out and 1 to train on" in skipped.reason
    assert skipped.reason.endswith("; 12 more only a model could judge, and none is set (judge.model)")
    said = "; for a night about 7 more that code can check, or a judge.model for the other 12"
    assert _tell_missing(tasks) == said
    assert _tell_missing(tasks[:2]) == "; about 7 more for a night"


def test_tasks_that_went_wrong_are_learned_from_first():
    settings = Settings(training=Training(tasks=2))
    tasks = [make_task(n, failed=n % 3 == 0) for n in range(24)]
    (skill,) = plan(tasks, settings=settings).skills
    assert all(task.failed_before for task in skill.train)


def in_project(root, tasks):
    return [
        msgspec.structs.replace(t, root=root, id=f"{root}:{t.id}", group=f"{root}:{t.group}") for t in tasks
    ]


def test_tasks_of_two_projects_never_teach_or_judge_one_candidate():
    tasks = [*in_project("/a", make_tasks(20)), *in_project("/b", make_tasks(30, skill="run-tests"))]
    made = plan([*tasks, *in_project("/b", make_tasks(18))])
    for skill in made.skills:
        assert len({task.root for task in (*skill.train, *skill.gate)}) == 1
    assert [(skill.skill, skill.train[0].root) for skill in made.skills] == [
        ("run-tests", "/b"),
        ("add-packages", "/a"),
    ]
    (skipped,) = made.skipped
    assert (skipped.skill, skipped.tasks) == ("add-packages", 18)
    assert skipped.reason == "the skill is taught by the asks of another project tonight"


def carry(tasks=(), sessions=()):
    return Carried(
        id="c",
        place="/live/add-packages",
        skill=CANDIDATE,
        base="",
        edits=(EditEvidence(op="append", content="x", sessions=tuple(sessions)),) if sessions else (),
        evidence=None,
        wealth=(),
        tasks=tuple(
            TaskEvidence(task=name, title="", prompt="", incumbent=(0.0,), candidate=(1.0,)) for name in tasks
        ),
    )


@pytest.mark.parametrize(
    ("candidate", "goes_on"),
    [
        (carry(), True),
        (carry(tasks=["/a:add-packages-03"]), True),
        (carry(sessions=["s4"]), True),
        (carry(tasks=["/b:add-packages-03"], sessions=["elsewhere"]), False),
    ],
)
def test_a_candidate_that_another_project_taught_is_not_judged_by_this_one(candidate, goes_on):
    made = plan(in_project("/a", make_tasks(20)), waiting=lambda live: candidate)
    assert bool(made.skills) is goes_on
    if not goes_on:
        assert (
            made.skipped[0].reason
            == "the candidate that waits there was taught by the asks of another project"
        )


def test_a_plan_survives_being_written_down():
    made = plan(make_tasks(20))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(made), type=type(made)) == made


def test_a_session_keeps_its_side_when_its_tasks_are_read_otherwise_later():
    before = plan(make_tasks(20)).splits
    changed = [msgspec.structs.replace(task, id=f"again-{task.id}") for task in make_tasks(20)]
    later = plan(changed, before).splits
    for task in make_tasks(20):
        assert later[f"again-{task.id}"] == before[task.id]
