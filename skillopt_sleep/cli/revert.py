"""`revert`: take an applied proposal back."""

from __future__ import annotations

from typing import Annotated

import typer

from skillopt_sleep.cli.frame import Json, explain, show
from skillopt_sleep.paths import locate


@explain
def revert(
    proposal: Annotated[str, typer.Argument(help="The id, or its beginning.", metavar="ID")],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why; later nights are told.")] = "",
    as_json: Json = False,
) -> None:
    """Take an applied proposal back; your changes since then stay."""
    from skillopt_sleep.desk import StoreDesk

    change = StoreDesk(locate()).carry_out("revert", proposal, reason)
    show(change, as_json=as_json, render=lambda: change.sentence)
