"""The size budget of a skill, and what to do when an edit does not fit into it any more."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from skillopt_replay.skills import Skill
from skillopt_sleep.training.records import Edit, EditResult
from skillopt_sleep.training.words import count_tokens


class SizeBudget(msgspec.Struct, frozen=True, kw_only=True):
    """How many tokens (characters / 4) a skill may have, and to how few a compression may bring it.

    Raises ValueError when the two are not 1 <= least <= most.
    """

    least: int = 300
    most: int = 2000

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most:
            raise ValueError(
                f"a size budget of {self.least} to {self.most} tokens: it must be 1 <= least <= most"
            )


class Compression(msgspec.Struct, frozen=True, kw_only=True):
    """A skill has to become shorter: from `tokens` to `wanted`, never below `least`.

    `held_back` are the edits that did not fit; there is room for them at `wanted`, if there can be any.
    """

    tokens: int
    wanted: int
    least: int
    held_back: tuple[Edit, ...]


def needs_compression(skill: Skill, results: Iterable[EditResult], budget: SizeBudget) -> Compression | None:
    """Return what a compression of the skill has to reach, None when the skill and its edits fit.

    `results` is what `apply_edits` said of the edits that led to `skill`.
    """
    held_back = tuple(result.edit for result in results if result.over_size)
    tokens = count_tokens(skill.text)
    if not held_back and tokens <= budget.most:
        return None
    room = sum(count_tokens(edit.content) + 1 for edit in held_back)
    wanted = min(max(budget.most - room, budget.least), max(tokens - 1, budget.least))
    return Compression(tokens=tokens, wanted=wanted, least=budget.least, held_back=held_back)
