"""The two edits that only add text: `add` and `insert_after`."""

from __future__ import annotations

from typing import NamedTuple

from skillopt_sleep.training.anchors import Anchor, AnchorMissed, find_anchor, strip_bullet
from skillopt_sleep.training.contents import (
    RULES,
    Change,
    EditRefused,
    drop_rules_heading,
    is_rules,
    split_rules,
)
from skillopt_sleep.training.markdown import (
    ITEM,
    Line,
    find_block_end,
    find_headings,
    find_islands,
    fold,
    split_items,
    split_lines,
)


class _Place(NamedTuple):
    """Where text goes, and whether it joins a list there: `bullet` is then the list's indent and marker."""

    offset: int
    bullet: str = ""


def add(body: str, content: str) -> Change:
    """Return the body with the content added, and where it went.

    Rules (a sentence, or a bullet list) go to the end of the section "Rules", which is made when there is
    none; anything else becomes a block at the end. Both stay before a protected region that ends the body.
    Raises EditRefused when all of it is there already.
    """
    rules = refuse_present(body, split_rules(content))
    newline = newline_of(body)
    if not rules:
        refuse_present(body, _refuse_bare_heading(content))
        block = drop_rules_heading(content).split("\n")
        return Change(splice(body, _find_end(body), newline.join(block)), "added at the end")
    section = _find_rules(body)
    if section is None:
        lines = [f"## {RULES}", "", *(f"- {rule}" for rule in rules)]
        changed = splice(body, _find_end(body), newline.join(lines))
        return Change(changed, f"added under a new heading {RULES}")
    lines = [f"{section.bullet or '- '}{rule}" for rule in rules]
    text = newline.join(lines)
    return Change(splice(body, section.offset, text, tight=bool(section.bullet)), f"added under {RULES}")


def insert_after(body: str, target: str, content: str) -> Change:
    """Return the body with the content after the block that holds the target, and where it went.

    After a list item it becomes an item of that list. Raises EditRefused when the target is missing, not
    unique or protected, or the content is there already.
    """
    anchor = locate(body, target)
    start, end = anchor.start, anchor.end
    for island in find_islands(body):
        if island.overlaps(start, end) and island.kind != "code":
            raise EditRefused(f"the target lies in a {_NAMES[island.kind]}")
    rules = split_rules(content)
    refuse_present(body, rules or _refuse_bare_heading(content))
    offset = find_block_end(body, end - 1)
    line = next(line for line in split_lines(body) if end - 1 < line.after)
    item = ITEM.match(line.text)
    where = f"inserted after line {body.count(chr(10), 0, offset) or 1}"
    if item and rules:
        bullet = f"{item['indent']}{_next_marker(item['marker'])} "
        text = newline_of(body).join(f"{bullet}{rule}" for rule in rules)
        return Change(splice(body, offset, text, tight=True), where, anchor=anchor)
    return Change(splice(body, offset, content.replace("\n", newline_of(body))), where, anchor=anchor)


_NAMES = {"protected": "protected region", "comment": "comment", "code": "code block"}


def locate(body: str, target: str) -> Anchor:
    """Return the place of the target. Raises EditRefused (a miss) when it is not there exactly once."""
    try:
        return find_anchor(body, target)
    except AnchorMissed as missed:
        raise EditRefused(str(missed), miss=True) from missed


def refuse_present(body: str, items: list[str]) -> list[str]:
    """Return those of the items that the body does not have. Raises EditRefused when it has them all."""
    present = {fold(item) for item in split_items(body)}
    fresh = [item for item in dict.fromkeys(items) if fold(strip_bullet(item)) not in present]
    if items and not fresh:
        raise EditRefused("the skill says so already")
    return fresh


def _refuse_bare_heading(content: str) -> list[str]:
    items = split_items(content)
    if not items:
        raise EditRefused("the content is a heading without text")
    return items


def newline_of(body: str) -> str:
    first = body.find("\n")
    return "\r\n" if first > 0 and body[first - 1] == "\r" else "\n"


def splice(body: str, offset: int, text: str, *, tight: bool = False) -> str:
    """Return the body with the text on lines of its own at the offset, set off by blank lines unless tight.

    `tight` leaves no blank line before the text: it goes on with the list above.
    """
    newline = newline_of(body)
    before, after = body[:offset], body[offset:]
    lead = newline if before and not before.endswith("\n") else ""
    if before.strip() and not tight and split_lines(before)[-1].text.strip():
        lead += newline
    following = split_lines(after)
    joins = tight and bool(following) and bool(ITEM.match(following[0].text))
    tail = newline * 2 if following and not following[0].blank and not joins else newline
    return before + lead + text + tail + after


def _find_end(body: str) -> int:
    """Return the end of the body, before protected regions and open islands that reach it."""
    end = len(body)
    for island in reversed(find_islands(body)):
        if (island.kind == "protected" or not island.closed) and not body[island.end : end].strip():
            end = island.start
    return end


def _find_rules(body: str) -> _Place | None:
    headings = find_headings(body)
    index = next((i for i, heading in enumerate(headings) if is_rules(heading)), None)
    if index is None:
        return None
    start = headings[index].line.after
    end = headings[index + 1].line.start if index + 1 < len(headings) else len(body)
    islands = find_islands(body)
    for island in islands:
        if start <= island.start < end and (island.kind == "protected" or not island.closed):
            end = island.start
    lines = split_lines(body)
    filled = [line for line in lines if start <= line.start and line.end <= end and not line.blank]
    if not filled:
        return _Place(start)
    last = filled[-1]
    if any(island.overlaps(last.start, last.after) for island in islands):
        return _Place(max(last.after, *(i.end for i in islands if i.overlaps(last.start, last.after))))
    return _Place(last.after, _bullet_of(filled))


def _bullet_of(filled: list[Line]) -> str:
    """Return the indent and marker for one more item, or "" when the last block is no list."""
    block = [filled[-1]]
    for line in reversed(filled[:-1]):
        if line.after != block[0].start:
            break
        block.insert(0, line)
    items = [item for item in (ITEM.match(line.text) for line in block) if item]
    if not items:
        return ""
    outer = min(items, key=lambda item: len(item["indent"]))
    last = [item for item in items if item["indent"] == outer["indent"]][-1]
    return f"{last['indent']}{_next_marker(last['marker'])} "


def _next_marker(marker: str) -> str:
    return f"{int(marker[:-1]) + 1}{marker[-1]}" if marker[:-1].isdigit() else marker
