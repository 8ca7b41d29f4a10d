"""Where a skill lives: in its project's repository, or with the user."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from skillopt_replay.tasks import Task
from skillopt_sleep.errors import AppError
from skillopt_sleep.night.planned import Place
from skillopt_staging.targets import find_repository, prefers_user, project_target, user_target


def make_locator(
    env: Mapping[str, str] | None = None, *, repositories: Collection[str] = ()
) -> Callable[[Sequence[Task]], Place]:
    """Return the function that says where the skill of some tasks belongs.

    A skill that exists is where the client would read it: of one that the project and the user have, the
    user's for Claude Code and the project's for the others. For a new one, asks that all came
    from one git project make a project skill; asks from several, from a folder without git, or from a home
    that is itself a repository, make a skill of the user's. `repositories` are folders that were seen to be
    some: where one was moved, or its drive is not mounted, the function raises AppError.
    """
    environment = os.environ if env is None else env
    home = Path(environment.get("HOME") or Path.home())

    def locate(tasks: Sequence[Task]) -> Place:
        first = tasks[0]
        folders = {task.root or task.project for task in tasks}
        folder = folders.pop() if len(folders) == 1 else None
        if folder and folder in repositories and not Path(folder).is_dir():
            # Its skills are the project's own: as the user's they would teach all the others.
            raise AppError(
                f"the repository of its project, {folder}, is not there any more",
                hint="bring it back, or go on asking where it lies now",
            )
        repository = find_repository(Path(folder)) if folder else None
        users = user_target(first.skill, first.client, env=environment, home=home)
        if repository and repository != home:
            live = project_target(repository, first.skill, first.client).live
            hidden = prefers_user(first.client) and os.path.lexists(users)
            if (os.path.lexists(live) and not hidden) or not os.path.lexists(users):
                return Place(
                    scope="project", live=str(live), text=read_live(live), repository=str(repository)
                )
        return Place(scope="user", live=str(users), text=read_live(users))

    return locate


def read_live(live: Path) -> str:
    """Return the text of a live skill file, "" when there is none. Line ends are kept as they are."""
    try:
        if live.exists() and not live.is_file():
            raise AppError(f"the skill {live} is no file", hint="mend or remove it")
        return live.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise AppError(f"cannot read the skill {live}: {error}", hint="mend or remove the file") from error
