"""Skills as they lie on disk: one SKILL.md, or a folder with the files beside it."""

from __future__ import annotations

from pathlib import Path

from skillopt_replay.folders import walk
from skillopt_replay.skill_files import SKILL_FILE, PathRefused, SkillFile
from skillopt_replay.skills import Skill, SkillInvalid

MAX_BYTES = 4_000_000  # of a folder that is read whole
_LEFT_OUT = {"__pycache__", "node_modules"}


def read_skill(path: Path, name: str = "") -> Skill:
    """Return the skill of a folder with a SKILL.md, or of that file alone.

    The name is that in the front matter, else `name`, else the folder's. Hidden files and what programs
    leave behind (`__pycache__`, `node_modules`) are no part of it. Raises SkillInvalid with the place for
    what cannot be read, links, names that not every system can hold, and folders of more than 4 MB.
    """
    folder = path if path.is_dir() else None
    document = path / SKILL_FILE if folder else path
    try:
        if document.exists() and not document.is_file():
            raise SkillInvalid(f"the skill {document} is no file")
        text = document.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise SkillInvalid(f"the skill {document} cannot be read: {reason}") from error
    files = _read_files(folder) if folder else []
    try:
        return Skill(_name(text, name or document.resolve().parent.name), text, tuple(files))
    except PathRefused as error:
        raise SkillInvalid(f"the skill {path} cannot be taken whole: {error}") from error


def _name(text: str, fallback: str) -> str:
    try:
        return str(Skill(fallback, text).front_matter.get("name") or fallback)
    except SkillInvalid:
        return fallback


def _read_files(folder: Path) -> list[SkillFile]:
    files = []
    size = 0
    for place, folders, names in walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _LEFT_OUT)
        for name in (*names, *folders):
            path = Path(place, name)
            relative = path.relative_to(folder).as_posix()
            if path.is_symlink():
                raise SkillInvalid(f"{path} is a link: put the file itself into the skill")
            if name in folders or name.startswith(".") or relative == SKILL_FILE:
                continue
            if not path.is_file():
                raise SkillInvalid(f"{path} is no file: take it out of the skill")
            size += path.stat().st_size
            if size > MAX_BYTES:
                raise SkillInvalid(
                    f"the skill {folder} has more than {MAX_BYTES // 1_000_000} MB of files",
                    hint="point at its SKILL.md to train that alone",
                )
            files.append(_read_file(path, relative))
    return files


def _read_file(path: Path, relative: str) -> SkillFile:
    try:
        content = path.read_bytes()
        executable = bool(path.stat().st_mode & 0o100)
    except OSError as error:
        raise SkillInvalid(f"{path} cannot be read: {error.strerror}") from error
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return SkillFile(relative, "", executable, content)
    return SkillFile(relative, text, executable)


def write_skill(skill: Skill, folder: Path) -> None:
    """Write SKILL.md and the other files into the folder, which is made; scripts keep their mode.

    Files that are there already and not part of the skill stay.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SKILL_FILE).write_bytes(skill.text.encode())
    for file in skill.files:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        path.chmod(0o755 if file.executable else 0o644)
