"""`harvest`: read what is new in the transcripts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt_sleep.cli.filters import Client
from skillopt_sleep.cli.frame import Json, database, explain, show, stoppable
from skillopt_sleep.cli.progress import say_bytes
from skillopt_sleep.errors import UsageError
from skillopt_sleep.invocation import call
from skillopt_sleep.review.wording import count

if TYPE_CHECKING:
    from skillopt_sleep.night.harvesting import HarvestReport


@explain
def harvest(
    client: Client = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on reading as transcripts grow, until stopped (then exit 0).")
    ] = False,
    poll: Annotated[
        float | None,
        typer.Option(
            "--poll",
            metavar="SECONDS",
            min=1,
            max=86_400,
            help="With --watch: look this often instead of being notified.",
        ),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Print no progress and no summary, only warnings.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Read what is new in your agents' transcripts into the index."""
    from skillopt_sleep.cli.progress import follow
    from skillopt_sleep.clients import check_clients, find_home, read_roots
    from skillopt_sleep.config import load
    from skillopt_sleep.lock import hold
    from skillopt_sleep.night.harvesting import update_index
    from skillopt_sleep.review.visible import show_line

    clients = check_clients(client or ())
    if watch:
        from skillopt_sleep.cli.watch import watch_transcripts

        watch_transcripts(clients, poll_s=poll, quiet=quiet, as_json=as_json)
        return
    if poll is not None:
        raise UsageError("--poll goes with --watch")
    with (
        stoppable(),
        database() as (paths, connection),
        hold(paths, "harvest"),
        follow(quiet=quiet) as listen,
    ):
        settings = load(paths.config).harvest
        report = update_index(
            connection,
            os.environ,
            snapshots=paths.snapshots,
            listen=listen,
            clients=clients or settings.clients,
            roots=read_roots(settings.roots, find_home(os.environ)),
        )
    if as_json or not quiet:
        show(report, as_json=as_json, render=lambda: _render(report))
    else:
        for warning in report.warnings:
            typer.echo(show_line(f"warning: {warning}"), err=True)


def _render(report: HarvestReport) -> str:
    lines = [
        f"{count(report.sessions, 'session')} with {count(report.turns, 'prompt')} in"
        f" {count(report.files_read, 'new or changed file')} ({report.files_seen} seen,"
        f" {say_bytes(report.bytes_read)}, {report.seconds:.1f} s)"
    ]
    if not report.files_seen:
        lines += ["no transcripts were found; where they are looked for:", f"  {call('doctor')}"]
    if report.skipped:
        lines.append(f"left out: {count(report.skipped, 'record')} that could not be read")
    return "\n".join(lines + [f"warning: {warning}" for warning in report.warnings])
