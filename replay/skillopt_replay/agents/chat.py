"""A chat model as the agent: the task as one exchange, without tools."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from skillopt_replay.commands import list_written
from skillopt_replay.protocols import Message
from skillopt_replay.reserves import bound_call
from skillopt_replay.rollouts import Fault, Outcome, Rollout, RolloutCall
from skillopt_replay.skill_files import render_files

if TYPE_CHECKING:
    from pathlib import Path

    from skillopt_replay.protocols import ChatModel, Completion, Limits
    from skillopt_replay.rollouts import Usage
    from skillopt_replay.skills import Skill
    from skillopt_replay.tasks import Task

WRITTEN = "written"
_REFUSED = "the model refused"
FILE_TOKENS = 8_000  # of the files beside the SKILL.md that the message holds
_CUT = "the answer was cut at its longest length"
_OPENING = "You are a coding agent."
# Small models heed what comes last: with this line before the skill their answers are six times as long.
_CLOSING = "Reply with the command, code or text asked for, and nothing else: no explanation."


class ChatAgent:
    """Answers tasks with one completion; the skill's text is part of the system message.

    It runs nothing. The command lines it writes count as the ones it would run, so checks on commands hold
    for it as well; checks on files, or that run something, do not suit it.
    """

    needs_workspace = False

    def __init__(self, model: ChatModel, *, max_tokens: int = 2048) -> None:
        self._model = model
        self._max_tokens = max_tokens

    @property
    def identity(self) -> str:
        return f"chat {self._model.identity}"

    @property
    def estimate(self) -> Usage:
        return self._model.estimate

    def bound(self, task: Task, skill: Skill | None) -> Usage:
        """Return the most that a run of this task may use."""
        return bound_call(self._model, write_messages(task, skill), max_tokens=self._max_tokens)

    @property
    def secrets(self) -> tuple[str, ...]:
        return ()  # nothing that runs is lent any

    async def run(self, task: Task, skill: Skill | None, workspace: Path, limits: Limits) -> Rollout:
        """Return the model's answer; see Agent.run. Nothing is read or written in the workspace."""
        started = time.monotonic()
        messages = write_messages(task, skill)
        completion = await self._model.complete(messages, max_tokens=self._max_tokens)
        return Rollout(
            task=task.id,
            skill=skill.digest if skill else "",
            agent=self.identity,
            model=completion.model,
            outcome=_find_outcome(completion),
            answer=completion.text,
            calls=tuple(RolloutCall(name=WRITTEN, command=line) for line in list_written(completion.text)),
            usage=completion.usage,
            seconds=completion.seconds or time.monotonic() - started,
            skill_loaded=True if skill else None,
            error=_REFUSED if _find_outcome(completion) is Outcome.LIMIT else completion.error,
            fault=completion.fault if completion.error is not None else None,
            notes=(_CUT,) if completion.error is None and completion.fault is Fault.CUT else (),
        )


def write_messages(task: Task, skill: Skill | None) -> list[Message]:
    """Return what the model is told."""
    return [Message("system", frame(skill)), Message("user", task.prompt)]


def _find_outcome(completion: Completion) -> Outcome:
    if completion.error is not None:
        return Outcome.INFRASTRUCTURE
    return Outcome.LIMIT if completion.fault is Fault.REFUSAL else Outcome.FINISHED


def frame(skill: Skill | None) -> str:
    """Return the system message, with the skill's references in it as far as they fit."""
    loaded = f"# Skill\n{skill.body.strip()}\n\n" if skill else ""
    if skill and skill.files:
        loaded += f"The skill's other files:\n\n{render_files(skill.files, FILE_TOKENS * 4)}\n\n"
    return f"{_OPENING}\n\n{loaded}{_CLOSING}"
