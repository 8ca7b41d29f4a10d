"""What the document itself must keep to, before anything is run: legal, within its size, and held regions."""

from __future__ import annotations

import re
from collections.abc import Collection

from skillopt_gate.disguises import list_readings, simplify
from skillopt_replay.skills import Skill, find_problems
from skillopt_sleep.training.markdown import find_protected, fold
from skillopt_sleep.training.words import count_tokens
from skillopt_staging.front_matter import same_front_matter

# What opens or closes a region, and the heading that the one for reminders has.
_MARK = re.compile(r"<!-- (?:SLOW_UPDATE|APPENDIX)_(?:START|END) -->|## Reminders")
_ORDER = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b[^.;:]{0,40}"
    r"\b(?:previous|prior|earlier|above|preceding|system|developer|other|your|all)\b[^.;:]{0,20}"
    r"\b(?:instructions?|prompts?|messages?|guidelines?|directions?|safeguards?|restrictions?)\b"
)


def find_objections(
    candidate: Skill, incumbent: Skill | None, *, max_tokens: int, rules: Collection[str] = ()
) -> list[str]:
    """Return what speaks against the candidate's text; empty when nothing does.

    A skill adds to what the agent was told; one that has it ignore the rest is no skill.

    `max_tokens` bounds the document (characters / 4); one that was larger before may shrink. Front matter
    and protected regions of the incumbent stay as they are; only training itself may write into them, and
    then nothing but `rules`, its edits that rest on the user's words.
    """
    problems = find_problems(candidate)
    if incumbent is not None and candidate.text.split() == incumbent.text.split():
        problems.append("it is the skill that is live already")
    size = count_tokens(candidate.text)
    if size > max_tokens and (incumbent is None or len(candidate.text) > len(incumbent.text)):
        problems.append(f"it has {size} tokens, {max_tokens} allowed")
    if incumbent is not None:
        if not same_front_matter(incumbent.text, candidate.text):
            problems.append("its front matter is not the one in force")
        if _protected(incumbent.body) != _protected(candidate.body) and not _says_only(
            candidate.body, incumbent.body, rules
        ):
            problems.append("a protected region was changed")
    known = _find_orders(incumbent.text) if incumbent else set()
    orders = sorted(_find_orders(candidate.text) - known)
    return problems + [f'it tells the agent to put its instructions aside: "{order}"' for order in orders]


def _find_orders(text: str) -> set[str]:
    """Return the orders to ignore other instructions, whatever letters or encoding they come in."""
    readings = {" ".join(simplify(reading).split()) for reading in list_readings(text)}
    return {found.group() for reading in readings for found in _ORDER.finditer(reading)}


def _says_only(body: str, before: str, rules: Collection[str]) -> bool:
    """Say whether the protected regions hold rules, and nothing else but what they held before."""
    new = {fold(rule) for rule in rules}
    known = {fold(line) for region in _protected(before) for line in region.splitlines()}
    lines = [line.strip() for region in _protected(body) for line in region.splitlines()]
    said = {fold(line) for line in lines if line and not _MARK.fullmatch(line)}
    return not said.isdisjoint(new) and said <= new | known


def _protected(body: str) -> list[str]:
    return [body[island.start : island.end] for island in find_protected(body)]
