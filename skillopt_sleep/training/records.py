"""Edits, candidates and the settings of a training run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from skillopt_replay.skills import Skill

if TYPE_CHECKING:
    from skillopt_replay.rollouts import Rollout
    from skillopt_replay.tasks import Task


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """One bounded change of a skill's body.

    `add` appends `content`; `insert_after` puts it after the line that holds `target`; `replace` and
    `delete` act on `target`. `because` cites the evidence by id; `sessions` are the sessions whose user's
    words the edit rests on. An edit without either is never applied.
    """

    op: Literal["add", "insert_after", "replace", "delete"]
    content: str = ""
    target: str = ""
    because: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()


class EditResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an edit; `detail` says why when it was not applied."""

    edit: Edit
    applied: bool
    detail: str


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A skill with edits applied, and how it did on the train tasks (means over valid runs)."""

    skill: Skill
    edits: tuple[EditResult, ...]
    train_hard: float
    train_soft: float
    reasoning: str = ""


class TrainingConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a run, under the names of the training core's keys.

    `learning_rate` is the most edits a candidate may carry; `candidates` how many are raced on train;
    `minibatch_size` how many failed rollouts one reflection sees; `max_skill_tokens` the size budget
    (characters / 4).
    """

    seed: int = 42
    learning_rate: int = 4
    minibatch_size: int = 4
    candidates: int = 2
    max_skill_tokens: int = 2000
    concurrency: int = 2


class TrainingResult(msgspec.Struct, frozen=True, kw_only=True):
    """The candidates, best first, and the incumbent's train score.

    Empty when nothing beat the incumbent on train; `note` then says why in one sentence.
    """

    candidates: tuple[Candidate, ...]
    incumbent_hard: float
    incumbent_soft: float
    rollouts: int
    note: str


class Roller(Protocol):
    """Replays a task with a skill and scores it; repeats of the same pair are numbered from 0."""

    async def __call__(self, task: Task, skill: Skill | None, repeat: int) -> Rollout: ...
