"""Opening the agent, the optimizer and the sandbox a night works with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillopt_replay.errors import Unavailable
from skillopt_replay.judging.judge import name_judge
from skillopt_replay.models.registry import open_model
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
from skillopt_sleep.agents import AGENTS, BY_NAME, CHAT, COMMAND
from skillopt_sleep.events import Listener, ignore, tell_fetched
from skillopt_sleep.night.choosing import (
    Choice,
    Found,
    choose_optimizer,
    choose_target,
    needs_found,
)
from skillopt_sleep.night.executors import open_executor
from skillopt_sleep.night.identity import name_judged
from skillopt_sleep.night.workbenches import make_prices, open_workbench
from skillopt_sleep.paths import Paths, make_private
from skillopt_sleep.settings import Settings

if TYPE_CHECKING:
    from skillopt_replay.executors.contract import Executor
    from skillopt_replay.protocols import Agent, ChatModel
    from skillopt_replay.sandbox import Sandbox


_JUDGE_WRITING = (CommandMatched, Contains, Exact, JsonSchema, Matches, Pairwise, Rubric, SectionPresent)


@dataclass(frozen=True)
class Backends:
    """What a night replays and learns with; `notes` say what was picked and why.

    `remedies` says for each kind of call how to be let in again when the service refuses.
    """

    agent: Agent
    optimizer: ChatModel
    sandbox: Sandbox
    notes: tuple[str, ...]
    remedies: Mapping[str, str]
    executor: Executor
    judge: ChatModel | None = None

    def list_unpriced(self) -> list[str]:
        """Return the kinds of calls whose price is not known."""
        paid: dict[str, Agent | ChatModel | None] = {
            "rollout": self.agent,
            "optimizer": self.optimizer,
            "judge": self.judge,
        }
        return [kind for kind, one in paid.items() if one is not None and one.estimate.cost_usd is None]

    @property
    def identity(self) -> str:
        """Who runs the tasks and who judges them: what evidence holds for."""
        return name_judged(self.agent.identity, name_judge(self.judge) if self.judge else "")


def find_agents(env: Mapping[str, str]) -> dict[str, Found]:
    """Return the agents that are installed, by name; one whose program does not start is not signed in."""
    found = {}
    for kind in AGENTS:
        try:
            client = kind.find(env)
        except Unavailable as error:
            found[kind.name] = Found(version="", signed_in=False, hint=error.hint, trouble=error.message)
            continue
        if client is not None:
            found[kind.name] = Found(version=client.version, signed_in=client.signed_in, hint=client.hint)
    return found


def pick_target(settings: Settings, env: Mapping[str, str], clients_of_sessions: Mapping[str, int]) -> Choice:
    """Return who runs the tasks; programs are looked for only where the settings leave it open.

    Raises as `choose_target` does.
    """
    found = find_agents(env) if settings.target.agent == "auto" else {}
    return choose_target(settings, found, clients_of_sessions)


def pick_optimizer(settings: Settings, env: Mapping[str, str], target: str) -> Choice:
    """Return which model writes the edits, as `optimizer.model` names models."""
    return choose_optimizer(settings, target, find_agents(env) if needs_found(settings, target) else {})


def suits(agent: str, task: Task, *, judged: bool = False) -> bool:
    """Say whether the target can be judged by the task's checks: a chat model only by what it writes.

    `judged` says whether there is a model for the checks that no code can make.
    """
    if not judged and needs_judge([task]):
        return False
    if agent != CHAT:
        return True
    return all(isinstance(check, _JUDGE_WRITING) and not getattr(check, "path", "") for check in task.checks)


@asynccontextmanager
async def open_backends(
    settings: Settings,
    paths: Paths,
    env: Mapping[str, str],
    *,
    target: Choice | None = None,
    listen: Listener = ignore,
) -> AsyncIterator[Backends]:
    """Open what the settings name; close it at the end. Raises Unavailable with what to do.

    `target` is who runs the tasks, where that was picked before. A local model that is not there yet is
    fetched, which `listen` is told of.
    """
    picked = target or pick_target(settings, env, {})
    async with AsyncExitStack() as stack:
        opened: dict[str, ChatModel] = {}

        async def model(spec: str) -> ChatModel:
            if spec not in opened:
                context = open_model(
                    spec,
                    env=env,
                    cache_dir=paths.models,
                    progress=tell_fetched(listen),
                    prices=make_prices(settings),
                    work=make_private(paths.replays),
                )
                opened[spec] = await stack.enter_async_context(context)
            return opened[spec]

        workbench = await open_workbench(picked.agent, settings, paths, env, model)
        agent, sandbox = workbench.agent, workbench.sandbox
        writer = pick_optimizer(settings, env, picked.agent)
        optimizer = await model(writer.agent)
        judge = await model(settings.judge.model) if settings.judge.model else None
        executor = await stack.enter_async_context(open_executor(picked.agent, settings, workbench))
        paid: tuple[Agent | ChatModel, ...] = (agent, optimizer, *([judge] if judge else []))
        yield Backends(
            agent=agent,
            optimizer=optimizer,
            sandbox=sandbox,
            notes=(
                *_say_picked(agent, optimizer, picked, writer),
                *_say_unpriced(paid),
                *_say_unreached(settings, picked.agent),
                *([] if settings.replay.executor == "local" else [f"runs went to {executor.name}"]),
            ),
            remedies=_find_remedies(picked.agent, writer.agent, settings.judge.model),
            executor=executor,
            judge=judge,
        )


def _say_picked(agent: Agent, optimizer: ChatModel, target: Choice, writer: Choice) -> list[str]:
    notes = []
    if target.why:
        notes.append(f"auto picked {agent.identity} as target: {target.why}")
    if writer.why:
        notes.append(f"auto picked {optimizer.identity} as optimizer: {writer.why}")
    return notes


def _say_unpriced(paid: Sequence[Agent | ChatModel]) -> list[str]:
    costs = {one.identity: one.estimate.cost_usd for one in paid}
    return [
        f"what {name} costs is not known here: it is missing in the dollars, and of the ceilings only"
        " calls, tokens and minutes bound it"
        for name, cost in costs.items()
        if cost is None
    ]


def _say_unreached(settings: Settings, target: str) -> list[str]:
    bound = settings.replay.sandbox != "none" and settings.replay.network == "model"
    if target != COMMAND or settings.target.reach or not bound:
        return []
    return ["the program has no network: name the services it needs in target.reach"]


def _find_remedies(target: str, writer: str, judge: str) -> dict[str, str]:
    """Return how to be let in again, for the clients among target, optimizer and judge."""
    by_model = {kind.model: kind for kind in AGENTS if kind.model}
    kinds = {
        "rollout": BY_NAME.get(target),
        "optimizer": by_model.get(writer.partition(":")[0]),
        "judge": by_model.get(judge.partition(":")[0]),
    }
    return {call: kind.sign_in for call, kind in kinds.items() if kind is not None}
