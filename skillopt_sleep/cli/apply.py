"""`apply`: make proposals live."""

from __future__ import annotations

from typing import Annotated

import typer

from skillopt_sleep.cli.frame import NOTHING_TO_DO, Json, explain, say_error, show
from skillopt_sleep.errors import Explained, UsageError
from skillopt_sleep.paths import locate

_NEEDS_DECISION = 4


@explain
def apply(
    proposals: Annotated[
        list[str] | None, typer.Argument(help="Ids, or their beginnings.", metavar="ID")
    ] = None,
    hunks: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="Only these hunks, for example 1,3 (with one ID).")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All proposals that wait.")] = False,
    merge: Annotated[
        bool, typer.Option("--merge", help="Go on where the file has edits you have not committed.")
    ] = False,
    commit: Annotated[
        bool | None,
        typer.Option(
            "--commit/--no-commit", help="Commit a project's skill, and nothing else (else review.commit)."
        ),
    ] = None,
    memory: Annotated[
        bool,
        typer.Option("--memory", help="Into a marked region of the client's memory file, not as a skill."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Write proposals into the live skill files. Your own changes since are merged, never lost."""
    from skillopt_sleep.desk import Change, StoreDesk

    chosen = parse_hunks(hunks)
    names = list(proposals or ())
    _require_choice(names, chosen, everything=everything)
    if memory and chosen is not None:
        raise UsageError("--memory takes the whole proposal", hint="leave out --hunks")
    desk = StoreDesk(locate())
    if everything:
        names = [proposal.id for proposal in desk.pending()]
        if not names:
            show([], as_json=as_json, render=lambda: "No proposals are waiting.")
            raise typer.Exit(NOTHING_TO_DO)
    done: list[Change] = []
    failed: list[Explained] = []
    for name in names:
        try:
            desk.carry_out("move" if memory else "move_back", name)
            done.append(desk.carry_out("apply", name, chosen, merge=merge, commit=commit))
        except Exception as error:
            if not isinstance(error, Explained):
                raise
            failed.append(error)
    # When one of several cannot be applied, the others are live all the same.
    if done:
        show(done, as_json=as_json, render=lambda: "\n".join(change.sentence for change in done))
    for one in failed:
        say_error(one)
    refused = [change for change in done if change.uncommitted]
    for change in refused:
        typer.echo(f"git refused the commit: {change.uncommitted}", err=True)
    if failed:
        raise typer.Exit(failed[0].exit_code)
    if refused:
        raise typer.Exit(_NEEDS_DECISION)


def _require_choice(names: list[str], chosen: tuple[int, ...] | None, *, everything: bool) -> None:
    if everything and (names or chosen is not None):
        raise UsageError("--all takes neither IDs nor --hunks")
    if not everything and not names:
        raise UsageError(
            "name the proposals to apply, or --all", hint="those that wait: skillopt-sleep review --plain"
        )
    if chosen is not None and len(names) > 1:
        raise UsageError("--hunks goes with one ID", hint="apply the others with a command of their own")


def parse_hunks(text: str | None) -> tuple[int, ...] | None:
    """Return the numbers of a list such as 1,3; None for none. Raises UsageError for anything else."""
    if text is None:
        return None
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(
            f"--hunks {text!r} is not a list of numbers", hint="for example --hunks 1,3"
        ) from None
    if any(number < 1 for number in numbers):
        raise UsageError("hunks are numbered from 1")
    return numbers
