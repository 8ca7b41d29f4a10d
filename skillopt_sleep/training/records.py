"""Edits, candidates and the settings of a training run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from skillopt_replay.skill_files import SKILL_FILE
from skillopt_replay.skills import Skill

if TYPE_CHECKING:
    from skillopt_replay.rollouts import Rollout
    from skillopt_replay.tasks import Task


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


class TrainingConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a run, under the names of the training core's keys.

    `learning_rate` is the most edits a candidate may carry; `candidates` how many are raced on train;
    `minibatch_size` how many failed rollouts one reflection sees; `max_skill_tokens` the size budget
    (characters / 4), as `evidence_tokens` is for what one reflection is shown of the rollouts and
    `reply_tokens` for the optimizer's reply. `temperature` is the optimizer's from the second variant on;
    the first is always asked at 0. `race_passes` is how many tasks the incumbent passed are raced again,
    to notice what a candidate breaks.
    """

    seed: int = 42
    learning_rate: int = 4
    minibatch_size: int = 4
    candidates: int = 2
    max_skill_tokens: int = 2000
    concurrency: int = 2
    evidence_tokens: int = 900
    reply_tokens: int = 500
    temperature: float = 0.3
    race_passes: int = 3


class TrainingResult(msgspec.Struct, frozen=True, kw_only=True):
    """The candidates, best first, and the incumbent's train score over all valid runs.

    `candidates` is empty when nothing beat the incumbent on train; `note` then says why in one sentence.
    `rollouts` counts the runs of this epoch, `valid` the train tasks the incumbent's score rests on,
    `rejected` are the candidates that lost the race (best first), `problems` what went wrong while asking
    the optimizer.
    """

    candidates: tuple[Candidate, ...]
    incumbent_hard: float
    incumbent_soft: float
    rollouts: int
    note: str
    rejected: tuple[Candidate, ...] = ()
    problems: tuple[str, ...] = ()
    valid: int = 0


class Roller(Protocol):
    """Replays a task with a skill and scores it; repeats of the same pair are numbered from 0."""

    async def __call__(self, task: Task, skill: Skill | None, repeat: int) -> Rollout: ...
