"""`night`: telling the daemon what to do about nights."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from typing import Annotated

import typer

from skillopt_sleep.cli.frame import Json, database, explain, show
from skillopt_sleep.errors import NothingToDo, UsageError

app = typer.Typer(
    help="Ask the background service for a night, or for none.", no_args_is_help=True, rich_markup_mode=None
)
_PATIENCE_S = 6.0
_LOOK_S = 0.1
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@app.command("now")
@explain
def begin_now(as_json: Json = False) -> None:
    """Work a night now, in the background, whatever the hour."""
    _order("now", as_json=as_json)


@app.command("skip")
@explain
def skip(as_json: Json = False) -> None:
    """Leave out the night that is due or comes next. One that works in it is ended."""
    _order("skip", as_json=as_json)


@app.command("pause")
@explain
def pause(
    span: Annotated[
        str, typer.Option("--for", metavar="TIME", help="Such as 8h or 7d; without it until resumed.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Work no nights for some time. One that works is ended and gone on with later."""
    _order("pause", _read_end(span) if span else "", as_json=as_json)


@app.command("resume")
@explain
def resume(as_json: Json = False) -> None:
    """Work nights again, one that was to be left out as well."""
    _order("resume", as_json=as_json)


def _order(name: str, argument: str = "", *, as_json: bool) -> None:
    from skillopt_sleep.holder import find_holder
    from skillopt_sleep.store.service import ask, forget_command, is_taken, read_telling

    with database() as (paths, connection):
        holder = find_holder(paths)
        if holder is None and name == "now":
            raise NothingToDo("no daemon runs that could", hint="skillopt-sleep run works a night right here")
        order = ask(connection, name, argument)
        deadline = time.monotonic() + (_PATIENCE_S if holder else 0.0)
        while not (taken := is_taken(connection, order)) and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
        if not taken and name == "now":
            forget_command(connection, order)
            raise NothingToDo("the daemon does not answer", hint="skillopt-sleep logs may tell why")
        telling = read_telling(connection)
    doing = telling.doing if taken and telling else "noted; no daemon runs now, the next one heeds it"
    show({"order": name, "taken": taken, "doing": doing}, as_json=as_json, render=lambda: doing)


def _read_end(span: str) -> str:
    number, unit = span[:-1], span[-1:]
    if not number.isdigit() or unit not in _UNITS or not 0 < int(number) < 10_000:
        raise UsageError(f"{span!r} is no time", hint="write 90m, 8h, 7d or 2w")
    end = datetime.now(timezone.utc) + timedelta(**{_UNITS[unit]: int(number)})
    return end.isoformat(timespec="seconds")
