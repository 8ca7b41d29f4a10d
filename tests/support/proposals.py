"""Proposals as a user would meet them, and a desk that keeps them in memory."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import datetime, timezone

from msgspec.structs import replace

from skillopt_gate.verdicts import Decision, Policy, Verdict
from skillopt_replay.rollouts import Usage
from skillopt_replay.tasks import Origin
from skillopt_sleep.errors import NeedsDecision
from skillopt_sleep.records import EditEvidence, Note, Proposal, TaskEvidence
from skillopt_staging.proposals import Applied, Staged, State

NOW = datetime(2026, 11, 29, 8, 5, tzinfo=timezone.utc)

COMMITS_BASE = """\
---
name: commit-messages
description: Write commit messages.
---

# Commit messages

Write a short summary line and keep it under 72 characters.

## Summary line

- Use the past tense ("Added", "Fixed").
- Start with a capital letter.
- No full stop at the end.

## Body

Explain what was changed, file by file.

Wrap lines at 72 characters.

## Examples

    Added retry to the upload client
"""

COMMITS_TEXT = """\
---
name: commit-messages
description: Write commit messages for this project, whenever work is committed or a pull request is opened.
---

# Commit messages

Write a short summary line and keep it under 72 characters.

## Summary line

- Use the imperative ("Add", "Fix"), never the past tense.
- Start with a capital letter.
- No full stop at the end.

## Body

Explain why the change was needed; the diff already shows what changed.

Wrap lines at 72 characters.

Run `make check` before committing, and do not commit when it fails.

## Examples

    Retry uploads, so that one lost packet costs no release
"""


def verdict(decision: Decision = Decision.ACCEPT, **changes) -> Verdict:
    values = {
        "decision": decision,
        "reason": "better on 9 of 14 tasks it never saw, worse on 1; 41 times more likely than chance",
        "mode": "evidence",
        "n": 14,
        "k": 3,
        "wins": 9,
        "losses": 1,
        "ties": 4,
        "effect": 0.45,
        "interval": (0.21, 0.66),
        "wealth": 41.3,
        "p_value": 0.0107,
        "nights": 3,
        "n_all": 33,
        "effect_all": 0.41,
    }
    return Verdict(**{**values, **changes})


def task(title: str, old: Sequence[float], new: Sequence[float], **answers: str) -> TaskEvidence:
    return TaskEvidence(
        task=title.lower().replace(" ", "-"),
        title=title,
        prompt=answers.pop("prompt", f"{title}, please."),
        incumbent=tuple(old),
        candidate=tuple(new),
        **answers,
    )


COMMIT_TASKS = (
    task(
        "Commit the retry fix",
        (0, 0, 0),
        (1, 1, 1),
        prompt="commit this, the upload client now retries twice",
        before="Added retries to upload client\n\n- client.py: added a loop\n- test_client.py: added a test",
        after="Retry uploads twice before giving up\n\nOne lost packet used to fail a whole release;\n"
        "the server accepts the same part again.",
    ),
    task("Commit after the schema change", (0, 0, 1), (1, 1, 1), before="Changed schema", after="Add index"),
    task("Squash the review fixes", (0, 1, 0), (1, 1, 1), before="Fixed review", after="Follow the review"),
    task("Commit the renamed module", (0, 0, 0), (1, 1, 0), before="Renamed module", after="Rename module"),
    task("Amend with the missing file", (1, 1, 1), (0, 1, 1), before="Add missing file", after="Amend"),
    task("Commit the docs typo", (1, 1, 1), (1, 1, 1), before="Fix typo", after="Fix typo"),
    task("Commit the lock file", (1, 1, 1), (1, 1, 1), before="Update lock file", after="Update lock file"),
    task("Commit generated code", (0, 0, 0), (), before="Added generated code"),
)

COMMIT_EDITS = (
    EditEvidence(
        op="replace",
        target='- Use the past tense ("Added", "Fixed").',
        content='- Use the imperative ("Add", "Fix"), never the past tense.',
        sessions=("7c1e4b", "a90f22"),
        quotes=(Origin("7c1e4b", 6, "no, imperative. “Add retry”, not “Added”"),),
    ),
    EditEvidence(
        op="replace",
        target="Explain what was changed, file by file.",
        content="Explain why the change was needed; the diff already shows what changed.",
        sessions=("a90f22",),
        quotes=(Origin("a90f22", 3, "I can see WHAT you changed, tell me why"),),
    ),
    EditEvidence(
        op="insert_after",
        target="Wrap lines at 72 characters.",
        content="Run `make check` before committing, and do not commit when it fails.",
        sessions=("51d0aa",),
        quotes=(Origin("51d0aa", 11, "you committed with failing tests again, always make check first"),),
    ),
)


def proposal(
    name: str = "commit-messages",
    *,
    base_text: str = COMMITS_BASE,
    text: str = COMMITS_TEXT,
    client: str = "claude",
    scope: str = "project",
    state: State = State.PENDING,
    judged: Verdict | None = None,
    tasks: tuple[TaskEvidence, ...] = COMMIT_TASKS,
    edits: tuple[EditEvidence, ...] = COMMIT_EDITS,
    wealth: tuple[float, ...] = (2.1, 9.8, 41.3),
    cost: float | None = 0.84,
    created: str = "2026-11-29T04:12:00Z",
    **more,
) -> Proposal:
    folder = {"claude": ".claude", "codex": ".agents", "copilot": ".github"}.get(client, ".agents")
    return Proposal(
        id=f"n12-{name}",
        skill=name,
        title="commit what was changed",
        client=client,
        scope=scope,
        state=state,
        staged=Staged(
            repository="/home/ada/code/shop",
            branch=f"skillopt/n12-{name}",
            commit="9f3c1d2e4b5a69788766554433221100ffeeddcc",
            base="1a2b3c4d5e6f708192a3b4c5d6e7f80911223344",
            path=f"{folder}/skills/{name}/SKILL.md",
            live=f"/home/ada/code/shop/{folder}/skills/{name}/SKILL.md",
        ),
        base_text=base_text,
        text=text,
        note=Note(
            night="n12",
            skill=name,
            client=client,
            verdict=judged or verdict(),
            policy=Policy(),
            tasks=tasks,
            edits=edits,
            usage=Usage(412_000, 38_500, 1_900_000, 120_000, cost),
            wealth=wealth,
            target="Claude Code 2.1.290 with haiku",
            optimizer="sonnet",
            sandbox="bubblewrap, no network but the model",
            reasoning="The user corrects tense and asks for reasons in nearly every commit session.",
        ),
        created=created,
        **more,
    )


TESTS_TEXT = """\
---
name: run-the-tests
description: How to run this project's tests, when code was changed.
---

