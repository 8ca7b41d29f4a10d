"""Options that say which sessions are meant, shared by the commands that list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from skillopt_sleep.errors import UsageError

if TYPE_CHECKING:
    import sqlite3

    from skillopt_sleep.store.find import Filter

Client = Annotated[
    list[str] | None,
    typer.Option("--client", metavar="NAME", help="Only of this client; several with commas, or repeated."),
]
Project = Annotated[
    str | None, typer.Option("--project", metavar="PATH", help="Only of this folder and what lies below it.")
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since", metavar="TIME", help="Only from then on: 2026-01-31, 2026-01-31T18:30, today, 7d, 36h."
    ),
]
Until = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="Only up to then; a day counts to its end.")
]


def make_filter(
    connection: sqlite3.Connection,
    *,
    client: list[str] | None = None,
    project: str | None = None,
    since: str | None = None,
    until: str | None = None,
    kind: str | None = None,
    limit: int | None = None,
) -> Filter:
    """Return the filter that options ask for. Raises UsageError for what cannot be meant."""
    from skillopt_harvesters.records import Kind
    from skillopt_sleep.clients import check_clients
    from skillopt_sleep.folders import find_folder
    from skillopt_sleep.period import parse_since, parse_until
    from skillopt_sleep.store.find import Filter, list_clients

    if kind is not None and kind not in list(Kind):
        raise UsageError(f"there is no kind {kind!r}", hint=f"known are {', '.join(Kind)}")
    begins = parse_since(since) if since else None
    ends = parse_until(until) if until else None
    if begins and ends and begins >= ends:
        raise UsageError(f"nothing lies between --since {since} and --until {until}")
    return Filter(
        clients=check_clients(client or (), also=list_clients(connection) if client else ()),
        kind=kind,
        folder=find_folder(project) if project else None,
        since=begins,
        until=ends,
        limit=limit,
    )
