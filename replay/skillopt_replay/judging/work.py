"""What a judge gets to see of a run: the answer, what was done, and what changed; nothing of the skill."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from skillopt_replay.agents.chat import WRITTEN
from skillopt_replay.agents.traces import cut

if TYPE_CHECKING:
    from skillopt_replay.rollouts import Rollout

_MAX_ANSWER = 16_000
_MAX_CALLS = 6_000
_MAX_DIFF = 24_000
_MAX_LINE = 300


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt at a task: the final answer, one line for each call, and the unified diff."""

    answer: str
    calls: str = ""
    diff: str = ""

    @property
    def empty(self) -> bool:
        return not (self.answer.strip() or self.calls.strip() or self.diff.strip())


def show(rollout: Rollout) -> Work:
    """Return what of a run may be judged. The loading of a skill, or its name, would tell the arms apart."""
    lines = [
        cut(f"$ {call.command}", _MAX_LINE) + (f" -> {call.exit_code}" if call.exit_code else "")
        for call in rollout.calls
        if call.command and call.name != WRITTEN
    ]
    return Work(answer=rollout.answer, calls="\n".join(lines), diff=rollout.diff)


def render(work: Work, name: str) -> str:
    """Return the attempt as a part of a prompt, between marks that it cannot contain."""
    parts = [f"Final answer:\n{cut(work.answer, _MAX_ANSWER) or '(empty)'}"]
    if work.calls:
        parts.append(f"Commands it ran:\n{cut(work.calls, _MAX_CALLS)}")
    if work.diff:
        parts.append(f"Changes it made:\n{cut(work.diff, _MAX_DIFF)}")
    text = "\n\n".join(parts)
    # The mark follows from the text, so the text cannot hold its own, and the prompt is the same each time.
    mark = f"{name} {hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:12]}"
    return f"<<<{mark}\n{text}\n{mark}>>>"