Run `uv run pytest -x -q tests/unit` first; the full suite takes eleven minutes.
Never edit a snapshot to make a test pass: ask first.
"""


def samples() -> list[Proposal]:
    """Return proposals in every state and with every verdict."""
    return [
        proposal(),
        proposal(
            "run-the-tests",
            base_text="",
            text=TESTS_TEXT,
            client="codex",
            judged=verdict(
                wins=6,
                losses=0,
                ties=5,
                n=11,
                effect=0.38,
                interval=(0.11, 0.61),
                wealth=23.9,
                reason="better on 6 of 11 tasks it never saw, worse on none",
            ),
            wealth=(1.4, 5.2, 11.0, 23.9),
            cost=0.31,
            edits=(),
        ),
        proposal(
            "release-notes",
            client="copilot",
            scope="user",
            judged=verdict(
                Decision.NOT_ENOUGH,
                wins=3,
                losses=1,
                ties=5,
                n=9,
                nights=1,
                effect=0.12,
                interval=(-0.14, 0.37),
                wealth=1.6,
                reason="3 wins and 1 loss on 9 tasks; goes on tomorrow with fresh tasks",
            ),
            wealth=(1.6,),
            cost=None,
            created="2026-11-28T03:55:00Z",
        ),
        proposal(
            "sql-migrations",
            state=State.APPLIED,
            applied=Applied(live="x", before="a", after="b", backup="c", complete=True),
            decided="2026-11-27T08:00:00Z",
            created="2026-11-27T04:00:00Z",
            cost=1.2,
        ),
        proposal(
            "changelog",
            state=State.REJECTED,
            reason="too long",
            judged=verdict(effect=0.22, interval=(0.04, 0.41)),
            created="2026-11-25T04:00:00Z",
            cost=0.2,
        ),
    ]


class MemoryDesk:
    """Keeps proposals in a list and notes what it was asked; `refuse` makes every decision fail."""

    def __init__(self, proposals: Sequence[Proposal]) -> None:
        self.kept = list(proposals)
        self.asked: list[tuple[object, ...]] = []
        self.threads: set[int] = set()
        self.refuse = False
        self.conflict = False
        self.warnings: list[str] = []

    def proposals(self) -> list[Proposal]:
        self.threads.add(threading.get_ident())
        return sorted(self.kept, key=lambda kept: kept.state not in {State.PENDING, State.SNOOZED})

    def check(self, proposal: str, hunks: tuple[int, ...] | None, text: str | None = None) -> list[str]:
        if self.conflict:
            raise NeedsDecision("the file was changed in the same place", hint="take hunk 2")
        return list(self.warnings)

    def snooze(self, proposal: str) -> str:
        self._note("snooze", proposal)
        self._set(proposal, state=State.SNOOZED, snoozed_until="2026-12-06T08:05:00Z")
        return f"{proposal} sleeps"

    def gate_again(self, proposal: str, hunks: tuple[int, ...] | None, text: str | None = None) -> str:
        self._note("gate", proposal, hunks, text)
        self._set(proposal, state=State.RETIRED, reason="it goes to the gate again")
        return f"{proposal} is measured next"

    def apply(self, proposal: str, hunks: tuple[int, ...] | None, text: str | None = None) -> str:
        self._note("apply", proposal, hunks, *([] if text is None else [text]))
        self._set(proposal, state=State.APPLIED)
        return f"SKILL.md of {proposal} now has the change"

    def reject(self, proposal: str, reason: str) -> str:
        self._note("reject", proposal, reason)
        self._set(proposal, state=State.REJECTED, reason=reason)
        return f"{proposal} was put away"

    def undo(self, proposal: str) -> str:
        self._note("undo", proposal)
        self._set(proposal, state=State.PENDING, reason=None)
        return f"{proposal} waits again"

    def _note(self, *asked: object) -> None:
        self.threads.add(threading.get_ident())
        self.asked.append(asked)
        if self.refuse:
            raise NeedsDecision("the file [red]changed[/red] since", hint="commit it first")

    def _set(self, wanted: str, **changes) -> None:
        self.kept = [replace(kept, **changes) if kept.id == wanted else kept for kept in self.kept]
