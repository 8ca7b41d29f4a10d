"""What an agent of the user's own may tell, one JSON object a line, once its first line says that it will.

docs/agents.md describes each of them for those who write one.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from skillopt_replay.rollouts import Fault

VERSION = 1


class Opening(msgspec.Struct, frozen=True):
    """The first line: `skillopt` is the version of what follows."""

    skillopt: int
    model: str = ""


class Say(msgspec.Struct, frozen=True, tag="say"):
    text: str


class Answer(msgspec.Struct, frozen=True, tag="answer"):
    """The answer; without one, what was said last is it."""

    text: str


class Call(msgspec.Struct, frozen=True, tag="call"):
    """A tool call begins; `command` is the command line, for tools that run one."""

    id: str
    name: str
    command: str | None = None
    arguments: dict[str, Any] | None = None


class CallEnd(msgspec.Struct, frozen=True, tag="call_end"):
    """A tool call ended; `error` is what the tool said when it failed."""

    id: str
    exit_code: int | None = None
    error: str | None = None
    output: str = ""


class Denied(msgspec.Struct, frozen=True, tag="denied"):
    """A tool was refused to the agent."""

    name: str


class SkillLoaded(msgspec.Struct, frozen=True, tag="skill_loaded"):
    """The agent read the skill on offer."""


class Spent(msgspec.Struct, frozen=True, tag="usage"):
    """What one call to the model used; cached tokens are not part of `input_tokens`. null: not known."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cost_usd: float | None = None
    model: str | None = None


class Failed(msgspec.Struct, frozen=True, tag="error"):
    """The run failed: with a fault for reasons outside of the agent, without one by its own doing."""

    text: str
    fault: Fault | None = None


Told: TypeAlias = Say | Answer | Call | CallEnd | Denied | SkillLoaded | Spent | Failed


class Kind(msgspec.Struct, frozen=True):
    """What a line is, where the rest of it may be anything."""

    type: str = ""


def read_opening(line: bytes) -> Opening | None:
    """Return the opening that a first line is, None when it is the beginning of a plain answer."""
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        opening = msgspec.json.decode(line, type=Opening)
    except (msgspec.DecodeError, RecursionError):
        return None
    return opening if opening.skillopt == VERSION else None
