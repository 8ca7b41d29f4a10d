"""`review`: look at what was learned and decide."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from skillopt_sleep.cli.frame import NOTHING_TO_DO, Json, explain, show
from skillopt_sleep.config import load
from skillopt_sleep.paths import locate


@explain
def review(
    plain: Annotated[bool, typer.Option("--plain", help="Print text instead of opening the screen.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Show decided proposals as well.")] = False,
    as_json: Json = False,
) -> None:
    """Look at the proposals and decide. In a pipe, or with --plain, they are printed."""
    from skillopt_sleep.desk import StoreDesk
    from skillopt_sleep.review.plain import as_json as to_json
    from skillopt_sleep.review.plain import render_plain

    paths = locate()
    desk = StoreDesk(paths)
    if not (plain or as_json) and sys.stdin.isatty() and sys.stdout.isatty():
        from skillopt_sleep.review.app import ReviewApp

        ReviewApp(StoreDesk(paths, by="review"), mode=load(paths.config).gate.mode).run()
        return
    proposals = desk.proposals() if everything else desk.pending()
    show(
        {"proposals": to_json(proposals)},
        as_json=as_json,
        render=lambda: render_plain(proposals, mode=load(paths.config).gate.mode),
    )
    if not proposals:
        raise typer.Exit(NOTHING_TO_DO)
