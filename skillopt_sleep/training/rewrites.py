"""Hold a rewritten skill to what no rewrite may touch.

A model that writes the whole document anew is asked to leave the front matter and the protected regions
alone. Here that is made true: what it changed of them is put back, and a text that cannot be put right is
refused with the reason.
"""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from skillopt_replay.skills import Skill, SkillInvalid, find_problems
from skillopt_sleep.training.contents import UNSEEN, EditRefused, drop_invisible
from skillopt_sleep.training.inserts import newline_of, splice
from skillopt_sleep.training.markdown import (
    Island,
    find_code,
    find_islands,
    find_markers,
    find_protected,
    fold,
    split_items,
)
from skillopt_sleep.training.regions import split_regions
from skillopt_sleep.training.words import count_tokens

_WRAPPED = re.compile(r"\A(`{3,})(?:markdown|md)?[ \t]*\n(.*)\n\1\Z", re.DOTALL)


class Rewrite(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a rewritten skill.

    `skill` is None when the text was refused, for the reason `refused`; `over_size` when only its size
    stands against it. `restored` says what was put back. `added` and `removed` are the rules, paragraphs and
    code blocks that only the one or the other has, in their order.
    """

    skill: Skill | None
    refused: str = ""
    over_size: bool = False
    restored: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def enforce_rewrite(skill: Skill, text: str, *, max_tokens: int, min_tokens: int = 0) -> Rewrite:
    """Return the skill with `text` as its new document or body, as far as it may be.

    The front matter and the other files stay those of the skill, byte for byte, and so does every protected
    region, at the place the text has it or else at the end. Refused are a text that opens a code block or
    comment without closing it, hides something from a reader, changes nothing, or has more than `max_tokens`
    or fewer than `min_tokens` (characters / 4, of the whole document). Raises SkillInvalid when the skill is
    not legal.
    """
    problems = find_problems(skill)
    if problems:
        raise SkillInvalid(f"skill {skill.name}: {'; '.join(problems)}")
    restored: list[str] = []
    try:
        body = _take_body(skill, text, restored)
        body = _restore_regions(skill.body, body, restored)
        _check(skill.body, body)
        result = msgspec.structs.replace(skill, text=skill.text.removesuffix(skill.body) + body)
        _check_document(skill, result, max_tokens, min_tokens)
    except EditRefused as refused:
        return Rewrite(
            skill=None, refused=refused.detail, over_size=refused.over_size, restored=tuple(restored)
        )
    old, new = split_items(skill.body), split_items(body)
    return Rewrite(
        skill=result,
        restored=tuple(restored),
        added=_subtract(new, old),
        removed=_subtract(old, new),
    )


def _subtract(items: list[str], others: list[str]) -> tuple[str, ...]:
    known = {fold(item) for item in others}
    return tuple(item for item in dict.fromkeys(items) if fold(item) not in known)


def _take_body(skill: Skill, text: str, restored: list[str]) -> str:
    """Return the body of the text: without a front matter, and without a fence around the whole."""
    plain = drop_invisible(text)
    wrapped = _WRAPPED.match(plain.strip())
    if wrapped and not any(line.startswith(wrapped[1]) for line in wrapped[2].split("\n")):
        plain = wrapped[2]
    plain = plain.lstrip("\n")
    written = Skill(skill.name, plain)
    body = written.body
    if body != plain:
        try:
            front = written.front_matter
        except SkillInvalid:
            front = {}
        if not front:
            raise EditRefused("the rewrite begins with a front matter that cannot be read")
        own = skill.front_matter
        changed = sorted(key for key in own.keys() | front.keys() if own.get(key) != front.get(key))
        restored += [f"front matter: {key}" for key in changed]
    lines = [line.rstrip() for line in body.split("\n")]
    body = "\n".join(lines).strip("\n")
    lead = "\n" if skill.body.startswith(("\n", "\r\n")) else ""
    return f"{lead}{body}\n".replace("\n", newline_of(skill.body))


def _find_blocks(body: str) -> list[tuple[int, int]]:
    """Return the spans that are protected, those that overlap as one."""
    blocks: list[tuple[int, int]] = []
    for region in find_protected(body):
        if blocks and region.start < blocks[-1][1]:
            blocks[-1] = (blocks[-1][0], max(blocks[-1][1], region.end))
        else:
            blocks.append((region.start, region.end))
    return blocks


def _restore_regions(before: str, after: str, restored: list[str]) -> str:
    own = [before[start:end] for start, end in _find_blocks(before)]
    spans = _find_blocks(after)
    same = [_shape(text) for text in own] == [_shape(after[start:end]) for start, end in spans]
    if same and (not _hides_region(after) or _hides_region(before)):
        for text, (start, end) in reversed(list(zip(own, spans, strict=True))):
            if _plain(after[start:end]) != _plain(text):
                restored.append("a protected region was changed")
            after = after[:start] + text + after[end:]
        return after
    torn = Counter(m.kind for m in find_markers(after) if m.opens)
    torn.subtract(Counter(m.kind for m in find_markers(after) if not m.opens))
    if any(torn.values()):
        raise EditRefused("the rewrite tears a protected region: one of its markers is missing")
    restored.append(
        "a protected region was dropped, moved into code or added" if own else "a region was added"
    )
    outside = split_regions(after).outside if spans else after
    if find_markers(outside):
        raise EditRefused("the rewrite shows region markers in a code block")
    for text in own:
        outside = splice(outside, len(outside), text)
    # A region without its end reaches to the end of the skill: not even a line feed may follow.
    closed = not own or find_protected(own[-1])[-1].closed
    return outside if closed else outside[: outside.rindex(own[-1]) + len(own[-1])]


def _shape(text: str) -> list[tuple[str, bool]]:
    return [(marker.kind, marker.opens) for marker in find_markers(text)]


def _plain(text: str) -> str:
    """Return the text as a model can hand it back: line feeds, nothing invisible, no spaces at line ends."""
    return "\n".join(line.rstrip() for line in drop_invisible(text).split("\n")).strip()


def _hides_region(body: str) -> bool:
    code = find_code(body)
    return any(
        block.overlaps(*span) for block in code for span in _find_blocks(body) if not _inside(block, span)
    )


def _inside(block: Island, span: tuple[int, int]) -> bool:
    return span[0] <= block.start and block.end <= span[1]


def _check(before: str, after: str) -> None:
    texts = [[body[i.start : i.end] for i in find_protected(body)] for body in (before, after)]
    if texts[0] != texts[1]:
        raise EditRefused("the protected regions of the skill cannot be kept: its markers are broken")
    known, found = find_islands(before), find_islands(after)
    if sum(not i.closed and i.kind != "protected" for i in found) > sum(
        not i.closed and i.kind != "protected" for i in known
    ):
        raise EditRefused("the rewrite opens a code block or comment and does not close it")
    comments = {before[i.start : i.end] for i in known if i.kind == "comment"}
    if any(i.kind == "comment" and after[i.start : i.end] not in comments for i in found):
        raise EditRefused("the rewrite holds an HTML comment that the skill did not have")
    lines = {line.strip() for line in before.split("\n")}
    shown = _outside_code(after)
    if any(UNSEEN.match(line) and line.strip() not in lines for line in shown.split("\n")):
        raise EditRefused("the rewrite holds Markdown that a reader does not see")


def _outside_code(body: str) -> str:
    for block in reversed(find_code(body)):
        body = body[: block.start] + body[block.end :]
    return body


def _check_document(skill: Skill, result: Skill, max_tokens: int, min_tokens: int) -> None:
    problems = find_problems(result)
    if problems:
        raise EditRefused(f"the skill would not be legal: {'; '.join(problems)}")
    if result.text.split() == skill.text.split():
        raise EditRefused("the rewrite changes nothing")
    size = count_tokens(result.text)
    if size > max_tokens and len(result.text) >= len(skill.text):
        raise EditRefused(f"{size} tokens, over the size budget of {max_tokens}", over_size=True)
    if size < min(min_tokens, count_tokens(skill.text)):
        raise EditRefused(f"{size} tokens, fewer than the {min_tokens} that have to stay")
