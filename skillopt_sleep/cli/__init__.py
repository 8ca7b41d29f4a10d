"""The command line: one module per command."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from typing import Any

import typer

from skillopt_sleep import __version__
from skillopt_sleep.cli import (
    apply,
    calibrate,
    config,
    daemon,
    demo,
    doctor,
    evaluate,
    gate,
    harvest,
    install,
    night,
    plugin,
    reject,
    revert,
    review,
    run,
    service,
    sessions,
    snooze,
    status,
    tasks,
    train,
    uninstall,
)

_LOOK: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
_EXIT_CODES = (
    "Exit codes: 0 done, 1 error, 2 usage, 3 nothing to do, 4 needs a decision, 5 stopped by a ceiling, 75"
    " try again later, 130 interrupted."
)
app = typer.Typer(
    name="skillopt-sleep",
    help="Your coding agent learns overnight; you review what it learned in the morning.",
    no_args_is_help=True,
    epilog=_EXIT_CODES,
    **_LOOK,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"skillopt-sleep {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Your coding agent learns overnight; you review what it learned in the morning."""


# In the order in which one meets them.
_ORDER = (
    demo.demo,
    doctor.doctor,
    harvest.harvest,
    sessions.sessions,
    tasks.tasks,
    run.run,
    review.review,
    apply.apply,
    reject.reject,
    snooze.snooze,
    revert.revert,
    status.status,
    install.install,
    uninstall.uninstall,
    service.start,
    service.stop,
    service.logs,
    daemon.daemon,
    calibrate.calibrate,
    train.train,
)
for _command in _ORDER:
    app.command()(_command)
app.command("eval")(evaluate.evaluate)
app.add_typer(gate.app, name="gate")
app.add_typer(night.app, name="night")
app.add_typer(plugin.app, name="plugin")
app.add_typer(config.app, name="config")


def main() -> None:
    """Entry point of the `skillopt-sleep` script."""
    _start(app)


def main_train() -> None:
    """Entry point of `skillopt-train`: `skillopt-sleep train`."""
    _start(_stand_alone(train.train))


def main_eval() -> None:
    """Entry point of `skillopt-eval`: `skillopt-sleep eval`."""
    _start(_stand_alone(evaluate.evaluate))


def _stand_alone(command: Callable[..., None]) -> typer.Typer:
    """Return a program that is this command and nothing else, so that its help has no other word in it."""
    alone = typer.Typer(**_LOOK)
    alone.command(epilog=_EXIT_CODES)(command)
    return alone


def _start(program: typer.Typer) -> None:
    if sys.stdout is None:
        # It was closed. Whatever is opened next would be written to in its place.
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - kept open to the end
    # What users and models write may be more than the terminal's encoding holds.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    program()
