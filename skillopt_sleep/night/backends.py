"""Opening the agent, the optimizer and the sandbox a night works with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt_replay.agents.chat import ChatAgent
from skillopt_replay.agents.claude_cli import find_claude
from skillopt_replay.agents.claude_code import ClaudeCode
from skillopt_replay.errors import Unavailable
from skillopt_replay.executors.contract import Workbench
from skillopt_replay.executors.local import LocalExecutor
from skillopt_replay.judging.judge import name_judge
from skillopt_replay.models.registry import open_model
from skillopt_replay.rollouts import Usage
from skillopt_replay.sandbox import Probe, choose
from skillopt_replay.tasks import (
    CommandMatched,
    Contains,
    Exact,
    JsonSchema,
    Matches,
    Pairwise,
    Rubric,
    SectionPresent,
    Task,
    needs_judge,
)
from skillopt_sleep.config import Settings
from skillopt_sleep.errors import UsageError
from skillopt_sleep.night.identity import name_judged
from skillopt_sleep.paths import Paths, make_private

if TYPE_CHECKING:
    from skillopt_replay.executors.contract import Executor
    from skillopt_replay.protocols import Agent, ChatModel
    from skillopt_replay.sandbox import Endpoint, Sandbox

Progress = Callable[[int, int], None]

# What one run of a client reads and writes when it works on a real project, cached tokens included.
_TOKENS_OF_A_RUN = 200_000

_JUDGE_WRITING = (CommandMatched, Contains, Exact, JsonSchema, Matches, Pairwise, Rubric, SectionPresent)

_NO_ONE = Unavailable(
    "no agent to run the tasks with",
    hint="install Claude Code and sign in (claude), or set target.agent chat and a model:"
    " skillopt-sleep config set target.agent chat; skillopt-sleep config set target.model local",
)


@dataclass(frozen=True)
class Backends:
    """What a night replays and learns with; `notes` say what was picked and why."""

    agent: Agent
    optimizer: ChatModel
    sandbox: Sandbox
    notes: tuple[str, ...]
    executor: Executor
    judge: ChatModel | None = None

    @property
    def identity(self) -> str:
        """Who runs the tasks and who judges them: what evidence holds for."""
        return name_judged(self.agent.identity, name_judge(self.judge) if self.judge else "")


class Unneeded:
    """The sandbox of a chat target, which runs nothing: whatever wants to run all the same is refused."""

    name = "not needed: a chat model runs no commands"
    offline = True
    filters = True

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
        """Raise Unavailable."""
        raise Unavailable(f"a chat model as target runs no commands, so {argv[0]} was not started")

    def probe(self) -> Probe:
        """Say that nothing will run."""
        return Probe(name=self.name, works=False, detail="nothing is run")


def choose_target(settings: Settings, env: Mapping[str, str]) -> str:
    """Return claude_code or chat. Raises Unavailable when auto finds neither, UsageError if unknown."""
    wanted = settings.target.agent
    if wanted in {"claude_code", "chat"}:
        return wanted
    if wanted != "auto":
        raise UsageError(f"target.agent is {wanted!r}", hint="it must be auto, claude_code or chat")
    found = find_claude(env)
    if found and found.signed_in:
        return "claude_code"
    if settings.target.model:
        return "chat"
    raise _NO_ONE


def suits(agent: str, task: Task, *, judged: bool = False) -> bool:
    """Say whether the target can be judged by the task's checks: a chat model only by what it writes.

    `judged` says whether there is a model for the checks that no code can make.
    """
    if not judged and needs_judge([task]):
        return False
    if agent != "chat":
        return True
    return all(isinstance(check, _JUDGE_WRITING) and not getattr(check, "path", "") for check in task.checks)


@asynccontextmanager
async def open_backends(
    settings: Settings, paths: Paths, env: Mapping[str, str], *, progress: Progress | None = None
) -> AsyncIterator[Backends]:
    """Open what the settings name; close it at the end. Raises Unavailable with what to do."""
    target = choose_target(settings, env)
    async with AsyncExitStack() as stack:
        opened: dict[str, ChatModel] = {}

        async def model(spec: str) -> ChatModel:
            if spec not in opened:
                context = open_model(
                    spec, env=env, cache_dir=paths.models, progress=progress, work=make_private(paths.replays)
                )
                opened[spec] = await stack.enter_async_context(context)
            return opened[spec]

        if target == "chat":
            agent: Agent = ChatAgent(
                await model(settings.target.model or "local"), max_tokens=settings.replay.answer_tokens
            )
            sandbox: Sandbox = Unneeded()
        else:
            sandbox = choose(settings.replay.sandbox, settings.replay.network)
            cli = find_claude(env)
            if cli is None:
                raise Unavailable(
                    "claude is not on the PATH", hint="install Claude Code, or set target.agent"
                )
            agent = ClaudeCode(
                cli,
                sandbox,
                model=settings.target.model or None,
                project_settings=settings.target.settings == "project",
                estimate=Usage(input_tokens=_TOKENS_OF_A_RUN, cost_usd=settings.replay.usd),
            )
        spec = settings.optimizer.model
        if spec == "auto":
            spec = "claude" if target == "claude_code" else settings.target.model or "local"
        optimizer = await model(spec)
        notes = []
        if settings.target.agent == "auto":
            notes.append(f"auto picked {agent.identity} as target")
        if settings.optimizer.model == "auto":
            notes.append(f"auto picked {optimizer.identity} as optimizer")
        judge = await model(settings.judge.model) if settings.judge.model else None
        workbench = Workbench(agent=agent, sandbox=sandbox, root=make_private(paths.replays))
        executor: Executor = LocalExecutor(workbench, slots=settings.replay.concurrency)
        paid: tuple[Agent | ChatModel, ...] = (agent, optimizer, *([judge] if judge else []))
        costs = {one.identity: one.estimate.cost_usd for one in paid}
        notes += [
            f"what {name} costs is not known here: it is missing in the dollars, and of the ceilings only"
            " calls, tokens and minutes bound it"
            for name, cost in costs.items()
            if cost is None
        ]
        yield Backends(
            agent=agent,
            optimizer=optimizer,
            sandbox=sandbox,
            notes=tuple(notes),
            executor=executor,
            judge=judge,
        )
