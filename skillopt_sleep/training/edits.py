"""Apply edits to a skill: all or nothing for each edit, and never past the limits.

The front matter stays byte for byte, protected regions stay as they are, code blocks stay whole; references
and scripts that could be read before can be read after. Each edit sees the text the ones before it left.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from skillopt_replay.skill_files import SKILL_FILE
from skillopt_replay.skills import Skill, SkillInvalid, find_problems
from skillopt_sleep.training.bodies import edit_body, refuse, report
from skillopt_sleep.training.contents import EditRefused
from skillopt_sleep.training.file_edits import edit_file
from skillopt_sleep.training.records import Edit, EditResult
from skillopt_sleep.training.words import count_tokens

MAX_FILE_TOKENS = 8000


def apply_edits(
    skill: Skill,
    edits: Sequence[Edit],
    *,
    limit: int,
    max_tokens: int,
    max_file_tokens: int = MAX_FILE_TOKENS,
) -> tuple[Skill, tuple[EditResult, ...]]:
    """Return the edited skill, and what became of each edit in the order given.

    `limit` is the learning rate over all files: the most edits that are applied, 0 for none; edits that fail
    do not use it up. `max_tokens` bounds SKILL.md, `max_file_tokens` every other file (characters / 4); one
    that is above may still shrink.
    Raises SkillInvalid when the skill is not legal to begin with, ValueError for a negative limit.
    """
    if limit < 0:
        raise ValueError(f"the learning rate is {limit}: it must be 0 or more")
    problems = find_problems(skill)
    if problems:
        raise SkillInvalid(f"skill {skill.name}: {'; '.join(problems)}")
    results: list[EditResult] = []
    applied = 0
    for edit in edits:
        if applied >= limit:
            results.append(EditResult(edit=edit, applied=False, detail="over the learning rate"))
            continue
        try:
            if edit.file == SKILL_FILE:
                skill, result = _apply(skill, edit, max_tokens)
            else:
                skill, result = edit_file(skill, edit, max_file_tokens)
        except EditRefused as refused:
            result = refuse(edit, refused)
        results.append(result)
        applied += result.applied
    return skill, tuple(results)


def _apply(skill: Skill, edit: Edit, max_tokens: int) -> tuple[Skill, EditResult]:
    body = skill.body
    change = edit_body(body, edit)
    result = msgspec.structs.replace(skill, text=skill.text.removesuffix(body) + change.body)
    problems = find_problems(result)
    if problems or result.body != change.body:
        raise EditRefused(f"the skill would not be legal: {'; '.join(problems) or 'the front matter moves'}")
    if count_tokens(result.text) > max_tokens and len(result.text) > len(skill.text):
        raise EditRefused(f"over the size budget of {max_tokens} tokens", over_size=True)
    return result, report(edit, body, change)
