"""Writing a proposal's branch, into the project's repository or the vault."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from skillopt_sleep.paths import Paths
from skillopt_sleep.records import Note, Proposal
from skillopt_sleep.review.wording import count
from skillopt_staging.branches import branch_name, stage, trailers
from skillopt_staging.proposals import Staged
from skillopt_staging.targets import project_target, vault_path
from skillopt_staging.vault import Vault


def write_branch(
    paths: Paths,
    note: Note,
    *,
    title: str,
    repository: str | None,
    live: str,
    base_text: str,
    text: str,
    beside: Mapping[str, str | None] | None = None,
    beside_base: Mapping[str, str | None] | None = None,
) -> Staged:
    """Write the branch `skillopt/<night>-<skill>` with one commit and its evidence; find it if it is there.

    `repository` is the project's, or None for a skill of the user's, whose branch goes into the vault.
    `base_text` is the live file the candidate was measured against ("" for none). `beside` are the skill's
    other files, by their path in its folder; None takes one away. `beside_base` are those the candidate was
    measured against; without it, the live ones as they are now.
    """
    branch = branch_name(note.night, note.skill)
    message = make_message(title, note)
    evidence = msgspec.json.encode(note).decode()
    if repository:
        target = project_target(Path(repository), note.skill, note.client)
        root, path = target.repository, target.path
    else:
        vault = Vault(paths.vault)
        path = vault_path(Path(live))
        vault.mirror(Path(live), path)
        root = vault.root
    return stage(
        root,
        branch=branch,
        path=path,
        text=text,
        message=message,
        note=evidence,
        live=Path(live),
        base_text=base_text,
        beside=beside,
        beside_base=beside_base,
    )


def restage(paths: Paths, proposal: Proposal) -> Staged:
    """Write the branch of a proposal anew, where it was; find it if it is there."""
    staged = proposal.staged
    if proposal.scope == "user":
        Vault(paths.vault).mirror(Path(staged.live), staged.path)
    return stage(
        Path(staged.repository),
        branch=staged.branch,
        path=staged.path,
        text=proposal.text,
        message=make_message(proposal.title, proposal.note),
        note=msgspec.json.encode(proposal.note).decode(),
        live=Path(staged.live),
        base_text=proposal.base_text,
        beside={file.name: file.text for file in proposal.files},
        beside_base={file.name: file.base_text for file in proposal.files},
    )


def make_message(title: str, note: Note) -> str:
    """Return the commit message: what changed, the gate's sentence, and the evidence as trailers."""
    verdict = note.verdict
    sessions = sorted({session for edit in note.edits for session in edit.sessions})
    low, high = verdict.interval
    return trailers(
        f"Teach {note.skill}: {' '.join(title.split())[:60]}\n\n{verdict.reason}",
        {
            "Night": note.night,
            "Gate-Mode": verdict.mode,
            "Effect": f"{verdict.effect:+.2f} [{low:+.2f}, {high:+.2f}]",
            "Evidence": f"{verdict.wealth:.1f} over {count(verdict.nights, 'night')}",
            "Tasks": f"{verdict.wins} fixed, {verdict.losses} broken, {verdict.ties} same",
            "Cost-USD": "unknown" if note.usage.cost_usd is None else f"{note.usage.cost_usd:.2f}",
            "Sessions": " ".join(sessions),
        },
    )
