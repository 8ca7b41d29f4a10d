"""Opening the agent, the optimizer and the sandbox a night works with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillopt_replay.agents.chat import ChatAgent
from skillopt_replay.agents.claude_code import ClaudeCode, find_claude

from skillopt_replay.errors import Unavailable
from skillopt_replay.models import open_model
from skillopt_replay.protocols import Limits
from skillopt_replay.sandbox import choose
from skillopt_replay.tasks import Contains, Exact, Matches, SectionPresent, Task
from skillopt_sleep.config import Settings
from skillopt_sleep.errors import UsageError
from skillopt_sleep.paths import Paths

if TYPE_CHECKING:
    from skillopt_replay.protocols import Agent, ChatModel
    from skillopt_replay.sandbox import Sandbox

Progress = Callable[[int, int], None]

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


class NothingToSandbox:
    """The sandbox of a chat target: it runs nothing, and a check that would is refused before."""

    name = "not needed: a chat model runs no commands"


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


def suits(agent: str, task: Task) -> bool:
    """Say whether the target can be judged by the task's checks: a chat model only by its answer."""
    if agent != "chat":
        return True
    return all(isinstance(check, Exact | Contains | Matches | SectionPresent) for check in task.checks)


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
                context = open_model(spec, env=env, folder=paths.models, progress=progress)
                opened[spec] = await stack.enter_async_context(context)
            return opened[spec]

        if target == "chat":
            agent: Agent = ChatAgent(await model(settings.target.model or "local"))
            sandbox: Sandbox = NothingToSandbox()
        else:
            sandbox = choose(settings.replay.sandbox)
            agent = ClaudeCode.find(
                env,
                model=settings.target.model,
                settings=settings.target.settings,
                sandbox=sandbox,
                limits=Limits(
                    seconds=settings.replay.seconds, turns=settings.replay.turns, usd=settings.replay.usd
                ),
            )
        spec = settings.optimizer.model
        if spec == "auto":
            spec = "claude" if target == "claude_code" else settings.target.model or "local"
        optimizer = await model(spec)
        notes = (
            f"target {agent.identity} ({'as set' if settings.target.agent != 'auto' else 'found by auto'})",
            f"optimizer {optimizer.identity} ({'as set' if settings.optimizer.model != 'auto' else 'auto'})",
        )
        yield Backends(agent=agent, optimizer=optimizer, sandbox=sandbox, notes=notes)
