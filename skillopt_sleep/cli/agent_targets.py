"""Agents as targets of training: in the sandbox and under the limits that nights have."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skillopt_sleep.errors import UsageError

if TYPE_CHECKING:
    from skillopt_replay.executors.contract import Executor, Job
    from skillopt_replay.protocols import ChatModel
    from skillopt_replay.rollouts import Rollout
    from skillopt_sleep.paths import Paths
    from skillopt_sleep.settings import Settings
    from skillopt_sleep.training.config import Config
    from skillopt_sleep.training.environments import AgentTarget

_UNNAMED = "local"  # the default of model.target, which names no agent's model


@asynccontextmanager
async def open_agent_target(
    agent: str,
    config: Config,
    paths: Paths,
    env: Mapping[str, str],
    model: Callable[[str], Awaitable[ChatModel]],
) -> AsyncIterator[AgentTarget]:
    """Open the agent of this name; its executor is closed in the end, whatever happens.

    Sandbox, network and limits are those of the program's settings, but for what the configuration of the run
    sets. Raises Unavailable, UsageError.
    """
    from skillopt_sleep.config import load
    from skillopt_sleep.night.executors import open_executor
    from skillopt_sleep.night.roller import make_limits
    from skillopt_sleep.night.setups import choose_setup
    from skillopt_sleep.night.workbenches import open_workbench
    from skillopt_sleep.training.environments import AgentTarget

    settings = apply_config(load(paths.config), agent, config)
    env = _find_program(env, agent, config.model.agent_path)
    workbench = await open_workbench(agent, settings, paths, env, model)
    async with open_executor(agent, settings, workbench) as executor:
        yield AgentTarget(
            agent=workbench.agent,
            executor=RedactingExecutor(executor),
            limits=make_limits(settings),
            find_setup=partial(choose_setup, settings, env),
        )


def apply_config(settings: Settings, agent: str, config: Config) -> Settings:
    """Return the settings with what the configuration of a run says of its target."""
    model, env = config.model, config.env
    if agent == "command" and model.reasoning_effort:
        raise UsageError(
            "model.reasoning_effort does not reach a program of your own",
            hint="give it as an argument in model.command",
        )
    target = msgspec.structs.replace(
        settings.target,
        agent=agent,
        model="" if model.target == _UNNAMED else model.target,
        effort=model.reasoning_effort or settings.target.effort,
        command=model.command or settings.target.command,
    )
    replay = msgspec.structs.replace(
        settings.replay,
        concurrency=env.workers,
        seconds=env.exec_timeout or settings.replay.seconds,
        turns=env.max_turns or settings.replay.turns,
    )
    return msgspec.structs.replace(settings, target=target, replay=replay)


def _find_program(env: Mapping[str, str], agent: str, program: str) -> dict[str, str]:
    """Return the environment in which the client's program is found. Raises UsageError for another's name."""
    from skillopt_sleep.agents import BY_NAME

    path = Path(program).expanduser()
    if not program or agent not in BY_NAME:
        return dict(env)
    name = BY_NAME[agent].program
    if path.name != name or not os.access(path, os.X_OK):
        raise UsageError(f"model.agent_path is {program}", hint=f"it is the path of a program called {name}")
    return {**env, "PATH": os.pathsep.join([str(path.absolute().parent), env.get("PATH", "")])}


class RedactingExecutor:
    """Masks secrets in what an agent said, ran and was told, before anything of it is kept."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    @property
    def name(self) -> str:
        return self._executor.name

    @property
    def slots(self) -> int:
        return self._executor.slots

    async def run(self, job: Job) -> Rollout:
        """Return the rollout, without secrets; see Executor.run."""
        from skillopt_sleep.night.roller import redact_rollout

        return await asyncio.to_thread(redact_rollout, await self._executor.run(job))
