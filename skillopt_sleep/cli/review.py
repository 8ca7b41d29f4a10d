"""`review`: look at what was learned and decide."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from skillopt_sleep.cli.frame import NEEDS_DECISION, NOTHING_TO_DO, STOPPED, Json, explain, show
from skillopt_sleep.config import load
from skillopt_sleep.errors import AppError
from skillopt_sleep.paths import HOME_VARIABLE, locate
from skillopt_staging.proposals import State


@explain
def review(
    plain: Annotated[bool, typer.Option("--plain", help="Print text instead of opening the screen.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Show decided proposals as well.")] = False,
    as_json: Json = False,
) -> None:
    """Look at the proposals and decide. In a pipe, with --plain or TERM=dumb, they are printed."""
    from skillopt_sleep.desk import StoreDesk
    from skillopt_sleep.review.plain import as_json as to_json
    from skillopt_sleep.review.plain import render_plain

    paths = locate()
    desk = StoreDesk(paths)
    if not (plain or as_json) and _has_screen():
        from skillopt_sleep.review.app import ReviewApp
        from skillopt_sleep.review.keys import read_keys

        settings = load(paths.config)
        ReviewApp(
            StoreDesk(paths, by="review"),
            mode=settings.gate.mode,
            keys=read_keys(settings.review.keys),
            layout=settings.review.diff,
            run_now=run_now,
        ).run()
        return
    known = desk.proposals()
    proposals = known if everything else [one for one in known if one.state is State.PENDING]
    told = [
        {**value, "history": desk.history(proposal.id)}
        for value, proposal in zip(to_json(proposals), proposals, strict=True)
    ]
    show(
        {"proposals": told},
        as_json=as_json,
        render=lambda: render_plain(
            proposals, mode=load(paths.config).gate.mode, decided=len(known) - len(proposals)
        ),
    )
    if not proposals:
        raise typer.Exit(NOTHING_TO_DO)


def _has_screen() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") not in {"dumb", "unknown"}


def run_now(skill: str) -> None:
    """Work a night for one skill in this terminal. Raises AppError when it fails."""
    from skillopt_sleep.service.definition import find_program

    env = dict(os.environ)
    if env.get(HOME_VARIABLE):
        env[HOME_VARIABLE] = str(Path(env[HOME_VARIABLE]).expanduser().absolute())
    # Python may look for modules where it is started: that is some project, whose names are anybody's.
    done = subprocess.run(find_program(["run", "--skill", skill]), env=env, cwd="/", check=False)
    if done.returncode not in {0, NOTHING_TO_DO, STOPPED}:
        refused = done.returncode == NEEDS_DECISION
        hint = "another night was cut off, and `skillopt-sleep run` goes on with it first" if refused else ""
        raise AppError(
            f"the night ended with {done.returncode}", hint=hint or "skillopt-sleep status tells more"
        )
