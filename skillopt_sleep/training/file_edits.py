"""Make one edit in a reference or script of a skill."""

from __future__ import annotations

from pathlib import PurePosixPath

import msgspec

from skillopt_replay.skill_files import PathRefused, SkillFile, check_path, find_clash
from skillopt_replay.skills import Skill
from skillopt_sleep.training.bodies import edit_body, report
from skillopt_sleep.training.contents import EditRefused
from skillopt_sleep.training.records import Edit, EditResult
from skillopt_sleep.training.scripts import edit_script
from skillopt_sleep.training.words import count_tokens

_MARKDOWN = {".md", ".markdown"}


def edit_file(skill: Skill, edit: Edit, max_tokens: int) -> tuple[Skill, EditResult]:
    """Return the skill with the edit made in the file it names, and what became of the edit.

    An `add` to a path where there is no file makes it; a file whose last text is deleted goes. A script keeps
    its mode, and a new one that begins with #! can be run. Raises EditRefused.
    """
    file = skill.find(edit.file)
    if file is None:
        executable = edit.op == "add" and edit.content.lstrip().startswith("#!")
        file = SkillFile(_check_new(skill, edit), "", executable)
    if file.blob:
        raise EditRefused(f"{file.path} is no text")
    suffix = PurePosixPath(file.path).suffix.casefold()
    change = (
        edit_body(file.text, edit) if suffix in _MARKDOWN else edit_script(file.text, edit, suffix=suffix)
    )
    if count_tokens(change.body) > max_tokens and len(change.body) > len(file.text):
        raise EditRefused(f"{file.path}: over the size budget of {max_tokens} tokens")
    others = [other for other in skill.files if other.path != file.path]
    kept = [msgspec.structs.replace(file, text=change.body)] if change.body.strip() else []
    return msgspec.structs.replace(skill, files=(*others, *kept)), report(edit, file.text, change)


def _check_new(skill: Skill, edit: Edit) -> str:
    try:
        check_path(edit.file)
    except PathRefused as refused:
        raise EditRefused(str(refused)) from refused
    clash = find_clash(edit.file, (file.path for file in skill.files))
    if clash:
        raise EditRefused(f"{edit.file}: {clash} is in its way")
    if edit.op != "add":
        raise EditRefused(f"{edit.file}: the skill has no such file", miss=True)
    return edit.file
