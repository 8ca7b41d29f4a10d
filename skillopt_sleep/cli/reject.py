"""`reject`: turn a proposal down."""

from __future__ import annotations

from typing import Annotated

import typer

from skillopt_sleep.cli.frame import Json, explain, show
from skillopt_sleep.paths import locate


@explain
def reject(
    proposal: Annotated[str, typer.Argument(help="The id, or its beginning.", metavar="ID")],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why; later nights are told.")],
    as_json: Json = False,
) -> None:
    """Turn a proposal down for a reason that later nights are told."""
    from skillopt_sleep.desk import StoreDesk

    change = StoreDesk(locate()).carry_out("reject", proposal, reason)
    show(change, as_json=as_json, render=lambda: change.sentence)
