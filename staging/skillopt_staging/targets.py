"""Where a skill lives: the repository that holds it, its path there, and the file a client reads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

from skillopt_staging.errors import NoRepository, StagingError
from skillopt_staging.plumbing import run_git

FILE = "SKILL.md"

_Places = TypeVar("_Places")

# The first place is where a new skill goes; the others are read by the client as well.
_PROJECT_PLACES = {
    "claude": (".claude/skills",),
    "codex": (".agents/skills", ".codex/skills"),
    "copilot": (".github/skills", ".claude/skills", ".agents/skills"),
}
# (variable that moves the folder or "", folder under home, skills below it)
_USER_PLACES = {
    "claude": (("CLAUDE_CONFIG_DIR", ".claude", "skills"),),
    "codex": (("", ".agents", "skills"), ("CODEX_HOME", ".codex", "skills")),
    "copilot": (("COPILOT_HOME", ".copilot", "skills"), ("", ".agents", "skills")),
}
# Where the system's administrator puts skills; nothing is ever written there.
_SYSTEM_PLACES = {"codex": ("/etc/codex/skills",)}
# Claude Code prefers the user's skill to the project's of the same name; the others do as the format says.
_USERS_FIRST = frozenset({"claude"})
# Codex looks in every folder from the one it works in up to the top level.
_NESTED = frozenset({"codex"})


class Target(NamedTuple):
    """A project's skill: `repository` its top level, `path` in it, `live` the file apply writes."""

    repository: Path
    path: str
    live: Path


def find_repository(project: Path) -> Path | None:
    """Return the top level of the repository or worktree `project` lies in; None when it is in none.

    A bare repository is its git folder. Raises StagingError when git refuses to open the repository.
    """
    if not project.is_dir():
        return None
    try:
        answer = _ask(project, "--is-bare-repository", "--is-inside-git-dir", "--absolute-git-dir")
    except NoRepository:
        return None
    bare, inside, folder = answer.split("\n", 2)
    if bare == "true":
        return Path(folder)
    return None if inside == "true" else Path(_ask(project, "--show-toplevel"))


def project_target(project: Path, name: str, client: str = "claude") -> Target:
    """Return where the skill `name` of a project lives, or would live if it is new.

    Links are followed inside the repository. Raises NoRepository when the project is in none, StagingError
    when the skill lies outside of it.
    """
    _require_name(name)
    top = find_repository(project)
    if top is None:
        raise NoRepository(f"{project} is not in a git repository", hint="run git init there")
    folders = [top]
    if client in _NESTED and project.is_relative_to(top):
        below = project.relative_to(top).parts
        folders = [top.joinpath(*below[:depth]) for depth in range(len(below), -1, -1)]
    known = _places(_PROJECT_PLACES, client)
    nearest = [folder / place / name / FILE for folder in folders for place in known]
    real = Path(os.path.realpath(_first_present(nearest, otherwise=top / known[0] / name / FILE)))
    root = Path(os.path.realpath(top))
    if not real.is_relative_to(root):
        raise StagingError(
            f"the skill {name} leads to {real}, outside of {top}", hint="treat it as a skill of the user's"
        )
    path = real.relative_to(root).as_posix()
    return Target(top, path, top / path)


def user_target(
    name: str, client: str = "claude", *, env: Mapping[str, str] | None = None, home: Path | None = None
) -> Path:
    """Return the file of a user-level skill, or where it would be if it is new."""
    _require_name(name)
    variables = os.environ if env is None else env
    root = Path.home() if home is None else home
    folders = [_user_folder(place, variables, root) for place in _places(_USER_PLACES, client)]
    return _first_present([folder / name / FILE for folder in folders])


def find_project_folders(top: Path) -> dict[Path, list[str]]:
    """Return the folders of a project's top level in which clients look for skills, with those clients."""
    folders: dict[Path, list[str]] = {}
    for client, places in _PROJECT_PLACES.items():
        for place in places:
            folders.setdefault(top / place, []).append(client)
    return folders


def find_user_folders(env: Mapping[str, str], home: Path) -> dict[Path, list[str]]:
    """Return the folders in which clients look for the user's skills, with those clients."""
    folders: dict[Path, list[str]] = {}
    for client, places in _USER_PLACES.items():
        for place in places:
            folders.setdefault(_user_folder(place, env, home), []).append(client)
    return folders


def _user_folder(place: tuple[str, str, str], env: Mapping[str, str], home: Path) -> Path:
    variable, folder, below = place
    return (Path((env.get(variable) if variable else "") or home / folder)) / below


def vault_path(live: Path, *, home: Path | None = None) -> str:
    """Return the path in the vault that mirrors `live`: one per file, however many clients read it."""
    root = Path.home() if home is None else home
    if live.is_relative_to(root):
        return "home/" + live.relative_to(root).as_posix()
    return "elsewhere/" + live.relative_to(live.anchor).as_posix()


def prefers_user(client: str) -> bool:
    """Tell whether the client reads the user's skill where the project has one of the same name."""
    return client in _USERS_FIRST


def find_shadows(
    live: Path,
    name: str,
    client: str,
    *,
    project: Path | None = None,
    env: Mapping[str, str] | None = None,
    home: Path | None = None,
) -> list[Path]:
    """Return the skills of the same name that the client reads instead of `live`, the strongest first."""
    variables = os.environ if env is None else env
    root = Path.home() if home is None else home
    users = [_user_folder(place, variables, root) / name / FILE for place in _places(_USER_PLACES, client)]
    projects = (
        [project / place / name / FILE for place in _places(_PROJECT_PLACES, client)] if project else []
    )
    system = [Path(place) / name / FILE for place in _SYSTEM_PLACES.get(client, ())]
    ranked = [*users, *projects] if prefers_user(client) else [*projects, *users]
    there = [place for place in (*ranked, *system) if os.path.lexists(place)]
    real = os.path.realpath(live)
    stronger: list[Path] = []
    for place in there:
        if os.path.realpath(place) == real:
            return stronger
        stronger.append(place)
    return []


def _first_present(places: list[Path], *, otherwise: Path | None = None) -> Path:
    return next((place for place in places if os.path.lexists(place)), otherwise or places[0])


def _places(table: Mapping[str, _Places], client: str) -> _Places:
    if client not in table:
        raise StagingError(f"no place for skills of {client!r} is known", hint=f"known: {', '.join(table)}")
    return table[client]


def _require_name(name: str) -> None:
    if name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise StagingError(f"{name!r} is no name for a skill", hint="lower-case letters, digits and hyphens")


def _ask(folder: Path, *questions: str) -> str:
    return os.fsdecode(run_git(folder, "rev-parse", *questions)[1]).removesuffix("\n")
