"""`config`: show, get, set, unset, path."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from skillopt_sleep.cli.frame import Json, explain, show
from skillopt_sleep.config import Value, get_value, list_values, set_value, unset_value
from skillopt_sleep.paths import locate

app = typer.Typer(help="Show and change settings.", no_args_is_help=True, rich_markup_mode=None)


@app.command("show")
@explain
def show_all(as_json: Json = False) -> None:
    """Print every setting with its value and where it comes from."""
    values = list_values(locate().config)
    show(values, as_json=as_json, render=lambda: "\n".join(_line(value) for value in values))


@app.command("get")
@explain
def get(
    key: Annotated[str, typer.Argument(metavar="KEY", help="For example gate.alpha.")], as_json: Json = False
) -> None:
    """Print one setting's value."""
    value = get_value(locate().config, key)
    show(value, as_json=as_json, render=lambda: _written(value.value))


class _WithNegative(TyperCommand):
    """Takes a negative number for the value that it is, and not for an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        negative = [one for one in args if re.match(r"-(\.?\d|inf\b)", one)]
        if negative and "--" not in args:
            args = [*(one for one in args if one not in negative), "--", *negative]
        return super().parse_args(ctx, args)


@app.command("set", cls=_WithNegative)
@explain
def set_one(
    key: Annotated[str, typer.Argument(metavar="KEY", help="For example gate.alpha.")],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="The new value.")],
    as_json: Json = False,
) -> None:
    """Write one setting to the configuration file."""
    written = set_value(locate().config, key, value)
    show(written, as_json=as_json, render=lambda: _line(written))


@app.command("unset")
@explain
def unset(
    key: Annotated[str, typer.Argument(metavar="KEY", help="For example gate.alpha.")], as_json: Json = False
) -> None:
    """Take one setting out of the file: its default holds again."""
    value = unset_value(locate().config, key)
    show(
        {"key": key, "value": None if value is None else value.value},
        as_json=as_json,
        render=lambda: _line(value) if value else f"{key} is not set any more",
    )


@app.command("path")
@explain
def path(as_json: Json = False) -> None:
    """Print where settings, data, cache and logs lie."""
    paths = locate()
    places = {name: str(getattr(paths, name)) for name in ("config", "data", "cache", "log")}
    show(places, as_json=as_json, render=lambda: "\n".join(f"{k:7} {v}" for k, v in places.items()))


def _line(value: Value) -> str:
    shown = f'"{value.value}"' if isinstance(value.value, str) else _written(value.value)
    line = f"{value.key} = {shown}  ({value.origin})"
    return f"{line:56} {value.description}" if value.description else line


def _written(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(json.dumps(part) for part in value)}]"
    return str(value).lower() if isinstance(value, bool) else str(value)
