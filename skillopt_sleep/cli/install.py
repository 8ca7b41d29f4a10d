"""`install`: the background service."""

from __future__ import annotations

import os
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt_sleep.cli.frame import Json, explain, show
from skillopt_sleep.invocation import call
from skillopt_sleep.paths import locate

if TYPE_CHECKING:
    from skillopt_sleep.service.installing import Outcome


class Mode(str, Enum):
    """How the service runs."""

    daemon = "daemon"
    timer = "timer"


@explain
def install(
    mode: Annotated[
        Mode,
        typer.Option(
            "--mode",
            help="daemon: runs all the time, keeps the index fresh; timer: is started now and then.",
        ),
    ] = Mode.daemon,
    as_json: Json = False,
) -> None:
    """Install or upgrade the background service and start it. No administrator is needed."""
    from skillopt_sleep.clients import find_home
    from skillopt_sleep.config import load
    from skillopt_sleep.service.installing import install as put_in
    from skillopt_sleep.service.managers import choose_manager

    paths = locate()
    load(paths.config)  # settings that nobody can read are better told now than at night
    manager = choose_manager(paths, os.environ, find_home(os.environ))
    outcome = put_in(paths, os.environ, manager, mode.value)
    show(outcome, as_json=as_json, render=lambda: _render(outcome))


def _render(outcome: Outcome) -> str:
    lines = [
        f"{outcome.state}: {outcome.manager}, mode {outcome.mode}, {outcome.running}",
        *(f"  file     {file}" for file in outcome.files),
        f"  command  {' '.join(outcome.command)}",
    ]
    for name, value in outcome.environment.items():
        if name == "PATH":
            first, *rest = value.split(os.pathsep)
            lines += [f"  PATH     {first}", *(f"           {folder}" for folder in rest)]
        else:
            lines.append(f"  {name}={value}")
    lines += [f"  {name:8} {path or 'not found on this PATH'}" for name, path in outcome.tools.items()]
    if outcome.withheld:
        lines.append(
            f"  note: the service will not have {', '.join(outcome.withheld)}: keys are never written down."
            " Sign in with the client itself, or give the variable to your session's environment"
        )
    lines += [f"  note: {advice}" for advice in outcome.advice]
    lines += [
        "to see the next night, and to remove all this:",
        f"  {call('status')}",
        f"  {call('uninstall')}",
    ]
    return "\n".join(lines)
