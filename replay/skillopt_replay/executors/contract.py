"""What an executor is, and what it works with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from skillopt_replay.protocols import Agent, Limits
from skillopt_replay.sandbox.contract import Sandbox, Toolchains
from skillopt_replay.setup import Setup
from skillopt_replay.skills import Skill
from skillopt_replay.tasks import Task

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from skillopt_replay.rollouts import Rollout


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One rollout to be made, in a workspace that `setup` made ready.

    `sample` tells repeated runs of the same task and skill apart, from 0.
    """

    task: Task
    skill: Skill | None
    limits: Limits
    sample: int = 0
    setup: Setup | None = None


@dataclass(frozen=True, kw_only=True)
class Workbench:
    """What a machine makes rollouts with; workspaces are made below `root`, a private folder."""

    agent: Agent
    sandbox: Sandbox
    root: Path
    toolchains: Toolchains = Toolchains()  # noqa: RUF009 - frozen


class Opener(Protocol):
    """Opens the workbench of the machine it is called on. It is pickled, so it holds settings, no secrets.

    Two equal openers open the same workbench, so they have to be hashable by their content.
    """

    def __call__(self) -> AbstractAsyncContextManager[Workbench]: ...

    def __hash__(self) -> int: ...

    def __eq__(self, other: object, /) -> bool: ...


class Executor(Protocol):
    """Makes rollouts, as many at a time as it has slots."""

    @property
    def name(self) -> str:
        """Where the rollouts run, for the report."""
        ...

    @property
    def slots(self) -> int: ...

    async def run(self, job: Job) -> Rollout:
        """Return the scored rollout; waits for a free slot.

        Whatever the infrastructure does, also a machine that goes away, is an outcome of the rollout.
        Cancelled, it ends the run wherever that is. Raises ValueError for a task without checks.
        """
        ...
