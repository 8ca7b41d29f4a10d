"""Write a skill's description: the one line by which a client decides to load it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from skillopt_replay.skills import MAX_DESCRIPTION
from skillopt_replay.tasks import Task

_EXAMPLES = 3
_EXAMPLE = 120
_TITLE = 200


def describe(title: str, tasks: Sequence[Task]) -> str:
    """Return "Use when the user asks: <title> For example: ..." with a few distinct asks of the train tasks.

    The same title and tasks give the same text, of at most 1024 characters. Raises ValueError when a task is
    of another split: what the gate holds back must not leak into what the client shows.
    """
    check_split(tasks)
    subject = _shorten(title.strip(), _TITLE) or "something like this"
    if subject[-1].isalnum():
        subject += "."
    examples: dict[str, str] = {}
    for task in tasks:
        example = _shorten(task.prompt, _EXAMPLE).replace('"', "'")
        examples.setdefault(example.casefold(), example)
    asked = [f'"{example}"' for example in examples.values() if example][:_EXAMPLES]
    text = f"Use when the user asks: {subject}" + (f" For example: {'; '.join(asked)}." if asked else "")
    return text[:MAX_DESCRIPTION]


def check_split(tasks: Sequence[Task]) -> None:
    """Raise ValueError when a task belongs to another split than train."""
    held_out = [task.id for task in tasks if task.split not in {"", "train"}]
    if held_out:
        raise ValueError(f"not train tasks: {', '.join(held_out[:5])}")


def _shorten(text: str, size: int) -> str:
    """Return the text on one line, without angle brackets and control characters, cut at a word."""
    line = " ".join(re.sub(r"[<>\x00-\x1f\x7f]", " ", text).split())
    if len(line) <= size:
        return line
    return f"{line[: size - 1].rsplit(' ', 1)[0]}…"
