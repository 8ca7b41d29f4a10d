"""What `train` and `eval` share: configuration, secrets, models and environment."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt_sleep.paths import locate, make_private

if TYPE_CHECKING:
    from skillopt_replay.protocols import ChatModel
    from skillopt_sleep.training.config import Config
    from skillopt_sleep.training.contract import Environment

ConfigFile = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="YAML with the run's settings.")
]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(metavar="SECTION.KEY=VALUE", help="Settings that replace the file's."),
]


@dataclass(frozen=True)
class School:
    """What a command trains or evaluates with."""

    environment: Environment
    optimizer: ChatModel | None
    rewriter: ChatModel | None = None


@asynccontextmanager
async def open_school(config: Config, *, optimizer: bool) -> AsyncIterator[School]:
    """Open the models and the environment of the configuration; close them at the end.

    Secrets come from the environment, else from `.env` in the working folder. Raises Unavailable, UsageError.
    """
    from skillopt_replay.models.registry import open_model
    from skillopt_sleep.cli.agent_targets import open_agent_target
    from skillopt_sleep.training.dotenv import read_env
    from skillopt_sleep.training.environments import open_environment
    from skillopt_sleep.training.naming import (
        ModelName,
        name_agent,
        name_optimizer,
        name_rewriter,
        name_target,
    )

    paths = locate()
    env = read_env(Path.cwd(), os.environ)
    async with AsyncExitStack() as stack:
        opened: list[tuple[ModelName, ChatModel]] = []

        async def model(name: ModelName) -> ChatModel:
            for known, one in opened:
                if known == name:
                    return one
            context = open_model(
                name.spec,
                env=name.env,
                cache_dir=paths.models,
                slots=config.env.workers,
                work=make_private(paths.replays),
                effort=name.effort,
                extra=name.extra,
                timeout_s=name.timeout_s,
            )
            opened.append((name, await stack.enter_async_context(context)))
            return opened[-1][1]

        agent = name_agent(config.model)
        if agent:

            async def named(spec: str) -> ChatModel:
                return await model(ModelName(spec=spec, env=env))

            target = await stack.enter_async_context(open_agent_target(agent, config, paths, env, named))
            environment = open_environment(config, target)
        else:
            name = name_target(config.model, env, timeout_s=config.env.exec_timeout)
            environment = open_environment(config, await model(name))
        rewriter = name_rewriter(config.model, env)
        yield School(
            environment,
            await model(name_optimizer(config.model, env)) if optimizer else None,
            await model(rewriter) if optimizer and rewriter else None,
        )


def as_list(overrides: Sequence[str] | None) -> list[str]:
    """Return the overrides of a command line."""
    return list(overrides or ())
