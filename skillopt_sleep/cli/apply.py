"""`apply`: make proposals live."""

from __future__ import annotations

from typing import Annotated

import typer

from skillopt_sleep.cli.frame import Json, explain, show
from skillopt_sleep.errors import UsageError
from skillopt_sleep.paths import locate


@explain
def apply(
    proposals: Annotated[list[str], typer.Argument(help="Ids, or their beginnings.", metavar="ID")],
    hunks: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="Only these hunks, for example 1,3 (with one ID).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write proposals into the live skill files. Your own changes since are merged, never lost."""
    from skillopt_sleep.desk import Change, StoreDesk

    chosen = _parse_hunks(hunks)
    if chosen is not None and len(proposals) > 1:
        raise UsageError("--hunks goes with one ID", hint="apply the others with a command of their own")
    desk = StoreDesk(locate())
    done: list[Change] = []
    try:
        for name in proposals:
            done.append(desk.carry_out("apply", name, chosen))  # noqa: PERF401 - kept when one fails
    finally:
        # When one of several cannot be applied, those before it are live all the same.
        if done:
            show(done, as_json=as_json, render=lambda: "\n".join(change.sentence for change in done))


def _parse_hunks(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(
            f"--hunks {text!r} is not a list of numbers", hint="for example --hunks 1,3"
        ) from None
    if any(number < 1 for number in numbers):
        raise UsageError("hunks are numbered from 1")
    return numbers
