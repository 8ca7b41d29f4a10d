"""Environments by name: tasks from files for a chat model, or one's own as `module:callable`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from skillopt_replay.executors.contract import Executor, Job
from skillopt_replay.protocols import Limits
from skillopt_replay.setup import Setup
from skillopt_sleep.errors import UsageError
from skillopt_sleep.training.config import Config
from skillopt_sleep.training.contract import SPLITS, Environment, answer
from skillopt_sleep.training.task_files import load_splits

if TYPE_CHECKING:
    from skillopt_replay.protocols import Agent, ChatModel
    from skillopt_replay.rollouts import Rollout, Usage
    from skillopt_replay.skills import Skill
    from skillopt_replay.tasks import Task

Factory = Callable[..., Environment]
"""Called with the config and the target model, and with `env.options` as keyword arguments."""

_FACTORIES: dict[str, Factory] = {}


def register(name: str) -> Callable[[Factory], Factory]:
    """Make an environment known under a name."""

    def add(factory: Factory) -> Factory:
        _FACTORIES[name] = factory
        return factory

    return add


def open_environment(config: Config, target: ChatModel) -> Environment:
    """Return the environment the configuration names.

    Raises UsageError when there is none of that name or its options do not fit, TrainingError when its data
    cannot be read.
    """
    name = config.env.name
    factory = _FACTORIES.get(name) or (_import(name) if ":" in name else None)
    if factory is None:
        raise UsageError(
            f"env.name is {name!r}" if name else "env.name is not set",
            hint=f"it is one of {', '.join(sorted(_FACTORIES))}, or module:callable for one of your own",
        )
    try:
        return factory(config, target, **config.env.options)
    except TypeError as error:
        if config.env.options and "argument" in str(error):
            given = ", ".join(sorted(config.env.options))
            raise UsageError(f"env.options ({given}) do not fit {name}: {error}") from error
        raise


def _import(name: str) -> Factory:
    module, _, attribute = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"env.name is {name!r}, which cannot be imported: {error}") from error
    if not callable(found):
        raise UsageError(f"env.name is {name!r}, which cannot be called")
    return cast("Factory", found)


@register("tasks")
class FileTasks:
    """Tasks from files, answered by a chat model in one reply and scored by their checks."""

    def __init__(self, config: Config, target: ChatModel, *, name: str = "tasks") -> None:
        env = config.env
        self.name = name
        self._model = target
        self._max_tokens = env.max_completion_tokens
        self._splits = load_splits(
            split_dir=Path(env.split_dir) if env.split_dir else None,
            data_path=Path(env.data_path) if env.data_path else None,
            ratio=env.split_ratio,
            seed=env.split_seed,
            skill=env.skill_name or name,
        )

    @property
    def identity(self) -> str:
        return f"chat {self._model.identity}, {self._max_tokens} tokens"

    @property
    def estimate(self) -> Usage:
        return self._model.estimate

    def load(self, split: str) -> Sequence[Task]:
        """Return the tasks of the split."""
        return self._splits[split]

    async def rollout(self, task: Task, skill: Skill, sample: int) -> Rollout:
        """Ask the model once."""
        return await answer(self._model, task, skill, max_tokens=self._max_tokens)


class AgentTasks:
    """Tasks that an agent works on, in workspaces of replay: any of its checks that code can make will do.

    `executor` runs the agent; `agent` is the same one, for its identity and its estimate. `splits` holds the
    tasks of train, val and test.
    """

    def __init__(
        self,
        name: str,
        splits: Mapping[str, Sequence[Task]],
        executor: Executor,
        agent: Agent,
        *,
        limits: Limits | None = None,
        setup: Setup | None = None,
    ) -> None:
        self.name = name
        self.identity = agent.identity
        self.estimate = agent.estimate
        self._splits = splits
        self._executor = executor
        self._limits = limits or Limits()
        self._setup = setup

    def load(self, split: str) -> Sequence[Task]:
        """Return the tasks of the split."""
        return self._splits[split]

    async def rollout(self, task: Task, skill: Skill, sample: int) -> Rollout:
        """Run the agent in a workspace of its own."""
        return await self._executor.run(
            Job(task=task, skill=skill, limits=self._limits, sample=sample, setup=self._setup)
        )


SPLIT_NAMES = {**{split: split for split in SPLITS}, "valid_seen": "val", "valid_unseen": "test"}


def read_split(name: str) -> str:
    """Return the split of this name or alias. Raises UsageError for another."""
    if name not in SPLIT_NAMES:
        raise UsageError(f"no split is called {name!r}", hint=f"it is one of {', '.join(SPLIT_NAMES)}")
    return SPLIT_NAMES[name]
