"""`run`: one night, now."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from skillopt_sleep.cli.frame import (
    NOTHING_TO_DO,
    STOPPED,
    Json,
    complete,
    database,
    explain,
    show,
    stoppable,
)
from skillopt_sleep.config import load
from skillopt_sleep.errors import UsageError
from skillopt_sleep.invocation import call


@explain
def run(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only harvest and plan: calls no model, stages nothing.")
    ] = False,
    skill: Annotated[str | None, typer.Option(metavar="NAME", help="Only this skill.")] = None,
    leash: Annotated[bool, typer.Option("--leash", hidden=True)] = False,
    as_json: Json = False,
) -> None:
    """Work one night now. A run that was killed goes on where it stopped, without paying twice."""
    from skillopt_sleep.cli.progress import follow
    from skillopt_sleep.lock import hold
    from skillopt_sleep.night.report import to_json, to_markdown
    from skillopt_sleep.night.whole import dry_night, whole_night

    if skill is not None and not skill.strip():
        raise UsageError("--skill is empty", hint="name one that skillopt-sleep tasks shows, or leave it out")
    only = skill or ""
    if leash:
        _end_with_input()
    with stoppable(), database() as (paths, connection), hold(paths, "run"), follow() as listen:
        settings = load(paths.config)
        if dry_run:
            report = dry_night(
                connection, settings, os.environ, models=paths.models, only=only, listen=listen
            )
        else:
            report = complete(whole_night(connection, paths, settings, os.environ, only=only, listen=listen))
    show(to_json(report), as_json=as_json, render=str, markdown=lambda: to_markdown(report, call))
    if report.state == "stopped":
        raise typer.Exit(STOPPED)
    if report.state == "failed":
        raise typer.Exit(1)
    if not report.skills and not report.unfinished:
        raise typer.Exit(NOTHING_TO_DO)


def _end_with_input() -> None:
    """End as by a termination when standard input is closed: whoever started this night is gone."""
    import signal
    import threading

    def follow() -> None:
        # Not through sys.stdin, whose lock a thread that waits would hold when the interpreter ends.
        while os.read(0, 4096):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=follow, name="leash", daemon=True).start()
