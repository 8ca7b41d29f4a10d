"""`snooze`: put a proposal out of the way for some days."""

from __future__ import annotations

from typing import Annotated

import typer

from skillopt_sleep.cli.frame import Json, explain, show
from skillopt_sleep.paths import locate


@explain
def snooze(
    proposal: Annotated[str, typer.Argument(help="The id, or its beginning.", metavar="ID")],
    days: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="For how long (else review.snooze_days).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Put a proposal out of the way for some days. Then it waits again; `apply` works all the same."""
    from skillopt_sleep.desk import StoreDesk

    change = StoreDesk(locate()).carry_out("snooze", proposal, days)
    show(change, as_json=as_json, render=lambda: change.sentence)
