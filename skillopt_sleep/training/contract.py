"""What a training environment is, and what its tasks are made and scored with.

A custom environment is any object with these four members; nothing has to be inherited or registered.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import msgspec

from skillopt_replay.agents.chat import ChatAgent
from skillopt_replay.checks import evaluate, needs_files
from skillopt_replay.errors import Unavailable
from skillopt_replay.protocols import Limits
from skillopt_replay.rollouts import Outcome
from skillopt_replay.sandbox.contract import Probe
from skillopt_replay.tasks import Check, Task, needs_judge
from skillopt_sleep.errors import AppError

if TYPE_CHECKING:
    from skillopt_replay.protocols import ChatModel
    from skillopt_replay.rollouts import Rollout, Usage
    from skillopt_replay.sandbox import Endpoint
    from skillopt_replay.skills import Skill

SPLITS = ("train", "val", "test")


class TrainingError(AppError):
    """Training cannot begin or go on; nothing that was finished is lost."""


class Environment(Protocol):
    """Where a skill is trained: tasks in splits, and a way to run one of them with a skill.

    `name` names the benchmark (also the folder of its runs). `identity` changes whenever a rollout of the
    same task and skill could come out otherwise: agent, model, version of the scoring. `estimate` is what one
    rollout may cost at most.
    """

    @property
    def name(self) -> str: ...

    @property
    def identity(self) -> str: ...

    @property
    def estimate(self) -> Usage: ...

    def load(self, split: str) -> Sequence[Task]:
        """Return the tasks of train, val or test, always in the same order; ids are unique over all."""
        ...

    async def rollout(self, task: Task, skill: Skill, sample: int) -> Rollout:
        """Run the task with the skill; samples of the same pair are told apart by their number, from 0.

        A failed run is a rollout that scores low. When the infrastructure failed the outcome says so, and
        there is no score. A rollout without a score is scored by `evaluate` when the environment has it,
        else by the task's checks. Many rollouts are asked for at a time, up to `env.workers`.
        """
        ...


@runtime_checkable
class Evaluates(Protocol):
    """An environment that scores by itself what the checks of replay cannot."""

    async def evaluate(self, task: Task, rollout: Rollout) -> Rollout:
        """Return the rollout with its score."""
        ...


@runtime_checkable
class Pays(Protocol):
    """An environment whose rollouts are kept and paid for by itself: the ledger of the run is left out."""

    async def pay(self, task: Task, skill: Skill, sample: int) -> Rollout:
        """Return the scored rollout: the one that is kept, or a new one that is from now on."""
        ...


def make_task(id: str, prompt: str, *checks: Check, family: str = "", skill: str = "skill") -> Task:  # noqa: A002
    """Return a task of a benchmark: an id, what is asked, and what has to hold in the end.

    `family` groups tasks of one kind, for the report.
    """
    return Task(
        id=id,
        family=family or skill,
        title=family or skill,
        prompt=prompt,
        sessions=(),
        occurrences=1,
        client="",
        skill=skill,
        group=id,
        checks=checks,
    )


async def answer(model: ChatModel, task: Task, skill: Skill, *, max_tokens: int = 2048) -> Rollout:
    """Return the model's answer to the task, with the skill's text in its system message; not scored."""
    return await ChatAgent(model, max_tokens=max_tokens).run(task, skill, _NOWHERE, Limits())


async def score(task: Task, rollout: Rollout) -> Rollout:
    """Return the rollout scored by the task's checks in code.

    Raises TrainingError for checks that need a workspace or a judge: an environment with such tasks has to
    score its rollouts itself.
    """
    if not task.checks or needs_files(task.checks) or needs_judge([task]):
        raise TrainingError(
            f"task {task.id} cannot be scored by its answer alone",
            hint="give it a check of the answer, or score in the environment's evaluate",
        )
    scored = await evaluate(task.checks, rollout, _NOWHERE, _Nothing())
    return msgspec.structs.replace(rollout, score=scored)


def is_lost(rollout: Rollout) -> bool:
    """Return whether the rollout is missing data rather than a result."""
    return rollout.outcome is Outcome.INFRASTRUCTURE or rollout.score is None


_NOWHERE = Path("/nonexistent")


class _Nothing:
    """The sandbox of rollouts that run nothing."""

    name = "not needed: nothing is run"
    offline = True
    filters = True
    stamps = True
    memory = None

    def wrap(
        self,
        argv: Sequence[str],
        *,
        writable: Sequence[Path],
        readable: Sequence[Path],
        cwd: Path,
        network: bool = True,
        reach: Sequence[Endpoint] | None = None,
    ) -> list[str]:
        raise Unavailable(f"nothing is run here, so {argv[0]} was not started")

    def probe(self) -> Probe:
        return Probe(name=self.name, works=False, detail="nothing is run")
