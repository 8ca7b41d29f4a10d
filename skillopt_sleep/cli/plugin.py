"""`plugin`: a guide to this program inside a client."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt_sleep.cli.frame import Json, explain, show
from skillopt_sleep.paths import locate

if TYPE_CHECKING:
    from skillopt_sleep.plugin import Plugged

app = typer.Typer(
    help="Let an agent know how to use this program.", no_args_is_help=True, rich_markup_mode=None
)


class Client(str, Enum):
    """A client that takes skills."""

    claude = "claude"
    codex = "codex"
    copilot = "copilot"


_Name = Annotated[Client, typer.Argument(metavar="CLIENT", help="claude, codex or copilot.")]


@app.command("install")
@explain
def install(client: _Name, as_json: Json = False) -> None:
    """Write a skill of ours among those of a client. Claude Code has it as /skillopt-sleep, too."""
    from skillopt_sleep.plugin import plug_in

    _do(plug_in, client, as_json=as_json)


@app.command("uninstall")
@explain
def uninstall(client: _Name, as_json: Json = False) -> None:
    """Remove it again."""
    from skillopt_sleep.plugin import plug_out

    _do(plug_out, client, as_json=as_json)


def _do(
    deed: Callable[[str, Mapping[str, str], Path, Path], Plugged], client: Client, *, as_json: bool
) -> None:
    from skillopt_sleep.clients import find_home

    done = deed(client.value, os.environ, find_home(os.environ), locate().data)
    lines = [f"{done.state}: {done.path}"]
    lines += [f"you had edited it, and your version is kept: {done.kept}"] if done.kept else []
    show(done, as_json=as_json, render=lambda: "\n".join(lines))
