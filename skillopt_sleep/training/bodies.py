"""Make one edit in the body of a Markdown document, and say what became of it."""

from __future__ import annotations

from collections import Counter

from skillopt_sleep.training.contents import Change, EditRefused, clean_content
from skillopt_sleep.training.inserts import add, insert_after
from skillopt_sleep.training.markdown import find_islands, find_protected
from skillopt_sleep.training.records import Edit, EditResult
from skillopt_sleep.training.replacements import delete, replace


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
