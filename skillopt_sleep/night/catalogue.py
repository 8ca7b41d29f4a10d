"""The skills there are: those of the user, and those of the projects that were worked in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from skillopt_harvesters import SkillRecord
from skillopt_replay.errors import ReplayError
from skillopt_replay.skills import Skill
from skillopt_sleep.plugin import NAME as GUIDE_NAME
from skillopt_staging.targets import FILE, find_project_folders, find_user_folders

_LONGEST = 256 * 1024
_MOST = 1_000


def find_skills(roots: Iterable[str], *, env: Mapping[str, str], home: Path) -> list[SkillRecord]:
    """Return the skills in the folders the clients read; one that cannot be read is left out."""
    users = find_user_folders(env, home)
    places: list[tuple[str | None, Path, list[str]]] = [(None, *place) for place in users.items()]
    for root in roots:
        places += [
            (root, *place) for place in find_project_folders(Path(root)).items() if place[0] not in users
        ]
    return [
        SkillRecord(
            name=skill.name,
            description=_describe(skill),
            path=str(path),
            clients=tuple(clients),
            project=root,
        )
        for root, folder, clients in places
        for skill, path in _read_folder(folder)
    ]


def _read_folder(folder: Path) -> Iterator[tuple[Skill, Path]]:
    try:
        names = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
    except (OSError, ValueError):
        return
    for name in names[:_MOST]:
        if name == GUIDE_NAME:
            continue  # ours, written for the agents: there is nothing to learn for it
        path = folder / name / FILE
        try:
            if not path.is_file():
                continue  # a pipe would be waited for
            with path.open("rb") as file:
                text = file.read(_LONGEST).decode("utf-8", "replace")
        except (OSError, ValueError):
            continue
        yield Skill(name, text), path


def _describe(skill: Skill) -> str:
    try:
        return skill.description
    except ReplayError:
        return ""
