"""The SkillOpt training core: train a skill document the way one trains a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillopt_sleep.training.config import Config as Config
    from skillopt_sleep.training.contract import Environment as Environment
    from skillopt_sleep.training.contract import answer as answer
    from skillopt_sleep.training.contract import make_task as make_task
    from skillopt_sleep.training.environments import AgentTarget as AgentTarget
    from skillopt_sleep.training.environments import AgentTasks as AgentTasks
    from skillopt_sleep.training.memory import Memory as Memory
    from skillopt_sleep.training.reading import read as read_config
    from skillopt_sleep.training.summary import Summary as Summary
    from skillopt_sleep.training.trainer import Trainer as Trainer

_PLACES = {
    "AgentTarget": ("environments", "AgentTarget"),
    "AgentTasks": ("environments", "AgentTasks"),
    "Config": ("config", "Config"),
    "Environment": ("contract", "Environment"),
    "Memory": ("memory", "Memory"),
    "Summary": ("summary", "Summary"),
    "Trainer": ("trainer", "Trainer"),
    "answer": ("contract", "answer"),
    "make_task": ("contract", "make_task"),
    "read_config": ("reading", "read"),
}

__all__ = [
    "AgentTarget",
    "AgentTasks",
    "Config",
    "Environment",
    "Memory",
    "Summary",
    "Trainer",
    "answer",
    "make_task",
    "read_config",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: the night needs only parts of this package."""
    from importlib import import_module

    if name not in _PLACES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    module, attribute = _PLACES[name]
    return getattr(import_module(f"{__name__}.{module}"), attribute)
