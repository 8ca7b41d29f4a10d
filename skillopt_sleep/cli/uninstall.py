"""`uninstall`: the service goes, and the data when asked."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt_sleep.cli.frame import Json, explain, show
from skillopt_sleep.errors import NeedsDecision, NothingToDo
from skillopt_sleep.paths import Paths, locate

if TYPE_CHECKING:
    from pathlib import Path


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
    removed: list[str] = []
    kept: list[Path] = []
    try:
        gone, kept = take_out(paths, choose_manager(paths, os.environ, find_home(os.environ)))
        removed += gone.files
    except NothingToDo:
        if not purge:
            raise
    if purge:
        removed += map(str, _purge(paths))
    lines = ["removed:", *(f"  {name}" for name in removed)] if removed else ["there was nothing"]
    kept = [copy for copy in kept if copy.exists()]
    lines += [f"you had edited it, and your version is kept: {copy}" for copy in kept]
    show({"removed": removed, "kept": kept}, as_json=as_json, render=lambda: "\n".join(lines))


def _ask(doomed: list[Path]) -> None:
    for path in doomed:
        typer.echo(f"  {path}", err=True)
    if not sys.stdin.isatty():
        raise NeedsDecision(
            f"{len(doomed)} files and folders would be removed for good", hint="add --yes to say so"
        )
    if not typer.confirm("Remove all of it? What was proposed and not applied is lost", err=True):
        raise NeedsDecision("nothing was removed")


def _purge(paths: Paths) -> list[Path]:
    from skillopt_sleep.clients import find_home
    from skillopt_sleep.daemon.instance import hold_daemon
    from skillopt_sleep.lock import hold
    from skillopt_sleep.plugin import remove_guides
    from skillopt_sleep.service.purging import list_kept, purge

    guides = remove_guides(os.environ, find_home(os.environ), paths.data)
    if not list_kept(paths):
        return guides
    with hold_daemon(paths, "uninstall --purge"), hold(paths, "uninstall --purge"):
        return [*guides, *purge(paths)]
