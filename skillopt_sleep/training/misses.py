"""What to tell the optimizer of edits whose target was not found, so that it can name it right.

One such round is worth its price: the rule is there already, only its place is wrong.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import msgspec

from skillopt_replay.skill_files import SKILL_FILE
from skillopt_replay.skills import Skill
from skillopt_sleep.training.anchors import find_all
from skillopt_sleep.training.markdown import find_islands, split_lines
from skillopt_sleep.training.records import Edit, EditResult
from skillopt_sleep.training.words import content_words

_NEAR = 3
_LINE = 200
_ALIKE = 0.5
_RUN = 4  # a shorter run of characters is found anywhere


class Miss(msgspec.Struct, frozen=True, kw_only=True):
    """An edit whose target is nowhere, or in several places.

    `near` are lines of the document that can be named instead, best first: the ones most like the target,
    or the ones that hold it.
    """

    edit: Edit
    detail: str
    near: tuple[str, ...]


def collect_misses(body: str, results: Iterable[EditResult]) -> tuple[Miss, ...]:
    """Return the edits that missed, with the nearest lines of `body`, the text the optimizer was shown."""
    return tuple(
        Miss(edit=r.edit, detail=r.detail, near=_find_near(body, r.edit.target)) for r in results if r.miss
    )


def tell_misses(skill: Skill, results: Iterable[EditResult]) -> str:
    """Return what to tell the optimizer of the edits that missed, each by the file it names; "" for none."""
    results = list(results)
    told = []
    for path in dict.fromkeys(result.edit.file for result in results):
        own = [result for result in results if result.edit.file == path]
        file = skill.find(path)
        if path == SKILL_FILE or file is not None:
            told.append(render_misses(collect_misses(file.text if file else skill.body, own)))
        else:
            there = ", ".join([SKILL_FILE, *(other.path for other in skill.files)])
            told += [f"{r.edit.op}: {r.detail} (it has: {there})" for r in own if r.miss]
    return "\n".join(filter(None, told))


def render_misses(misses: Iterable[Miss]) -> str:
    """Return what to tell the optimizer, one line an edit; "" when nothing missed."""
    lines = []
    for miss in misses:
        near = "; ".join(f'"{line}"' for line in miss.near)
        hint = f" (the skill has: {near})" if near else ""
        lines.append(f'{miss.edit.op} "{" ".join(miss.edit.target.split())}": {miss.detail}{hint}')
    return "\n".join(lines)


def _find_near(body: str, target: str) -> tuple[str, ...]:
    reach = [island for island in find_islands(body) if island.kind != "code"]
    lines = [
        line
        for line in split_lines(body)
        if not line.blank and not any(island.overlaps(line.start, line.after) for island in reach)
    ]
    places = find_all(body, target)
    if places:
        holding = [line for line in lines if any(line.start <= start < line.after for start, _ in places)]
        return tuple(dict.fromkeys(_shorten(line.text) for line in holding))[:_NEAR]
    wanted = " ".join(target.casefold().split())
    scored = [(_liken(wanted, line.text), line) for line in lines]
    best = sorted(scored, key=lambda pair: (-pair[0], pair[1].start))
    found = [_shorten(line.text) for likeness, line in best if likeness >= _ALIKE]
    return tuple(dict.fromkeys(found))[:_NEAR]


def _liken(wanted: str, line: str) -> float:
    """Return how much of what is wanted the line has, 0 to 1: by runs of characters, or by words."""
    size = _LINE * 2
    sought, there = wanted[:size], " ".join(line.casefold().split())[:size]
    matcher = difflib.SequenceMatcher(None, sought, there, autojunk=False)
    runs = sum(block.size for block in matcher.get_matching_blocks() if block.size >= _RUN)
    shared = content_words(sought) & content_words(there)
    return max(runs / max(len(sought), 1), len(shared) / max(len(content_words(sought)), 1))


def _shorten(line: str) -> str:
    """Return the line, or so much of its start that it can still be found by it."""
    text = line.strip()
    return text if len(text) <= _LINE else text[:_LINE].rsplit(" ", 1)[0]
