"""What one call may use at most, from what is to be sent: that much is reserved before it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import msgspec

from skillopt_replay.rollouts import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from skillopt_replay.protocols import Agent, ChatModel, Message
    from skillopt_replay.skills import Skill
    from skillopt_replay.tasks import Task

# A server's own words around each message, and around all of them.
_AROUND_EACH, _AROUND_ALL = 16, 1_024


@runtime_checkable
class BoundsCalls(Protocol):
    """A ChatModel whose calls take more or less with their prompt."""

    def bound(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int = 2048
    ) -> Usage:
        """Return the most that `complete` may use with these arguments."""
        ...


@runtime_checkable
class BoundsRuns(Protocol):
    """An Agent, or another that runs tasks, whose runs take more or less with their task."""

    def bound(self, task: Task, skill: Skill | None) -> Usage:
        """Return the most that a run of this task may use."""
        ...


class Estimates(Protocol):
    """Who runs tasks and says what a run may take."""

    @property
    def estimate(self) -> Usage: ...


def bound_call(
    model: ChatModel,
    messages: Sequence[Message],
    *,
    schema: Mapping[str, Any] | None = None,
    max_tokens: int = 2048,
) -> Usage:
    """Return the most that a call may use: the model's estimate where it cannot say that of a prompt."""
    if isinstance(model, BoundsCalls):
        return model.bound(messages, schema=schema, max_tokens=max_tokens)
    return model.estimate


def bound_run(agent: Agent | Estimates, task: Task, skill: Skill | None) -> Usage:
    """Return the most that a run may use: the agent's estimate where it cannot say that of a task."""
    return agent.bound(task, skill) if isinstance(agent, BoundsRuns) else agent.estimate


def bound_prompt(messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> int:
    """Return the most tokens that the messages can be: no token is shorter than a byte.

    A schema may be sent as it is and told in words as well.
    """
    said = sum(len(message.content.encode("utf-8", "replace")) + _AROUND_EACH for message in messages)
    shown = 2 * len(msgspec.json.encode(schema)) if schema is not None else 0
    return said + shown + _AROUND_ALL
