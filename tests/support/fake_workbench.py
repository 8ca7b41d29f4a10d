"""A workbench whose agent does what the prompt says; workers of a test's cluster import it by name."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from skillopt_replay.errors import Unavailable
from skillopt_replay.executors.contract import Workbench
from skillopt_replay.rollouts import Outcome, Rollout, Usage
from skillopt_replay.sandbox.choose import choose


class FakeAgent:
    """Notes the start and the end of each run in `log`, with the worker's process id."""

    identity = "fake 1"
    estimate = Usage(input_tokens=10, cost_usd=0.01)
    needs_workspace = False
    secrets: tuple[str, ...] = ()

    def __init__(self, log: Path) -> None:
        self._log = log

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
        return Rollout(
            task=task.id,
            skill=skill.digest if skill else "",
            agent=self.identity,
            model="fake",
            outcome=Outcome.FINISHED,
            answer=f"HERON {task.id}",
        )


@dataclass(frozen=True)
class Opener:
    folder: str
    broken: bool = False

    @asynccontextmanager
    async def open(self):
        if self.broken:
            raise Unavailable("no agent on this machine", hint="install one")
        root = Path(self.folder) / f"runs-{os.getpid()}"
        root.mkdir(exist_ok=True)
        log = Path(self.folder) / "log.txt"
        agent = FakeAgent(log)
        agent.note("opened -")
        yield Workbench(agent=agent, sandbox=choose("none"), root=root)
        agent.note("closed -")

    def __call__(self):
        return self.open()
