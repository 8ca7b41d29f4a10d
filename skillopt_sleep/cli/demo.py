"""`demo`: a whole night on sample transcripts."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from skillopt_sleep.cli.frame import STOPPED, Json, complete, explain, show, stoppable
from skillopt_sleep.errors import UsageError
from skillopt_sleep.paths import locate

if TYPE_CHECKING:
    from skillopt_sleep.night.report import NightReport

CHAT = "chat"
CLAUDE = "claude_code"


@explain
def demo(
    agent: Annotated[
        str,
        typer.Option(metavar="NAME", help="chat (a model on this machine) or claude_code (uses your plan)."),
    ] = CHAT,
    model: Annotated[
        str, typer.Option(metavar="MODEL", help="local, local:NAME or local:/path/to/file.gguf")
    ] = "local",
    as_json: Json = False,
) -> None:
    """Work a whole night on sample transcripts, with a local model.

    It has a home of its own. Nothing of yours is read or written (claude_code borrows its sign-in). The
    first time, the model is fetched (1.1 GB).
    """
    if agent not in {CHAT, CLAUDE}:
        raise UsageError(f"the demo has no agent {agent!r}", hint=f"it must be {CHAT} or {CLAUDE}")
    from skillopt_sleep.cli.progress import follow
    from skillopt_sleep.demo.home import make_home
    from skillopt_sleep.demo.night import run_demo
    from skillopt_sleep.lock import hold
    from skillopt_sleep.night.report import to_json, to_markdown

    paths = locate()
    # The lock lies outside of the demo's home: that of a demo at work must not be made anew.
    aside = msgspec.structs.replace(paths, data=paths.cache)
    with stoppable(), hold(aside, "demo"), follow() as listen:
        home = make_home(paths, os.environ)
        if not as_json:
            typer.echo(_introduce(agent, model), err=True)
        report = complete(run_demo(home, agent, model, os.environ, listen=listen))
    review = f"SKILLOPT_SLEEP_HOME={shlex.quote(str(home.paths.data))} {_program()} review"
    show(
        to_json(report),
        as_json=as_json,
        # The next steps are those of a home of one's own; the demo names its own at the end.
        markdown=lambda: to_markdown(msgspec.structs.replace(report, next_steps=()), review),
        render=lambda: "\n" + _conclude(report, review),
    )
    if report.state == "stopped":
        raise typer.Exit(STOPPED)


def _introduce(agent: str, model: str) -> str:
    lines = [
        "Sample transcripts: somebody asks Claude Code for the same kind of thing again and corrects it.",
        "Tonight: harvest, mine what recurs, replay it, learn a skill, test it on held-out tasks, stage it.",
    ]
    if agent == CHAT:
        lines.append(f"Target and optimizer: the model {model!r}, on this machine, no key and no account.")
    from skillopt_replay.agents.claude_cli import find_claude

    found = find_claude(os.environ)
    if agent == CHAT and found and found.signed_in:
        lines.append(
            "Claude Code is installed and signed in: skillopt-sleep demo --agent claude_code uses it instead."
        )
    return "\n".join(lines)


def _conclude(report: NightReport, review: str) -> str:
    program = _program()
    seconds = f"The night took {report.seconds:.0f} s."
    if report.proposals:
        first = [
            f"{seconds} The gate let the skill through; it waits as a git branch. Look at it, and apply it:",
            f"  {review}",
            "(It is applied inside the demo's home; nothing of yours changes. Other commands about it need",
            "the same SKILLOPT_SLEEP_HOME before them.)",
        ]
    else:
        first = [
            f"{seconds} Nothing was staged: the model learned nothing that the gate would let through.",
            "That happens with a small model. The report above says why; the next demo may end otherwise.",
        ]
    return "\n".join(
        [
            *first,
            "",
            "With your own Claude Code:",
            f"  {program} doctor     what is found, what is missing",
            f"  {program} harvest    read your transcripts (they stay on this machine)",
            f"  {program} tasks      what recurs in them",
            f"  {program} run        one night now",
        ]
    )


def _program() -> str:
    """Return what to type to start this program again."""
    name = "skillopt-sleep"
    started = Path(sys.argv[0])
    if shutil.which(name) or started.name != name:
        return name
    return shlex.quote(os.path.relpath(started) if started.is_relative_to(Path.cwd()) else str(started))
