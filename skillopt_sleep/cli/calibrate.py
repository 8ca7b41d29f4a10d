"""`calibrate`: controls of the gate with the user's own tasks and agent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from skillopt_sleep.cli.frame import STOPPED, Json, complete, database, explain, show, stoppable
from skillopt_sleep.config import load
from skillopt_sleep.errors import UsageError
from skillopt_sleep.noise import Calibration, say_rate
from skillopt_sleep.review.wording import count

if TYPE_CHECKING:
    from skillopt_sleep.calibration.examine import Examination

_MOST_TASKS = 20


@explain
def calibrate(
    skill: Annotated[str, typer.Option(metavar="NAME", help="Only the tasks of this skill.")] = "",
    tasks: Annotated[int | None, typer.Option(metavar="N", min=1, help="Held-out tasks per skill.")] = None,
    repeats: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Runs of each task per side.")
    ] = None,
    nights: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Nights a simulated candidate waits.")
    ] = None,
    bad_edits: Annotated[
        bool, typer.Option("--bad-edits", help="Put edits known to be bad through the gate instead.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run your skills against themselves: how often the gate errs."""
    from skillopt_sleep.calibration.calibrate import calibrate as run
    from skillopt_sleep.cli.progress import follow
    from skillopt_sleep.lock import hold

    if bad_edits:
        if repeats or nights:
            raise UsageError("--bad-edits goes with --skill and --tasks only")
        _examine(skill, tasks, as_json=as_json)
        return
    with stoppable(), database() as (paths, connection), hold(paths, "calibrate"), follow() as listen:
        found = complete(
            run(
                connection,
                paths,
                load(paths.config),
                os.environ,
                skill=skill,
                tasks=tasks,
                repeats=repeats,
                nights=nights,
                listen=listen,
            )
        )
    value: dict[str, Any] = msgspec.to_builtins(found)
    show(value, as_json=as_json, render=lambda: "\n".join(_render(found)))
    if found.stopped:
        raise typer.Exit(STOPPED)


def _examine(skill: str, tasks: int | None, *, as_json: bool) -> None:
    from skillopt_sleep.calibration.examine import examine
    from skillopt_sleep.cli.progress import follow
    from skillopt_sleep.lock import hold

    with stoppable(), database() as (paths, connection), hold(paths, "calibrate"), follow() as listen:
        settings = load(paths.config)
        found = complete(
            examine(connection, paths, settings, os.environ, skill=skill, tasks=tasks, listen=listen)
        )
    show(msgspec.to_builtins(found), as_json=as_json, render=lambda: "\n".join(_render_bad(found)))
    if found.stopped:
        raise typer.Exit(STOPPED)
    if found.let_through:
        raise typer.Exit(1)


def _render_bad(found: Examination) -> Iterator[str]:
    yield f"Known-bad edits {found.id} (gate mode: {found.mode})"
    for one in found.examined:
        ended = f"refused by {one.step}" if one.refused else "LET THROUGH"
        yield f"{one.kind:<10} {one.skill}: {ended}"
        yield f"    {one.reason}"
    for skill in found.skipped:
        yield f"{skill}: there is no skill yet to make bad edits of"
    if found.stopped:
        yield f"stopped by a ceiling: {found.stopped}"
    elif found.let_through:
        yield f"{len(found.let_through)} of {len(found.examined)} would have been accepted"
    else:
        yield f"all {len(found.examined)} were refused"


def _render(found: Calibration) -> Iterator[str]:
    yield f"Calibration {found.id} (gate mode: {found.mode}, alpha {found.alpha:g})"
    yield f"run by       {found.identity}"
    yield f"skills       {', '.join(found.skills)}"
    lost = f", {found.lost} lost" if found.lost else ""
    tasks, runs = count(found.tasks, "task"), count(found.repeats, "run")
    yield f"measured     {tasks}, {runs} a side, both sides the same skill{lost}"
    yield f"noise floor  standard error of the mean {found.error:.3f}; off by {found.effect:+.3f} this time"
    yield f"differing    {found.differing:.0%} of the tasks differ from themselves"
    if not found.differing:
        yield f"             none did in {2 * found.repeats} runs each; rarer noise shows with more --repeats"
    lives = f"{found.lives} candidates that change nothing, {found.tasks_a_night} tasks a night"
    nights = count(found.nights, "night")
    yield f"this gate    lets {say_rate(found.accepts)} pass within {nights}; {lives}"
    yield f"higher mean  would let {say_rate(found.mean_once)} pass on one night,"
    yield f"             {say_rate(found.mean_ever)} at least once in {nights}"
    yield "per task     chance that two runs with the same skill differ, and share passed"
    ordered = sorted(found.flips, key=lambda one: (-one.rate, one.task))
    for one in ordered[:_MOST_TASKS]:
        yield f"  {one.rate:4.0%}  {one.passed:4.0%}  {one.task}"
    if len(ordered) > _MOST_TASKS:
        yield f"  and {len(ordered) - _MOST_TASKS} more (--json lists all)"
    price = "price unknown" if found.cost_usd is None else f"${found.cost_usd:.2f}"
    yield f"spent        {found.tokens} tokens, {price}"
    if found.stopped:
        yield f"stopped by a ceiling: {found.stopped}"
