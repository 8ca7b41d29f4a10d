"""What `train` and `eval` share: configuration, secrets, models and environment."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt_sleep.events import Listener, tell_fetched
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
async def open_school(config: Config, *, optimizer: bool, listen: Listener) -> AsyncIterator[School]:
    """Open the models and the environment of the configuration; close them at the end.

    Secrets come from the environment, else from `.env` in the working folder, prices from the settings of
    the program. Faults of the data are told before a model is opened; `listen` is told of one that has to be
    fetched. Raises Unavailable, UsageError,
    TrainingError.
    """
    from skillopt_replay.errors import KeyMissing
    from skillopt_replay.models.registry import open_model
    from skillopt_sleep.cli.agent_targets import open_agent_target
    from skillopt_sleep.config import load
    from skillopt_sleep.night.workbenches import make_prices
    from skillopt_sleep.training.dotenv import read_env
    from skillopt_sleep.training.environments import TASKS, find_factory, open_environment, read_files
    from skillopt_sleep.training.naming import (
        ModelName,
        name_agent,
        name_optimizer,
        name_rewriter,
        name_target,
    )
    from skillopt_sleep.training.preparing import cut_splits, make_initial

    find_factory(config.env.name)
    agent = name_agent(config.model)
    if config.env.name == TASKS:
        cut_splits(read_files(config, works_on_files=bool(agent)).__getitem__, config)
        if optimizer:
            make_initial(find_initial(config), TASKS, config)
    paths = locate()
    prices = make_prices(load(paths.config))
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
                progress=tell_fetched(listen),
                prices=prices,
                slots=config.env.workers,
                work=make_private(paths.replays),
                effort=name.effort,
                extra=name.extra,
                timeout_s=name.timeout_s,
            )
            try:
                opened.append((name, await stack.enter_async_context(context)))
            except KeyMissing as error:
                hint = f"{error.hint}, in the environment or in a file called .env in the working folder"
                raise KeyMissing(error.message, hint=hint) from error
            return opened[-1][1]

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


def find_initial(config: Config) -> Path | None:
    """Return the path of the skill that training begins with, None for an empty one."""
    return Path(config.env.skill_init) if config.env.skill_init else None


def read_settings(file: Path | None, overrides: Sequence[str] | None) -> Config:
    """Return the configuration of a command line; modules that lie beside it can be imported from now on.

    So can those of the working folder. What is installed goes first. Raises UsageError.
    """
    from skillopt_sleep.training.reading import read

    config = read(file, list(overrides or ()))
    if ":" in config.env.name:
        for folder in (file.parent if file else Path(), Path()):
            if str(folder.resolve()) not in sys.path:
                sys.path.append(str(folder.resolve()))
    return config
