"""`start`, `stop`, `logs`: the installed service."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt_sleep.cli.frame import Json, explain, show
from skillopt_sleep.paths import locate

if TYPE_CHECKING:
    from skillopt_sleep.service.definition import Manager
    from skillopt_sleep.service.record import Installed


@explain
def start(as_json: Json = False) -> None:
    """Start the installed background service."""
    manager, installed = _find()
    manager.start(installed.mode)
    _tell(manager, installed, as_json=as_json)


@explain
def stop(as_json: Json = False) -> None:
    """Stop the background service until it is started again."""
    manager, installed = _find()
    manager.stop(installed.mode)
    _tell(manager, installed, as_json=as_json)


@explain
def logs(
    lines: Annotated[
        int, typer.Option("--lines", "-n", metavar="N", min=1, max=100_000, help="How many.")
    ] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as more comes.")] = False,
) -> None:
    """Print what the background service has logged."""
    import subprocess

    from skillopt_sleep.cli.log_file import print_log
    from skillopt_sleep.daemon.logbook import log_file
    from skillopt_sleep.service.record import read_record

    paths = locate()
    if read_record(paths):
        manager, _ = _find()
        command = manager.log_command(lines, follow=follow)
        # Where no journal takes it, or shows it to its user, it goes to the file.
        if command and (_prints(manager.log_command(1, follow=False)) or not log_file(paths).exists()):
            raise typer.Exit(subprocess.run(command, check=False).returncode)
    print_log(log_file(paths), lines, follow=follow)


def _prints(command: tuple[str, ...] | None) -> bool:
    """Tell whether a command has anything to say."""
    import subprocess

    if command is None:
        return False
    try:
        return bool(subprocess.run(command, capture_output=True, check=False).stdout.strip())
    except OSError:
        return False


def _find() -> tuple[Manager, Installed]:
    from skillopt_sleep.clients import find_home
    from skillopt_sleep.service.installing import require_installed
    from skillopt_sleep.service.managers import choose_manager

    paths = locate()
    installed = require_installed(paths)
    return choose_manager(paths, os.environ, find_home(os.environ)), installed


def _tell(manager: Manager, installed: Installed, *, as_json: bool) -> None:
    state = manager.describe(installed.mode)
    show(
        {"manager": manager.name, "mode": installed.mode, "state": state},
        as_json=as_json,
        render=lambda: f"{manager.name}, mode {installed.mode}: {state}",
    )
