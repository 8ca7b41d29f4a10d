"""`sessions`: what was harvested."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

import typer

from skillopt_harvesters.records import Kind, Session, Signal
from skillopt_sleep.cli.frame import NOTHING_TO_DO, Json, database, explain, show


@explain
def sessions(
    kind: Annotated[Kind | None, typer.Option(help="Only sessions of this kind.")] = None,
    as_json: Json = False,
) -> None:
    """List the harvested sessions, oldest first."""
    from skillopt_sleep.store.index import read_sessions

    with database() as (_, connection):
        found = [describe(s) for s in read_sessions(connection, kind=kind.value if kind else None)]
    show(found, as_json=as_json, render=lambda: "\n".join(_line(s) for s in found))
    if not found:
        if not as_json:
            typer.echo("no sessions yet: run skillopt-sleep harvest", err=True)
        raise typer.Exit(NOTHING_TO_DO)


def describe(session: Session) -> dict[str, Any]:
    """Return the session as the `sessions --json` object."""
    signals = Counter(signal for turn in session.turns for signal in turn.signals)
    return {
        "id": session.id,
        "client": session.client,
        "client_version": session.client_version,
        "kind": session.kind.value,
        "path": session.path,
        "project": session.project,
        "branch": session.branch,
        "started": session.started,
        "ended": session.ended,
        "prompts": [_spoken(turn.command, turn.prompt) for turn in session.turns],
        "tool_calls": [
            {"name": call.name, "exit_code": call.exit_code, "error": call.error}
            for turn in session.turns
            for call in turn.tool_calls
        ],
        "interruptions": signals[Signal.INTERRUPTION],
        "corrections": [turn.prompt for turn in session.turns if Signal.CORRECTION in turn.signals]
        + [reason for turn in session.turns for reason in turn.refusals],
        "tokens": session.tokens,
        "skills": sorted({skill for turn in session.turns for skill in turn.skills}),
    }


def _spoken(command: str | None, prompt: str) -> str:
    return f"{command} {prompt}".strip() if command else prompt


def _line(session: dict[str, Any]) -> str:
    first = " ".join(session["prompts"][0].split())[:60] if session["prompts"] else "(no prompt)"
    marks = f", {len(session['corrections'])} corrected" if session["corrections"] else ""
    return (
        f"{session['started'] or '(no time)':20}  {session['client']:7} {session['kind']:8} "
        f"{session['id'][:8]}  {_count(len(session['prompts']), 'prompt')}{marks}: {first}"
    )


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
