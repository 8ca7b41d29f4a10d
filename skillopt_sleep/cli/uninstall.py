"""`uninstall`: the service goes, and the data when asked."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt_sleep.cli.frame import INTERRUPTED, Json, explain, show
from skillopt_sleep.errors import AppError, Busy, NeedsDecision, NothingToDo
from skillopt_sleep.paths import Paths, locate

if TYPE_CHECKING:
    from skillopt_sleep.service.definition import Manager

# A daemon that is told to end does so within ten seconds.
_ENDING_S = 12.0


@explain
def uninstall(
    purge: Annotated[
        bool, typer.Option("--purge", help="Remove the data, the settings, the cache and the logs, too.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --purge: do not ask.")] = False,
    as_json: Json = False,
) -> None:
    """Stop the background service and remove it without a trace. Applied skills and branches stay."""
    from skillopt_sleep.clients import find_home
    from skillopt_sleep.plugin import list_guides
    from skillopt_sleep.service.installing import uninstall as take_out
    from skillopt_sleep.service.managers import choose_manager
    from skillopt_sleep.service.purging import list_kept

    paths = locate()
    doomed = [*list_kept(paths), *list_guides(os.environ, find_home(os.environ))] if purge else []
    if doomed and not yes:
        _ask(doomed)
    manager = choose_manager(paths, os.environ, find_home(os.environ))
    removed: list[str] = []
    kept: list[Path] = []
    if purge:
        removed, kept = _purge(paths, manager)
    else:
        gone, kept = take_out(paths, manager)
        removed += gone.files
    lines = ["removed:", *(f"  {name}" for name in removed)] if removed else ["there was nothing"]
    lines += [f"you had edited it, and your version is kept: {copy}" for copy in kept]
    if purge and removed:
        lines.append(
            "applied skills stay, and so do branches in your projects; how to end those is in the README"
        )
    show(
        {"removed": removed, "kept": [str(copy) for copy in kept]},
        as_json=as_json,
        render=lambda: "\n".join(lines),
    )


def _ask(doomed: list[Path]) -> None:
    for path in doomed:
        typer.echo(f"  {path}", err=True)
    if not sys.stdin.isatty():
        raise NeedsDecision(
            f"{len(doomed)} files and folders would be removed for good", hint="add --yes to say so"
        )
    try:
        sure = typer.confirm("Remove all of it? What was proposed and not applied is lost", err=True)
    except typer.Abort as error:
        typer.echo(err=True)
        if not isinstance(error.__context__, EOFError):
            typer.echo("interrupted; nothing was removed", err=True)
            raise typer.Exit(INTERRUPTED) from None
        # The end of the input answers with no.
        sure = False
    if not sure:
        raise NeedsDecision("nothing was removed")


def _purge(paths: Paths, manager: Manager) -> tuple[list[str], list[Path]]:
    """Remove it all, or nothing when something is at work; return it, and the copies of edited files."""
    from skillopt_sleep.clients import find_home
    from skillopt_sleep.plugin import remove_guides
    from skillopt_sleep.service.installing import uninstall as take_out
    from skillopt_sleep.service.purging import list_edited, list_kept, purge

    there = list_kept(paths)
    removed: list[str] = []
    with _hold_all(paths, manager, is_used=bool(there)):
        with suppress(NothingToDo):
            removed += take_out(paths, manager)[0].files
        removed += [guide.path for guide in remove_guides(os.environ, find_home(os.environ), paths.data)]
        # What holding it has made is no loss to tell of.
        removed += [str(path) for path in purge(paths) if path in there]
    return removed, list_edited(paths)


@contextmanager
def _hold_all(paths: Paths, manager: Manager, *, is_used: bool) -> Iterator[None]:
    """Keep daemons and runs away, the installed service's too, which goes on when another one is at work."""
    from skillopt_sleep.daemon.instance import hold_daemon
    from skillopt_sleep.lock import hold
    from skillopt_sleep.service.record import read_record

    if not is_used:
        # Where there is no folder, nothing can be at work in it, and locks would make one.
        yield
        return
    installed = read_record(paths)
    before = ""
    if installed:
        # A unit that is not there any more cannot be stopped; what works all the same holds the lock.
        with suppress(AppError):
            before = manager.describe(installed.mode)
            manager.stop(installed.mode)
    try:
        with (
            hold_daemon(paths, "uninstall --purge", wait_s=_ENDING_S if installed else 0.0),
            hold(paths, "uninstall --purge"),
        ):
            yield
    except Busy:
        if installed and before and manager.describe(installed.mode) != before:
            manager.start(installed.mode)
        raise
