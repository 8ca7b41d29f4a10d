"""What a proposal carries with it: the evidence, as stored in the database and in the git note."""

from __future__ import annotations

import msgspec

from skillopt_gate.verdicts import Policy, Verdict
from skillopt_replay.rollouts import Usage
from skillopt_replay.tasks import Origin
from skillopt_staging.proposals import Applied, Staged, State


class TaskEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """One held-out task: the scores compared of its valid runs, and one answer of each side (redacted)."""

    task: str
    title: str
    prompt: str
    incumbent: tuple[float, ...]
    candidate: tuple[float, ...]
    before: str = ""
    after: str = ""

    @property
    def change(self) -> str:
        """Return fixed, broken, same, or not run (a side has no valid run)."""
        if not self.incumbent or not self.candidate:
            return "not run"
        before = sum(self.incumbent) / len(self.incumbent)
        after = sum(self.candidate) / len(self.candidate)
        if abs(after - before) < 1e-9:
            return "same"
        return "fixed" if after > before else "broken"


class EditEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """One applied edit, and the user's words it rests on."""

    op: str
    content: str
    target: str = ""
    sessions: tuple[str, ...] = ()
    quotes: tuple[Origin, ...] = ()


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that speaks for or against a proposal. `wealth` holds the e-value after each night.

    `target` names who ran the tasks, the answering model included. `looks` is how often the gate tasks of
    this skill were looked at, `sealed` how many tasks wait sealed; `noise` is the last calibration.
    """

    night: str
    skill: str
    client: str
    verdict: Verdict
    policy: Policy
    tasks: tuple[TaskEvidence, ...]
    edits: tuple[EditEvidence, ...]
    usage: Usage
    wealth: tuple[float, ...]
    target: str
    optimizer: str
    sandbox: str
    reasoning: str = ""
    looks: int = 0
    sealed: int = 0
    noise: str = ""


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """A further file of the skill, by its path in the skill's folder; None stands for no file."""

    name: str
    base_text: str | None
    text: str | None


class AsSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A proposal as it was staged for its skill, kept while it is one for a memory file."""

    staged: Staged
    base_text: str
    text: str
    ungated: str = ""


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A staged skill waiting for, or marked with, the user's decision.

    `scope` is "project" or "user"; `base_text` is the live file when staged ("" if there was none),
    `text` the proposed file; `files` are the skill's other files in it. `created` and `decided` are ISO 8601
    in UTC. `watch` says how corrections rose since it was applied, "" when they did not. `ungated` says why
    the text is no longer what the gate measured, "" while it is. `as_skill` is it before a memory file.
    """

    id: str
    skill: str
    title: str = ""
    client: str
    scope: str
    state: State
    staged: Staged
    base_text: str
    text: str
    note: Note
    created: str
    decided: str | None = None
    reason: str | None = None
    snoozed_until: str | None = None
    applied: Applied | None = None
    files: tuple[FileChange, ...] = ()
    ungated: str = ""
    watch: str = ""
    as_skill: AsSkill | None = None
