"""Apply edits to any file of a skill: SKILL.md, references and scripts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

import msgspec

from skillopt_sleep.training.contents import EditRefused
from skillopt_sleep.training.edits import apply_edits, edit_body, refuse, report
from skillopt_sleep.training.folders import (
    SKILL_FILE,
    PathRefused,
    SkillFile,
    SkillFolder,
    check_path,
    find_clash,
)
from skillopt_sleep.training.records import Edit, EditResult
from skillopt_sleep.training.scripts import edit_script
from skillopt_sleep.training.words import count_tokens

_MARKDOWN = {".md", ".markdown"}


class FileEdit(msgspec.Struct, frozen=True):
    """An edit of one file of a skill. An `add` to a path where there is no file makes it."""

    edit: Edit
    path: str = SKILL_FILE


class FileEditResult(msgspec.Struct, frozen=True):
    """What became of an edit of the file at `path`."""

    path: str
    result: EditResult


def apply_file_edits(
    folder: SkillFolder, edits: Sequence[FileEdit], *, limit: int, max_tokens: int, max_file_tokens: int
) -> tuple[SkillFolder, tuple[FileEditResult, ...]]:
    """Return the edited folder, and what became of each edit in the order given.

    `limit` is the learning rate over all files. `max_tokens` bounds SKILL.md, `max_file_tokens` every other
    file (characters / 4); one that is above may still shrink. A file whose last text is deleted goes. Raises
    SkillInvalid when the skill is not legal to begin with, ValueError for a negative limit.
    """
    apply_edits(folder.skill, (), limit=limit, max_tokens=max_tokens)
    results: list[FileEditResult] = []
    applied = 0
    for one in edits:
        if one.path == SKILL_FILE or applied >= limit:
            left = limit - applied
            skill, (result,) = apply_edits(folder.skill, [one.edit], limit=left, max_tokens=max_tokens)
            folder = msgspec.structs.replace(folder, skill=skill)
        else:
            try:
                folder, result = _apply(folder, one, max_file_tokens)
            except EditRefused as refused:
                result = refuse(one.edit, refused)
        applied += result.applied
        results.append(FileEditResult(one.path, result))
    return folder, tuple(results)


def _apply(folder: SkillFolder, one: FileEdit, max_tokens: int) -> tuple[SkillFolder, EditResult]:
    file = folder.find(one.path)
    if file is None:
        file = SkillFile(_check_new(folder, one), "")
    suffix = PurePosixPath(file.path).suffix.casefold()
    change = (
        edit_body(file.text, one.edit)
        if suffix in _MARKDOWN
        else edit_script(file.text, one.edit, suffix=suffix)
    )
    if count_tokens(change.body) > max_tokens and len(change.body) > len(file.text):
        raise EditRefused(f"{file.path}: over the size budget of {max_tokens} tokens", over_size=True)
    others = [other for other in folder.files if other.path != file.path]
    kept = [SkillFile(file.path, change.body)] if change.body.strip() else []
    return SkillFolder(folder.skill, tuple(sorted([*others, *kept]))), report(one.edit, file.text, change)


def _check_new(folder: SkillFolder, one: FileEdit) -> str:
    try:
        check_path(one.path)
    except PathRefused as refused:
        raise EditRefused(str(refused)) from refused
    clash = find_clash(one.path, (file.path for file in folder.files))
    if clash:
        raise EditRefused(f"{one.path}: {clash} is in its way")
    if one.edit.op != "add":
        raise EditRefused(f"{one.path}: the skill has no such file", miss=True)
    return one.path
