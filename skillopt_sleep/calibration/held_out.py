"""Which tasks a trial runs: held-out ones by skill, with the skill in force; never those that are sealed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from skillopt_gate.split import SplitItem, pick_gate_tasks
from skillopt_replay.skills import Skill
from skillopt_replay.tasks import Task
from skillopt_sleep.errors import NothingToDo
from skillopt_sleep.night.backends import suits
from skillopt_sleep.night.mining import mine_tasks
from skillopt_sleep.night.past import went_wrong
from skillopt_sleep.night.places import make_locator
from skillopt_sleep.night.plan import group_tasks
from skillopt_sleep.night.planned import Place
from skillopt_sleep.settings import Settings
from skillopt_sleep.store.mined import read_repositories
from skillopt_sleep.store.splits import read_splits


class HeldOut(msgspec.Struct, frozen=True, kw_only=True):
    """The held-out tasks of one skill; `train` are those it may learn from, for their words."""

    skill: str
    title: str
    place: Place
    tasks: tuple[Task, ...]
    train: tuple[Task, ...]

    @property
    def incumbent(self) -> Skill | None:
        """The skill in force, None when there is none."""
        return Skill(self.skill, self.place.text) if self.place.text else None


def find_held_out(
    connection: sqlite3.Connection,
    settings: Settings,
    env: Mapping[str, str],
    target: str,
    *,
    side: str = "gate",
    skill: str = "",
    limit: int | None = None,
) -> list[HeldOut]:
    """Return the tasks of this side that the target can run, for one skill or for all.

    Sides are those that nights have given; a task no night has looked at is on none. Raises NothingToDo,
    saying what to do, when there is none.
    """
    tasks = [
        task
        for task in mine_tasks(connection, settings, env)
        if task.checks and suits(target, task) and (not skill or task.skill == skill)
    ]
    sides = read_splits(connection)
    locate = make_locator(env, repositories=read_repositories(connection))
    found = []
    for members in group_tasks(tasks):
        here = [task for task in members if _is_there(task, target)]
        chosen = [task for task in here if sides.get(task.id) == side]
        train = tuple(task for task in here if sides.get(task.id) == "train")
        if chosen:
            found.append(_take(chosen, train, locate, limit))
    if not found:
        raise NothingToDo(
            f"there are no {'sealed' if side == 'test' else 'held-out'} tasks"
            + (f" for the skill {skill}" if skill else ""),
            hint="skillopt-sleep tasks lists tasks with their sides; a night (skillopt-sleep run) sets them",
        )
    return found


def _is_there(task: Task, target: str) -> bool:
    return target == "chat" or not task.project or Path(task.project).is_dir()


def _take(
    chosen: Sequence[Task],
    train: tuple[Task, ...],
    locate: Callable[[Sequence[Task]], Place],
    limit: int | None,
) -> HeldOut:
    if limit is not None:
        items = [SplitItem(id=t.id, group=t.group, failed_before=went_wrong(t)) for t in chosen]
        names = pick_gate_tasks(items, seen=(), limit=limit, seed="trial")
        by_id = {task.id: task for task in chosen}
        chosen = [by_id[name] for name in names]
    first = chosen[0]
    return HeldOut(
        skill=first.skill, title=first.title, place=locate(chosen), tasks=tuple(chosen), train=train
    )
