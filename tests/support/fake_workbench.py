"""A workbench whose agent does what the prompt says; workers of a test's cluster import it by name."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from skillopt_replay.errors import Unavailable
from skillopt_replay.executors.contract import Workbench
from skillopt_replay.rollouts import Outcome, Rollout, Score, Usage
from skillopt_replay.sandbox.choose import choose


class FakeAgent:
    """Notes the start and the end of each run in `log`, with the worker's process id."""

    identity = "fake 1"
    estimate = Usage(input_tokens=10, cost_usd=0.01)
    needs_workspace = False
    secrets: tuple[str, ...] = ()

    def __init__(self, log: Path, forges: str = "") -> None:
        self._log = log
        self._forges = forges

    def note(self, text: str) -> None:
        with self._log.open("a") as file:
            file.write(f"{text} {os.getpid()}\n")

    async def run(self, task, skill, workspace, limits) -> Rollout:
        self.note(f"start {task.id}")
        try:
            await asyncio.sleep(float(task.prompt))
        except asyncio.CancelledError:
            self.note(f"cancelled {task.id}")
            raise
        self.note(f"end {task.id}")
        made = Rollout(
            task=task.id,
            skill=skill.digest if skill else "",
            agent=self.identity,
            model="fake",
            outcome=Outcome.FINISHED,
            answer=f"HERON {task.id}",
        )
        if self._forges == "version":
            return OldRollout(task.id, self.identity, Outcome.FINISHED, made.answer)
        return msgspec.structs.replace(made, **{self._forges: "another"}) if self._forges else made


class OldRollout(msgspec.Struct, frozen=True):
    """A result as another version of ours might give it."""

    task: str
    agent: str
    outcome: Outcome
    answer: str
    notes: tuple[str, ...] = ()
    score: Score | None = None


@dataclass(frozen=True)
class Opener:
    folder: str
    broken: bool = False
    forges: str = ""

    @asynccontextmanager
    async def open(self):
        if self.broken:
            raise Unavailable("no agent on this machine", hint="install one")
        root = Path(self.folder) / f"runs-{os.getpid()}"
        root.mkdir(exist_ok=True)
        log = Path(self.folder) / "log.txt"
        agent = FakeAgent(log, self.forges)
        agent.note("opened -")
        yield Workbench(agent=agent, sandbox=choose("none"), root=root)
        agent.note("closed -")

    def __call__(self):
        return self.open()
