"""Sessions of the index to tasks."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path

from skillopt_harvesters import Mining, mine
from skillopt_harvesters.records import Kind
from skillopt_replay.tasks import Task
from skillopt_sleep.errors import AppError
from skillopt_sleep.events import Event, Listener, ignore
from skillopt_sleep.night.catalogue import find_skills
from skillopt_sleep.night.projects import Projects
from skillopt_sleep.settings import Settings
from skillopt_sleep.store.index import read_folders, read_sessions
from skillopt_sleep.store.mined import read_known, read_roots, save_mined
from skillopt_sleep.store.snapshots import save_snapshots
from skillopt_sleep.store.titles import read_titles


def mine_tasks(
    connection: sqlite3.Connection, settings: Settings, env: Mapping[str, str], *, titled: bool = False
) -> list[Task]:
    """Return the recurring tasks of all sessions in which a person spoke; their names are remembered.

    `titled`: with the titles a model gave, when the settings ask for them. They are for lists alone: what
    is learned from starts with a title in the user's own words.
    """
    home = Path(env.get("HOME") or Path.home())
    projects = Projects(read_roots(connection), home=home)
    roots = dict.fromkeys(map(projects.find_root, read_folders(connection, kind=Kind.HUMAN.value)))
    better = read_titles(connection) if titled and settings.mine.titles == "model" else {}
    how = Mining(
        min_occurrences=settings.night.min_occurrences,
        across_projects=settings.mine.across_projects,
        root_of=projects.find_root,
        skills=find_skills(roots, env=env, home=home),
        known=read_known(connection),
        titler=(lambda plain, _: better.get(plain, plain)) if better else None,
    )
    tasks = mine(read_sessions(connection, kind=Kind.HUMAN.value), how)
    save_mined(connection, tasks, projects.found)
    return tasks


def keep_mined(
    connection: sqlite3.Connection, folder: Path, tasks: Iterable[Task], *, listen: Listener = ignore
) -> None:
    """Keep snapshots of the sessions that tasks were mined from. A full disk costs those, not the night."""
    try:
        save_snapshots(connection, folder, {session for task in tasks for session in task.sessions})
    except (OSError, AppError) as error:
        reason = error.strerror if isinstance(error, OSError) else error.message
        listen(Event(stage="mine", detail=f"no snapshots could be kept: {reason}"))
