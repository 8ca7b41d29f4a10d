"""Environments by name: tasks from files for a chat model, or one's own as `module:callable`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from skillopt_replay.agents.chat import ChatAgent
from skillopt_replay.executors.contract import Executor, Job
from skillopt_replay.protocols import Agent, Limits
from skillopt_replay.reserves import bound_run
from skillopt_replay.setup import Setup
from skillopt_replay.tasks import Task
from skillopt_sleep.errors import UsageError
from skillopt_sleep.training.config import Config, EnvSection
from skillopt_sleep.training.contract import SPLITS, Environment, answer
from skillopt_sleep.training.task_files import load_splits

if TYPE_CHECKING:
    from skillopt_replay.protocols import ChatModel
    from skillopt_replay.rollouts import Rollout, Usage
    from skillopt_replay.skills import Skill

Factory = Callable[..., Environment]
"""Called with the config and the target, and with `env.options` as keyword arguments.

The target is a ChatModel, or an AgentTarget where the backend of the target is an agent.
"""

TASKS = "tasks"
_PARTS = ("name", "identity", "estimate", "load", "rollout")
_SHOWN = "docs/training.md shows an environment"
_FACTORIES: dict[str, Factory] = {}


def register(name: str) -> Callable[[Factory], Factory]:
    """Make an environment known under a name."""

    def add(factory: Factory) -> Factory:
        _FACTORIES[name] = factory
        return factory

    return add


class AgentTarget(msgspec.Struct, frozen=True, kw_only=True):
    """An agent as target: `executor` runs it, in workspaces that `find_setup` says how to make ready.

    `agent` is the one the executor runs, for its identity and its estimate.
    """

    agent: Agent
    executor: Executor
    limits: Limits = Limits()
    find_setup: Callable[[Task], Setup | None] = lambda _task: None


def open_environment(config: Config, target: ChatModel | AgentTarget) -> Environment:
    """Return the environment the configuration names.

    Raises UsageError when there is none of that name or its options do not fit, TrainingError when its data
    cannot be read.
    """
    name = config.env.name
    factory = find_factory(name)
    try:
        environment = factory(config, target, **config.env.options)
    except TypeError as error:
        # Anything deeper is a fault of its own, not of how it is called.
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise
        if config.env.options:
            given = ", ".join(sorted(config.env.options))
            raise UsageError(f"env.options ({given}) do not fit {name}: {error}") from error
        raise UsageError(
            f"{name} is not called with the configuration and the target: {error}", hint=_SHOWN
        ) from error
    lacking = [part for part in _PARTS if not hasattr(environment, part)]
    if lacking:
        raise UsageError(f"{name} gives no environment: it has no {' and no '.join(lacking)}", hint=_SHOWN)
    return environment


def find_factory(name: str) -> Factory:
    """Return what makes the environment of this name. Raises UsageError when there is none."""
    factory = _FACTORIES.get(name) or (_import(name) if ":" in name else None)
    if factory is not None:
        return factory
    known = f"{', '.join(sorted(_FACTORIES))}, or module:callable for one of your own"
    if name:
        raise UsageError(f"env.name is {name!r}", hint=f"it is one of {known}")
    raise UsageError(
        "env.name is not set", hint=f"name the run's settings with --config FILE; in them it is {known}"
    )


def _import(name: str) -> Factory:
    module, _, attribute = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except Exception as error:  # a module may raise anything while it is imported
        absent = isinstance(error, ModuleNotFoundError) and error.name == module.partition(".")[0]
        kind = (
            ""
            if isinstance(error, ImportError | AttributeError | SyntaxError)
            else f"{type(error).__name__}: "
        )
        raise UsageError(
            f"env.name is {name!r}, which cannot be imported: {kind}{error}",
            hint="a module lies beside the configuration file, in the working folder, or is installed"
            if absent
            else f"{module} is {getattr(sys.modules.get(module), '__file__', None) or 'a module of yours'}",
        ) from error
    if not callable(found):
        raise UsageError(f"env.name is {name!r}, which cannot be called")
    return cast("Factory", found)


@register(TASKS)
def open_tasks(config: Config, target: ChatModel | AgentTarget, *, name: str = TASKS) -> Environment:
    """Return the tasks of files, for a chat model or an agent."""
    splits = read_files(config, works_on_files=isinstance(target, AgentTarget), name=name)
    if isinstance(target, AgentTarget):
        return AgentTasks(name, splits, target)
    return FileTasks(name, splits, target, max_tokens=config.env.max_completion_tokens)


def read_files(config: Config, *, works_on_files: bool, name: str = TASKS) -> dict[str, list[Task]]:
    """Return the splits of the files that the configuration names. Raises TrainingError, UsageError."""
    env = config.env
    ignored = [key for key in ("data_path", "split_ratio") if getattr(env, key) != getattr(EnvSection(), key)]
    if env.split_dir and not env.split_mode and ignored:
        raise UsageError(
            f"beside env.split_dir nothing heeds {' and '.join(f'env.{key}' for key in ignored)}",
            hint="leave one or the other out, or say with env.split_mode (split_dir or ratio) which counts",
        )
    in_splits = env.split_mode == "split_dir" or (not env.split_mode and bool(env.split_dir))
    return load_splits(
        split_dir=Path(env.split_dir) if in_splits and env.split_dir else None,
        data_path=Path(env.data_path) if not in_splits and env.data_path else None,
        ratio=env.split_ratio,
        seed=env.split_seed,
        skill=env.skill_name or name,
        works_on_files=works_on_files,
    )


class FileTasks:
    """Tasks from files, answered by a chat model in one reply and scored by their checks."""

    def __init__(
        self, name: str, splits: Mapping[str, Sequence[Task]], model: ChatModel, *, max_tokens: int
    ) -> None:
        self.name = name
        self._model = model
        self._max_tokens = max_tokens
        self._splits = splits

    @property
    def identity(self) -> str:
        return f"chat {self._model.identity}, {self._max_tokens} tokens"

    @property
    def estimate(self) -> Usage:
        return self._model.estimate

    def bound(self, task: Task, skill: Skill | None) -> Usage:
        """Return the most that the answer to this task may use."""
        return ChatAgent(self._model, max_tokens=self._max_tokens).bound(task, skill)

    def load(self, split: str) -> Sequence[Task]:
        """Return the tasks of the split."""
        return self._splits[split]

    async def rollout(self, task: Task, skill: Skill, sample: int) -> Rollout:
        """Ask the model once."""
        return await answer(self._model, task, skill, max_tokens=self._max_tokens)


class AgentTasks:
    """Tasks that an agent works on, in workspaces of replay: any of its checks that code can make will do.

    `splits` holds the tasks of train, val and test. Whoever opened the target's executor closes it.
    """

    def __init__(self, name: str, splits: Mapping[str, Sequence[Task]], target: AgentTarget) -> None:
        self.name = name
        self.identity = target.agent.identity
        self.estimate = target.agent.estimate
        self._splits = splits
        self._target = target

    def bound(self, task: Task, skill: Skill | None) -> Usage:
        """Return the most that a run of this task may use."""
        return bound_run(self._target.agent, task, skill)

    def load(self, split: str) -> Sequence[Task]:
        """Return the tasks of the split."""
        return self._splits[split]

    async def rollout(self, task: Task, skill: Skill, sample: int) -> Rollout:
        """Run the agent in a workspace of its own."""
        target = self._target
        setup = target.find_setup(task)
        return await target.executor.run(
            Job(task=task, skill=skill, limits=target.limits, sample=sample, setup=setup)
        )


SPLIT_NAMES = {**{split: split for split in SPLITS}, "valid_seen": "val", "valid_unseen": "test"}


def read_splits(name: str) -> tuple[str, ...]:
    """Return the split of this name or alias, or all of them for `all`. Raises UsageError for another."""
    if name == "all":
        return SPLITS
    if name not in SPLIT_NAMES:
        raise UsageError(f"no split is called {name!r}", hint=f"it is all or one of {', '.join(SPLIT_NAMES)}")
    return (SPLIT_NAMES[name],)
