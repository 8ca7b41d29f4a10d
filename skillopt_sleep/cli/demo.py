"""`demo`: a whole night on sample transcripts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from skillopt_sleep.cli.frame import INTERRUPTED, STOPPED, Json, complete, explain, show, stoppable
from skillopt_sleep.errors import UsageError
from skillopt_sleep.invocation import call
from skillopt_sleep.paths import locate

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        str,
        typer.Option(
            metavar="MODEL",
            help="local, local:NAME, local:/path/to/file.gguf, or a server that takes no key (ollama:NAME).",
        ),
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
    from skillopt_sleep.demo.night import check_ready, run_demo
    from skillopt_sleep.lock import hold
    from skillopt_sleep.night.report import to_json, to_markdown

    paths = locate()
    # The lock lies outside of the demo's home: that of a demo at work must not be made anew.
    aside = msgspec.structs.replace(paths, data=paths.cache)
    try:
        with stoppable(), hold(aside, "demo"), follow() as listen:
            check_ready(paths, agent, model, os.environ)
            home = make_home(paths, os.environ)
            if not as_json:
                typer.echo(_introduce(agent, model, home.env), err=True)
            report = complete(run_demo(home, agent, model, os.environ, listen=listen))
    except KeyboardInterrupt:
        typer.echo("interrupted; the next demo begins anew", err=True)
        raise typer.Exit(INTERRUPTED) from None

    def call_there(words: str) -> str:
        return call(words, home=home.paths.data)

    show(
        to_json(report),
        as_json=as_json,
        # The next steps are those of a home of one's own; the demo names its own at the end.
        markdown=lambda: to_markdown(msgspec.structs.replace(report, next_steps=()), call_there),
        render=lambda: "\n" + _conclude(report, call_there("review")),
    )
    if report.state == "stopped":
        raise typer.Exit(STOPPED)
    if report.state == "failed":
        raise typer.Exit(1)


def _introduce(agent: str, model: str, env: Mapping[str, str]) -> str:
    lines = [
        "Sample transcripts: somebody asks Claude Code for the same kind of thing",
        "again and again, and corrects it. Tonight: harvest, mine what recurs, replay",
        "it, learn a skill, test it on held-out tasks, stage it.",
    ]
    if agent == CHAT:
        lines.append(f"Target and optimizer: the model {model!r}.")
        if _is_near(model, env):
            lines.append("It runs on this machine: no key, no account.")
    from skillopt_replay.agents.claude_cli import find_claude

    found = find_claude(os.environ)
    if agent == CHAT and found and found.signed_in:
        lines += [
            "Claude Code is installed and signed in. To use it instead:",
            f"  {call('demo --agent claude_code')}",
        ]
    return "\n".join(lines)


def _is_near(model: str, env: Mapping[str, str]) -> bool:
    from skillopt_replay.errors import Unavailable
    from skillopt_replay.models.near import is_near

    try:
        return is_near(model, env=env)
    except Unavailable:
        return False  # and the night says why


def _conclude(report: NightReport, review: str) -> str:
    seconds = f"The night took {report.seconds:.0f} s."
    if report.proposals:
        first = [
            f"{seconds} The gate let the skill through; it waits as a git branch.",
            "Look at it, and apply it:",
            f"  {review}",
            "(It is applied inside the demo's home; nothing of yours changes. The commands",
            "review, apply, reject, snooze, revert and status know of it with that",
            "SKILLOPT_SLEEP_HOME before them. Give it to no other: harvest, run and install",
            "would read your own sessions into the demo's home.)",
        ]
    elif report.state == "failed":
        first = [
            f"{seconds} It failed, so nothing was learned or staged.",
            "The report above says why; once that is mended, the next demo begins anew.",
        ]
    else:
        first = [
            f"{seconds} Nothing was staged: the model learned nothing that the",
            "gate would let through. That happens with a small model. The report above",
            "says why; the next demo may end otherwise.",
        ]
    return "\n".join(
        [
            *first,
            "",
            "With your own Claude Code: what is found and missing; read your transcripts",
            "(they stay on this machine); what recurs in them; one night now.",
            *(f"  {call(words)}" for words in ("doctor", "harvest", "tasks", "run")),
        ]
    )
