"""A chat model as the agent: the task as one exchange, without tools."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from skillopt_replay.protocols import Message
from skillopt_replay.rollouts import Outcome, Rollout

if TYPE_CHECKING:
    from pathlib import Path

    from skillopt_replay.protocols import ChatModel, Limits
    from skillopt_replay.rollouts import Usage
    from skillopt_replay.skills import Skill
    from skillopt_replay.tasks import Task

_FRAME = "You are a coding assistant. Do what the user asks, and answer with the result itself."
_SKILL = "A skill was loaded for this task. Follow it wherever it applies."


class ChatAgent:
    """Answers tasks with one completion; the skill's text is part of the system message."""

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

    async def run(self, task: Task, skill: Skill | None, workspace: Path, limits: Limits) -> Rollout:
        """Return the model's answer; see Agent.run. Nothing is read or written in the workspace."""
        started = time.monotonic()
        messages = [Message("system", frame(skill)), Message("user", task.prompt)]
        completion = await self._model.complete(messages, max_tokens=self._max_tokens)
        return Rollout(
            task=task.id,
            skill=skill.digest if skill else "",
            agent=self.identity,
            model=completion.model,
            outcome=Outcome.FINISHED if completion.error is None else Outcome.INFRASTRUCTURE,
            answer=completion.text,
            usage=completion.usage,
            seconds=completion.seconds or time.monotonic() - started,
            skill_loaded=True if skill else None,
            error=completion.error,
        )


def frame(skill: Skill | None) -> str:
    """Return the system message."""
    if skill is None:
        return _FRAME
    return f"{_FRAME}\n\n{_SKILL}\n\n# Skill: {skill.name}\n\n{skill.body.strip()}"
