"""`demo`: a whole night on sample transcripts."""

from __future__ import annotations

import asyncio
import os
from typing import Annotated

import typer

from skillopt_sleep.cli.frame import Json, explain, show
from skillopt_sleep.paths import locate

CHAT = "chat"
CLAUDE = "claude_code"


@explain
def demo(
    agent: Annotated[
        str, typer.Option(help="chat (a model on this machine) or claude_code (uses your plan).")
    ] = CHAT,
    model: Annotated[str, typer.Option(help="local, local:NAME or local:/path/to/file.gguf")] = "local",
    as_json: Json = False,
) -> None:
    """Work one whole night on bundled sample transcripts, in a home of its own, with a local model.

    Nothing of yours is read or written. The first time, the model is fetched (1.1 GB).
    """
    from skillopt_sleep.cli.progress import follow
    from skillopt_sleep.demo.home import make_home
    from skillopt_sleep.demo.night import run_demo
    from skillopt_sleep.lock import hold
    from skillopt_sleep.night.report import to_json, to_markdown

    paths = locate()
    home = make_home(paths, os.environ)
    if not as_json:
        typer.echo(_introduce(agent, model), err=True)
    with hold(home.paths, "demo"), follow() as listen:
        report = asyncio.run(run_demo(home, agent, model, listen=listen))
    show(
        to_json(report),
        as_json=as_json,
        render=lambda: to_markdown(report) + "\n" + _conclude(bool(report.proposals), str(home.paths.data)),
    )


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


def _conclude(staged: bool, home: str) -> str:
    command = f"SKILLOPT_SLEEP_HOME={home} skillopt-sleep review"
    if staged:
        first = [
            "The gate let it through, and it waits as a git branch. Look at it, and apply it if you like:",
            f"  {command}",
        ]
    else:
        first = [
            "The model learned nothing tonight that the gate would let through, so nothing was staged.",
            "That happens with a small model; run the demo again, or see the report above for why.",
        ]
    return "\n".join(
        [
            *first,
            "",
            "With your own Claude Code:",
            "  skillopt-sleep doctor     what is found, what is missing",
            "  skillopt-sleep harvest    read your transcripts (they stay on this machine)",
            "  skillopt-sleep tasks      what recurs in them",
            "  skillopt-sleep run        one night now",
        ]
    )
