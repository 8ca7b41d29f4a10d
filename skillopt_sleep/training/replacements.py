"""The two edits that take text away: `replace` and `delete`."""

from __future__ import annotations

import re

from skillopt_sleep.training.anchors import strip_bullet
from skillopt_sleep.training.contents import Change, EditRefused, split_rules
from skillopt_sleep.training.inserts import locate, newline_of, refuse_present
from skillopt_sleep.training.markdown import find_islands, split_items, split_lines

_BULLET = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?\Z")


def replace(body: str, target: str, content: str) -> Change:
    """Return the body with the content in place of the target.

    A bullet in front of the target stays. Content of several lines needs a target of whole lines. Raises
    EditRefused when the target is missing, not unique or in an island, or the content is there already.
    """
    anchor = locate(body, target)
    start, end = anchor.start, anchor.end
    _refuse_islands(body, start, end)
    rest = body[:start] + body[end:]
    refuse_present(rest, split_rules(content) or split_items(content))
    prefix, whole = _surroundings(body, start, end)
    newline = newline_of(body)
    rules = split_rules(content)
    if "\n" not in content:
        text = strip_bullet(content) if rules else content
    elif not whole:
        raise EditRefused("content of several lines needs a target of whole lines")
    elif rules and prefix.strip():
        text = (newline + prefix).join(rules)
    else:
        indent = " " * len(prefix)
        first, *others = content.split("\n")
        text = newline.join([first, *(indent + line if line else line for line in others)])
    return Change(body[:start] + text + body[end:], "replaced", (start, end), anchor)


def delete(body: str, target: str) -> Change:
    """Return the body without the target.

    When nothing but a bullet would stay of the target's lines they go as well, and no double blank line is
    left behind. Raises EditRefused when the target is missing, not unique or in an island.
    """
    anchor = locate(body, target)
    start, end = anchor.start, anchor.end
    _refuse_islands(body, start, end)
    _, whole = _surroundings(body, start, end)
    if whole:
        lines = split_lines(body)
        start = next(line.start for line in reversed(lines) if line.start <= start)
        end = next(line.after for line in lines if end <= line.after)
        before, after = split_lines(body[:start]), split_lines(body[end:])
        if after and after[0].blank and (not before or before[-1].blank):
            end += after[0].after
    elif body[start - 1 : start] == " " and not body[end : end + 1].isalnum():
        start -= 1
    _refuse_islands(body, start, end)
    return Change(body[:start] + body[end:], "deleted", (start, end), anchor)


def _surroundings(body: str, start: int, end: int) -> tuple[str, bool]:
    """Return what stands before the span on its line, and whether the span is all the text of its lines."""
    line_start = body.rfind("\n", 0, start) + 1
    line_end = body.find("\n", end)
    prefix = body[line_start:start]
    suffix = body[end : line_end if line_end >= 0 else len(body)]
    return prefix, bool(_BULLET.match(prefix)) and not suffix.strip()


def _refuse_islands(body: str, start: int, end: int) -> None:
    for island in find_islands(body):
        if not island.overlaps(start, end):
            continue
        if island.kind == "protected":
            raise EditRefused("the target lies in a protected region")
        if island.kind == "comment":
            raise EditRefused("the target lies in a comment")
        covers = start <= island.start and end >= len(body[: island.end].rstrip())
        lines = split_lines(body[island.start : island.end])
        inner_start = island.start + lines[0].after
        inner_end = island.start + lines[-1].start if island.closed else island.end
        if not covers and not (inner_start <= start and end <= inner_end):
            raise EditRefused("the target holds a part of a code block: name the whole block or lines inside")
