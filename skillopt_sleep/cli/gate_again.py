"""`gate again`: what the user made of a proposal, measured anew."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skillopt_sleep.cli.apply import parse_hunks
from skillopt_sleep.cli.frame import Json, explain, show
from skillopt_sleep.errors import UsageError
from skillopt_sleep.paths import locate


@explain
def measure_again(
    proposal: Annotated[str, typer.Argument(help="The id, or its beginning.", metavar="ID")],
    hunks: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="Only these hunks, for example 1,3.")
    ] = None,
    text: Annotated[
        Path | None, typer.Option(metavar="FILE", help="This SKILL.md in place of the proposed one.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Take a proposal back and have a part of it measured. The next night does, from the start."""
    from skillopt_sleep.desk import StoreDesk

    chosen = parse_hunks(hunks)
    if chosen is not None and text is not None:
        raise UsageError("--hunks and --text do not go together")
    mine = None if text is None else _read(text)
    change = StoreDesk(locate()).carry_out("gate", proposal, chosen, mine)
    show(change, as_json=as_json, render=lambda: change.sentence)


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {file}: {error}") from error
