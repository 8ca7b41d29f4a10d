"""Apply edits to a skill's body: all or nothing for each edit, and never past the limits.

The front matter stays byte for byte, protected regions stay as they are, code blocks stay whole. Each edit
sees the text the ones before it left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from skillopt_replay.skills import Skill, SkillInvalid, find_problems
from skillopt_sleep.training.contents import Change, EditRefused, clean_content
from skillopt_sleep.training.inserts import add, insert_after
from skillopt_sleep.training.markdown import find_islands, find_protected
from skillopt_sleep.training.records import Edit, EditResult
from skillopt_sleep.training.replacements import delete, replace
from skillopt_sleep.training.words import count_tokens


def apply_edits(
    skill: Skill, edits: Sequence[Edit], *, limit: int, max_tokens: int
) -> tuple[Skill, tuple[EditResult, ...]]:
    """Return the edited skill, and what became of each edit in the order given.

    `limit` is the learning rate: the most edits that are applied, 0 for none; edits that fail do not use it
    up. `max_tokens` bounds the whole document (characters / 4); a document above it may still shrink.
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
            skill, result = _apply(skill, edit, max_tokens)
        except EditRefused as refused:
            result = refuse(edit, refused)
        results.append(result)
        applied += result.applied
    return skill, tuple(results)


def refuse(edit: Edit, refused: EditRefused) -> EditResult:
    """Return what became of an edit that was refused."""
    return EditResult(
        edit=edit, applied=False, detail=refused.detail, miss=refused.miss, over_size=refused.over_size
    )


def report(edit: Edit, body: str, change: Change) -> EditResult:
    """Return what became of an edit that changed this body."""
    matched, exact = "", False
    if change.anchor is not None:
        matched, exact = body[change.anchor.start : change.anchor.end], change.anchor.exact
    return EditResult(edit=edit, applied=True, detail=change.detail, matched=matched, exact=exact)


def edit_body(body: str, edit: Edit) -> Change:
    """Return the body of a Markdown document with the edit made in it.

    Raises EditRefused when it changes nothing, or would touch a protected region or tear a code block.
    """
    content = "" if edit.op == "delete" else clean_content(edit.content)
    if edit.op == "add":
        change = add(body, content)
    elif edit.op == "insert_after":
        change = insert_after(body, edit.target, content)
    elif edit.op == "replace":
        change = replace(body, edit.target, content)
    else:
        change = delete(body, edit.target)
    if change.body == body:
        raise EditRefused("the edit changes nothing")
    _check_islands(body, change.body, change.removed, content)
    return change


def _apply(skill: Skill, edit: Edit, max_tokens: int) -> tuple[Skill, EditResult]:
    body = skill.body
    change = edit_body(body, edit)
    result = Skill(skill.name, skill.text.removesuffix(body) + change.body)
    problems = find_problems(result)
    if problems or result.body != change.body:
        raise EditRefused(f"the skill would not be legal: {'; '.join(problems) or 'the front matter moves'}")
    if count_tokens(result.text) > max_tokens and len(result.text) > len(skill.text):
        raise EditRefused(f"over the size budget of {max_tokens} tokens", over_size=True)
    return result, report(edit, body, change)


def _check_islands(before: str, after: str, removed: tuple[int, int], content: str) -> None:
    """Refuse a change by which text around it becomes, or ceases to be, an island.

    An edit can do so without naming one: by what stands left and right of where it lands.
    """
    texts = [[body[i.start : i.end] for i in find_protected(body)] for body in (before, after)]
    if texts[0] != texts[1]:
        raise EditRefused("the target lies in a protected region")
    islands = find_islands(before)
    gone = [island for island in islands if removed[0] <= island.start and island.end <= removed[1]]
    inside_code = any(i.kind == "code" and i not in gone and i.overlaps(*removed) for i in islands)
    expected = Counter((i.kind, i.closed) for i in islands)
    expected.subtract(Counter((i.kind, i.closed) for i in gone))
    if not inside_code:
        expected.update((i.kind, i.closed) for i in find_islands(content))
    if Counter((i.kind, i.closed) for i in find_islands(after)) != +expected:
        raise EditRefused("the edit would tear or open a code block or comment")
