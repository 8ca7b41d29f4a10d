"""What the user should know before a proposal is applied: edits under way, limits of the client, shadows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from skillopt_sleep.applying import find_way_on
from skillopt_sleep.deciding import Desired
from skillopt_sleep.records import Proposal
from skillopt_staging.apply import preview
from skillopt_staging.errors import Conflict, StagingError
from skillopt_staging.lint import lint, lint_folder
from skillopt_staging.memory import lint_memory
from skillopt_staging.plans import Plan
from skillopt_staging.targets import FILE, find_shadows

_MOST_FILES = 500


def check_proposal(proposal: Proposal, desired: Desired, env: Mapping[str, str], home: Path) -> list[str]:
    """Return what to know before this is applied, a sentence each. Raises what apply would raise."""
    try:
        plan = preview(proposal.staged, hunks=desired.hunks, text=desired.text)
    except Conflict as error:
        raise find_way_on(proposal, desired, error) from error
    return [*_tell_edits(plan), *_lint(proposal, plan), *_tell_shadows(proposal, env, home)]


def _tell_edits(plan: Plan) -> Iterator[str]:
    if plan.dirty:
        yield "The file has edits of yours that are not committed; they stay, and the change is merged in."
    elif plan.moved:
        yield "The file was changed since this was staged; the change is merged in."


def _lint(proposal: Proposal, plan: Plan) -> Iterator[str]:
    """Yield what the client would stumble over and did not before."""
    live = Path(proposal.staged.live)
    if live.name != FILE:
        for one in lint_memory(plan.after.decode(errors="replace"), client=proposal.client):
            yield f"{one.message[:1].upper()}{one.message[1:]}."
        return
    names = _list_files(live.parent) | {file.name for file in proposal.files if file.text is not None}
    before, after = (
        {
            one.code: one.message
            for one in (
                *lint(text, folder=proposal.skill, client=proposal.client),
                *lint_folder(text, names),
            )
        }
        for text in ((plan.before or b"").decode(errors="replace"), plan.after.decode(errors="replace"))
    )
    for code, message in after.items():
        if code not in before or plan.before is None:
            yield f"{message[:1].upper()}{message[1:]}."


def _tell_shadows(proposal: Proposal, env: Mapping[str, str], home: Path) -> Iterator[str]:
    project = Path(proposal.staged.repository) if proposal.scope == "project" else None
    try:
        shadows = find_shadows(
            Path(proposal.staged.live), proposal.skill, proposal.client, project=project, env=env, home=home
        )
    except StagingError:
        # A client whose places nobody knows has none to look at.
        return
    if shadows:
        yield f"{proposal.client} reads {shadows[0]} instead of this file."


def _list_files(folder: Path) -> set[str]:
    found: set[str] = set()
    for file in folder.rglob("*") if folder.is_dir() else ():
        if len(found) >= _MOST_FILES:
            break
        if file.is_file():
            found.add(file.relative_to(folder).as_posix())
    return found
