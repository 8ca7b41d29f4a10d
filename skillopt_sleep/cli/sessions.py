"""`sessions`: what was harvested."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from skillopt_sleep.cli.filters import Client, Project, Since, Until, make_filter
from skillopt_sleep.cli.frame import NOTHING_TO_DO, Json, database, explain, show, show_each
from skillopt_sleep.errors import UsageError
from skillopt_sleep.invocation import call
from skillopt_sleep.period import as_local
from skillopt_sleep.review.wording import count

if TYPE_CHECKING:
    import sqlite3

    # The readers of all clients come with it: too much for commands that need none.
    from skillopt_harvesters.records import Session

# As many characters tell the ids of sessions apart that Codex began in the same minute.
_ID = 13
_PROJECT = 14


@explain
def sessions(
    client: Client = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind", metavar="KIND", help="Only of this kind: human, headless, subagent or replay."
        ),
    ] = None,
    project: Project = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="Only the latest so many.")
    ] = None,
    only_ids: Annotated[bool, typer.Option("--ids", help="Print the ids and nothing else.")] = False,
    shown: Annotated[
        str | None,
        typer.Option("--show", metavar="ID", help="Print what is kept of one; the start of its id will do."),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the harvested sessions, oldest first. Times are local; --json gives UTC."""
    from skillopt_sleep.store.find import find_names, find_session, find_sessions, shorten

    with database() as (_, connection):
        wanted = make_filter(
            connection,
            client=client,
            project=project,
            since=since,
            until=until,
            kind=kind,
            limit=limit,
        )
        if shown is not None:
            if kind or project or since or until or limit or only_ids:
                raise UsageError("--show prints one session: of the filters, only --client goes with it")
            _show_one(find_session(connection, shown, wanted.clients), as_json=as_json)
            return
        if only_ids:
            names = find_names(connection, wanted)
            number = show_each((name.id for name in names), as_json=as_json, render=str)
        else:
            with closing(find_sessions(connection, wanted)) as found:
                number = show_each(
                    map(describe, found),
                    as_json=as_json,
                    render=lambda session: _line(session, shorten(connection, session["id"])),
                )
        if not number:
            if not as_json:
                typer.echo(_tell_nothing(connection), err=True)
            raise typer.Exit(NOTHING_TO_DO)


def describe(session: Session) -> dict[str, Any]:
    """Return the session as the `sessions --json` object."""
    from skillopt_harvesters.corrections import mark_corrections
    from skillopt_harvesters.records import Signal

    session = mark_corrections(session)
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
        "prompts": list(session.prompts),
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


def _show_one(session: Session, *, as_json: bool) -> None:
    from skillopt_harvesters.corrections import mark_corrections
    from skillopt_sleep.cli.previews import preview_session
    from skillopt_sleep.store.index import is_gone

    session = mark_corrections(session)
    gone = is_gone(session)
    show(
        {**msgspec.to_builtins(session), "transcript_gone": gone},
        as_json=as_json,
        render=lambda: preview_session(session, gone=gone),
    )


def _line(session: dict[str, Any], short: str) -> str:
    first = " ".join(session["prompts"][0].split())[:60] if session["prompts"] else "(no prompt)"
    marks = f", {len(session['corrections'])} corrected" if session["corrections"] else ""
    project = Path(session["project"] or "-").name[:_PROJECT]
    return (
        f"{as_local(session['started']) or '(no time)':22}  {session['client']:8} {session['kind']:8} "
        f"{short:{_ID}}  {project:{_PROJECT}}  {count(len(session['prompts']), 'prompt')}{marks}: {first}"
    )


def _tell_nothing(connection: sqlite3.Connection) -> str:
    from skillopt_sleep.store.counts import count_sessions

    if count_sessions(connection):
        return "no session fits"
    commands = f"  {call('harvest')}\n  {call('doctor')}"
    return f"no sessions yet; to read them, and to see where they are looked for:\n{commands}"
