"""`tasks`: what recurs in the harvested sessions."""

from __future__ import annotations

import math
import os
from typing import Any

import msgspec
import typer

from skillopt_gate.split import GATE_SHARE
from skillopt_replay.tasks import Check, Task
from skillopt_sleep.cli.frame import NOTHING_TO_DO, Json, database, explain, show
from skillopt_sleep.config import load
from skillopt_sleep.paths import locate

_ORIGINS = {"loaded": "the loaded skill", "fits": "the fitting skill", "new": "the new skill"}


@explain
def tasks(as_json: Json = False) -> None:
    """List the recurring tasks and what would count as a right result."""
    from skillopt_sleep.night.mining import mine_tasks
    from skillopt_sleep.night.plan import mark_splits
    from skillopt_sleep.store.index import read_splits

    with database() as (paths, connection):
        found = mark_splits(mine_tasks(connection, load(paths.config), os.environ), read_splits(connection))
    show([describe(task) for task in found], as_json=as_json, render=lambda: _render(found))
    if not found:
        if not as_json:
            typer.echo("no recurring tasks yet: harvest more sessions", err=True)
        raise typer.Exit(NOTHING_TO_DO)


def describe(task: Task) -> dict[str, Any]:
    """Return the task as the `tasks --json` object."""
    return {
        "id": task.id,
        "family": task.family,
        "title": task.title,
        "prompt": task.prompt,
        "occurrences": task.occurrences,
        "sessions": task.sessions,
        "project": task.project,
        "commit": task.commit,
        "root": task.root,
        "skill": task.skill,
        "skill_origin": task.skill_origin,
        "template": task.template,
        "values": task.values,
        "failed_before": task.failed_before,
        "checks": [msgspec.to_builtins(check) for check in task.checks],
        "split": task.split or None,
    }


def word(check: Check) -> str:
    """Return the check in a few words."""
    fields = msgspec.to_builtins(check)
    kind = fields["type"]
    subject = next(
        str(fields[k]) for k in ("text", "pattern", "heading", "name", "command", "path") if k in fields
    )
    return f"{'not ' if check.negate else ''}{kind} {subject!r}"


def _tell_before(check: Check) -> str:
    """Say how the recorded session, whose words the check rests on, would have fared with it."""
    if check.met_before is None:
        return ""
    return "  (met in the recorded session)" if check.met_before else "  (failed by the recorded session)"


def _render(found: list[Task]) -> str:
    lines: list[str] = []
    groups: dict[tuple[str, str | None, str], list[Task]] = {}
    for task in found:
        groups.setdefault((task.family, task.root, task.skill), []).append(task)
    for members in groups.values():
        first = members[0]
        skill = f"{_ORIGINS.get(first.skill_origin, 'skill')} {first.skill}"
        lines.append(f"{first.title}  ({len(members)} tasks, {skill}{_tell_missing(members)})")
        lines += [f"  check: {word(check)}{_tell_before(check)}" for check in _distinct(members)] or [
            "  no check: nothing to learn from"
        ]
        for task in members:
            failed = ", corrected" if task.failed_before else ""
            prompt = " ".join(task.prompt.split())[:80]
            lines.append(f"  {task.id}  x{task.occurrences}{failed}  {task.split or '-':5}  {prompt}")
    return "\n".join(lines)


def _distinct(members: list[Task]) -> list[Check]:
    seen: dict[str, Check] = {}
    for task in members:
        for check in task.checks:
            seen.setdefault(word(check), check)
    return list(seen.values())


def _tell_missing(members: list[Task]) -> str:
    """Say about how many tasks with a check a family lacks before a night can judge a skill for it."""
    checkable = sum(bool(task.checks) for task in members)
    needed = math.ceil(load(locate().config).gate.min_tasks / GATE_SHARE)
    return f"; about {needed - checkable} more for a night" if checkable < needed else ""
