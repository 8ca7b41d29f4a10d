"""Edits, what becomes of them, and candidates."""

from __future__ import annotations

from typing import Literal

import msgspec

from skillopt_replay.skill_files import SKILL_FILE
from skillopt_replay.skills import Skill


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """One bounded change of a skill: of the body of its SKILL.md, or of the `file` it names.

    `add` appends `content`; `insert_after` puts it after the block that holds `target`; `replace` and
    `delete` act on `target`. `because` cites the evidence by id; `sessions` are the sessions whose user's
    words the edit rests on: training never lets an edit without them into a candidate. `support` counts
    the tasks behind the cited evidence, `source` tells whether those failed or passed, and `rank` is the
    edit's place in the reply it came from, 0 for the first.
    """

    op: Literal["add", "insert_after", "replace", "delete"]
    content: str = ""
    target: str = ""
    because: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    support: int = 0
    source: Literal["failure", "success"] = "failure"
    rank: int = 0
    file: str = SKILL_FILE


class RejectedEdit(msgspec.Struct, frozen=True):
    """An edit that was turned down, by the gate or `by_user`, and why.

    `effect` is the measured difference of the mean score (-1 to 1) between the skill with the edit and the
    skill without, None when nothing was measured; `shared` says that other edits were measured along with
    it. `target` is what a delete was to take away.
    """

    content: str
    reason: str
    effect: float | None = None
    by_user: bool = False
    shared: bool = False
    target: str = ""


class EditResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an edit; `detail` says where it went, or why it was not applied.

    `miss`: the target was not found or not unique, or a script would break: asking again may help.
    `over_size`: only the size budget stood against it. `matched` is the text that the target was found as,
    byte for byte, "" when there was nothing to find; `exact` says that target and text agree in every
    character.
    """

    edit: Edit
    applied: bool
    detail: str
    miss: bool = False
    over_size: bool = False
    matched: str = ""
    exact: bool = False


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A skill with edits applied, and how it did on the train tasks it was raced on.

    `train_hard` and `train_soft` are means over the `raced` tasks on which both it and the incumbent had a
    valid run; `base_hard` and `base_soft` are the incumbent's means on the very same tasks.
    """

    skill: Skill
    edits: tuple[EditResult, ...]
    train_hard: float
    train_soft: float
    reasoning: str = ""
    base_hard: float = 0.0
    base_soft: float = 0.0
    raced: int = 0
