"""`tasks`: what recurs in the harvested sessions."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from skillopt_gate.split import GATE_SHARE
from skillopt_replay.tasks import Check, Task, needs_judge
from skillopt_sleep.cli.filters import Client, Project, Since, Until, make_filter
from skillopt_sleep.cli.frame import NOTHING_TO_DO, Json, database, explain, show
from skillopt_sleep.config import load
from skillopt_sleep.errors import UsageError
from skillopt_sleep.invocation import split_commands
from skillopt_sleep.paths import locate
from skillopt_sleep.review.wording import count, say_nothing_recurs, say_times

if TYPE_CHECKING:
    import sqlite3

# What a check is about; of one that has several of these the first.
_SUBJECTS = ("text", "pattern", "heading", "name", "command", "criterion", "schema", "path")
_ORIGINS = {"loaded": "the loaded skill", "fits": "the fitting skill", "new": "the new skill"}


# The columns of a task; gate tasks are held out, val tasks choose among candidates, test tasks are sealed.
_COLUMNS = (
    "each task: id, how often it was asked, split (train, val, gate: held out, test: sealed; - for none yet),"
    " prompt"
)


@explain
def tasks(
    client: Client = None,
    project: Project = None,
    since: Since = None,
    until: Until = None,
    skill: Annotated[
        str | None, typer.Option("--skill", metavar="NAME", help="Only those of this skill.")
    ] = None,
    shown: Annotated[
        str | None,
        typer.Option("--show", metavar="ID", help="Print all about one; the start of its id will do."),
    ] = None,
    as_json: Json = False,
) -> None:
    """List what recurs, and what would count as a right result.

    Recurring is judged over all sessions; the filters then keep the tasks that a session they fit asked for.
    """
    from skillopt_sleep.night.mining import mine_tasks
    from skillopt_sleep.night.plan import mark_splits
    from skillopt_sleep.store.counts import count_sessions
    from skillopt_sleep.store.find import find_names
    from skillopt_sleep.store.splits import read_splits

    with database() as (paths, connection):
        narrowed = bool(client or project or since or until)
        wanted = make_filter(connection, client=client, project=project, since=since, until=until)
        mined = mine_tasks(connection, load(paths.config), os.environ, titled=True)
        known = mark_splits(mined, read_splits(connection))
        if shown is not None:
            if narrowed or skill:
                raise UsageError("--show prints one task: no filter goes with it")
            _show_one(connection, _find(known, shown), as_json=as_json)
            return
        sessions = count_sessions(connection)
        found = [task for task in known if skill in {None, task.skill}]
        if narrowed:
            asked = {name.id for name in find_names(connection, wanted)}
            found = [task for task in found if not asked.isdisjoint(task.sessions)]
    show([describe(task) for task in found], as_json=as_json, render=lambda: _render(found))
    if not found:
        if not as_json:
            said, commands = split_commands("no task fits" if known else say_nothing_recurs(sessions))
            typer.echo("\n  ".join([said, *commands]), err=True)
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
    subject = next((str(fields[name]) for name in _SUBJECTS if fields.get(name)), "")
    return f"{'not ' if check.negate else ''}{kind} {subject!r}"


def _tell(check: Check) -> str:
    """Return the check in a few words, with how the session whose words it rests on would have fared."""
    met = {None: "", True: "  (met in the recorded session)", False: "  (failed by the recorded session)"}
    return word(check) + met[check.met_before]


def _find(known: list[Task], prefix: str) -> Task:
    found = [task for task in known if prefix and task.id.startswith(prefix)]
    if not found:
        raise UsageError(f"there is no task {prefix!r}", hint="skillopt-sleep tasks lists them")
    if len(found) > 1:
        several = ", ".join(task.id for task in found[:5])
        raise UsageError(f"{prefix!r} fits several tasks: {several}", hint="write more of the id")
    return found[0]


def _show_one(connection: sqlite3.Connection, task: Task, *, as_json: bool) -> None:
    from skillopt_sleep.cli.previews import preview_task
    from skillopt_sleep.store.find import find_named

    origins = [check.origin for check in task.checks if check.origin] + list(task.corrections)
    named = dict.fromkeys([*task.sessions, *(origin.session for origin in origins)])
    sessions = list(find_named(connection, named))
    value = {
        **describe(task),
        "client": task.client,
        "started": task.started,
        "corrections": task.corrections,
    }
    show(value, as_json=as_json, render=lambda: preview_task(task, sessions, word=_tell))


def _render(found: list[Task]) -> str:
    lines: list[str] = []
    groups: dict[tuple[str, str | None, str], list[Task]] = {}
    for task in found:
        groups.setdefault((task.family, task.root, task.skill), []).append(task)
    for members in groups.values():
        first = members[0]
        skill = f"{_ORIGINS.get(first.skill_origin, 'skill')} {first.skill}"
        lines.append(f"{first.title}  ({count(len(members), 'task')}, {skill}{_tell_missing(members)})")
        lines += [f"  check: {_tell(check)}" for check in _distinct(members)] or [
            "  no check: nothing to learn from"
        ]
        for task in members:
            failed = ", corrected" if task.failed_before else ""
            asked = f"asked {say_times(task.occurrences)}"
            prompt = " ".join(task.prompt.split())[:80]
            lines.append(f"  {task.id}  {asked}{failed}  {task.split or '-':5}  {prompt}")
    if lines:
        lines = [_COLUMNS, *lines]
    return "\n".join(lines)


def _distinct(members: list[Task]) -> list[Check]:
    seen: dict[str, Check] = {}
    for task in members:
        for check in task.checks:
            seen.setdefault(word(check), check)
    return list(seen.values())


def _tell_missing(members: list[Task]) -> str:
    """Say what a family lacks before a night can judge a skill for it: a judge, or tasks with a check."""
    settings = load(locate().config)
    checkable = [task for task in members if task.checks]
    usable = [task for task in checkable if settings.judge.model or not needs_judge([task])]
    if checkable and not usable:
        return "; only a model could judge these, and none is set (judge.model)"
    missing = math.ceil(settings.gate.min_tasks / GATE_SHARE) - len(usable)
    sides = [task.split for task in usable]
    if missing <= 0 or (sides.count("gate") >= settings.gate.min_tasks and "train" in sides):
        return ""
    judged = len(checkable) - len(usable)
    if not judged:
        return f"; about {missing} more for a night"
    return f"; for a night about {missing} more that code can check, or a judge.model for the other {judged}"
