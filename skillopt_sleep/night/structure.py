"""What the document itself must keep to, before anything is run: legal, within its size, and held regions."""

from __future__ import annotations

from skillopt_replay.skills import Skill, find_problems
from skillopt_sleep.training.markdown import find_protected
from skillopt_sleep.training.words import count_tokens
from skillopt_staging.front_matter import same_front_matter


def find_objections(candidate: Skill, incumbent: Skill | None, *, max_tokens: int) -> list[str]:
    """Return what speaks against the candidate's text; empty when nothing does.

    `max_tokens` bounds the document (characters / 4); one that was larger before may shrink. Front matter
    and protected regions of the incumbent stay as they are.
    """
    problems = find_problems(candidate)
    size = count_tokens(candidate.text)
    if size > max_tokens and (incumbent is None or len(candidate.text) > len(incumbent.text)):
        problems.append(f"it has {size} tokens, {max_tokens} allowed")
    if incumbent is not None:
        if not same_front_matter(incumbent.text, candidate.text):
            problems.append("its front matter is not the one in force")
        if _protected(incumbent.body) != _protected(candidate.body):
            problems.append("a protected region was changed")
    return problems


def _protected(body: str) -> list[str]:
    return [body[island.start : island.end] for island in find_protected(body)]
