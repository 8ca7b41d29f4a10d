"""The review without a screen: for pipes, screen readers and other programs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from skillopt_gate.verdicts import Decision
from skillopt_sleep.invocation import call
from skillopt_sleep.records import EditEvidence, Proposal, TaskEvidence
from skillopt_sleep.review.difference import Difference, compare_proposal
from skillopt_sleep.review.visible import show
from skillopt_sleep.review.visible import show_line as _line
from skillopt_sleep.review.wording import (
    BRANCHLESS,
    OPEN,
    count,
    say_ask,
    say_cost,
    say_counts,
    say_effect,
    say_mode,
    say_needed,
    say_origin,
    say_sample,
    say_sealed,
    say_state,
    say_times,
    say_tokens,
    say_wealth,
    tell_reason,
)
from skillopt_staging.hunks import unified
from skillopt_staging.proposals import State

_LONGEST_ASK = 100


def render_plain(proposals: Sequence[Proposal], *, mode: str = "", decided: int = 0) -> str:
    """Return all proposals as plain text, one block each, without colour or drawn boxes.

    The first line names the mode of the gate: the proposal's own, or the configured `mode` without any.
    A block has the verdict's sentence, the numbers behind it, the tasks, the edits with the user's words, a
    unified diff with its hunks numbered, and the commands to decide. `decided` are those not shown.
    """
    if not proposals:
        return "\n".join(_tell_none(mode, decided)) + "\n"
    return "\n\n".join("\n".join(_block(proposal)) for proposal in proposals) + "\n"


def as_json(proposals: Sequence[Proposal]) -> list[dict[str, Any]]:
    """Return one plain object per proposal, ready for a JSON encoder.

    `effect` and `interval` are differences of mean scores, `evidence` the e-value over all nights,
    `cost_usd` None when the price is not known. `reason` is the user's own (None before a decision);
    `verdict_reason` the gate's sentence. Texts are raw, not made safe for a terminal.
    """
    return [_object(proposal) for proposal in proposals]


def _tell_none(mode: str, decided: int) -> Iterator[str]:
    yield f"No proposals are waiting{f' (gate mode: {_line(mode)})' if mode else ''}."
    if decided:
        are = "is" if decided == 1 else "are"
        yield f"{count(decided, 'proposal')} {are} decided or snoozed. To see all:"
        yield f"  {call('review --plain --all')}"
    yield "A night makes new ones:" if decided else "A night makes them:"
    yield f"  {call('run')}"


def _object(proposal: Proposal) -> dict[str, Any]:
    note, verdict = proposal.note, proposal.note.verdict
    difference = compare_proposal(proposal)
    return {
        "id": proposal.id,
        "skill": proposal.skill,
        "client": proposal.client,
        "title": proposal.title,
        "scope": proposal.scope,
        "state": proposal.state.value,
        "reason": proposal.reason,
        "snoozed_until": proposal.snoozed_until,
        "watch": proposal.watch,
        "ungated": proposal.ungated,
        "branch": proposal.staged.branch,
        "path": proposal.staged.live,
        "verdict": verdict.decision.value,
        "verdict_reason": verdict.reason,
        "mode": verdict.mode,
        "guarantee": verdict.guarantee,
        "noise": note.noise,
        "looks": note.looks,
        "sealed": note.sealed,
        "effect": verdict.effect,
        "interval": list(verdict.interval),
        "evidence": verdict.wealth,
        "n": verdict.n,
        "k": verdict.k,
        "wins": verdict.wins,
        "losses": verdict.losses,
        "ties": verdict.ties,
        "nights": verdict.nights,
        "cost_usd": note.usage.cost_usd,
        "tokens": note.usage.tokens,
        "created": proposal.created,
        "diff": "".join(_unify(proposal)),
        "hunks": [
            {
                "number": part.number,
                "header": part.hunk.header,
                "file": part.file,
                "place": part.place,
                "text": part.hunk.text,
            }
            for part in difference.parts
        ],
    }


def _unify(proposal: Proposal) -> Iterator[str]:
    path = proposal.staged.path
    yield unified(proposal.base_text, proposal.text, path)
    for file in proposal.files:
        yield unified(file.base_text or "", file.text or "", f"{path.rpartition('/')[0]}/{file.name}")


def _diff(proposal: Proposal, difference: Difference) -> Iterator[str]:
    # Inside its repository a user's skill lies under a path that says nothing to a reader.
    gone = {file.name: (file.base_text is None, file.text is None) for file in proposal.files}
    for part in difference.parts:
        if part.first:
            new, removed = gone.get(part.file, (not proposal.base_text, False))
            path = f"{proposal.skill}/{part.file}"
            yield f"--- {'/dev/null' if new else _line(f'a/{path}')}"
            yield f"+++ {'/dev/null' if removed else _line(f'b/{path}')}"
        header, rest = part.hunk.text.split("\n", 1)
        yield f"{header} hunk {part.number}"
        yield show(rest.removesuffix("\n"), tab="\t")


def _block(proposal: Proposal) -> Iterator[str]:
    note, verdict = proposal.note, proposal.note.verdict
    difference = compare_proposal(proposal)
    low, high = (say_effect(bound) for bound in verdict.interval)
    kind = f"{_line(proposal.client)}, {_line(proposal.scope)} skill, gate mode: {_line(verdict.mode)}"
    yield f"Proposal {_line(proposal.id)}: {_line(proposal.skill)} ({kind})"
    if proposal.title:
        yield f"About: {_line(proposal.title)}"
    yield f"Verdict: {verdict.decision.value}. {_line(tell_reason(verdict))}"
    yield f"State: {_line(say_state(proposal))}"
    if proposal.watch:
        yield f"Watched: {_line(proposal.watch)}"
    if proposal.ungated:
        yield f"Not gated as it stands: {_line(proposal.ungated)}"
    yield f"Decided by: {_line(say_mode(verdict.mode))}"
    yield f"Effect: {say_effect(verdict.effect)} per task, 95 % interval {low} to {high}"
    yield f"Tonight: {say_sample(verdict)}; {say_counts(verdict)}"
    if verdict.mode == "evidence":
        nights, needed = count(verdict.nights, "night"), say_needed(note.policy, verdict)
        yield f"Evidence: {say_wealth(verdict.wealth)} after {nights}, accepted from {needed}"
    yield from _promise(proposal)
    if verdict.n_all > verdict.n:
        yield f"All nights: {say_effect(verdict.effect_all)} per task on {count(verdict.n_all, 'task')}"
    if verdict.missing:
        yield f"Not run: {count(len(verdict.missing), 'task')}"
    if verdict.broken or verdict.vetoes:
        yield f"In the way: {_line(', '.join(verdict.broken + verdict.vetoes))}"
    if len(note.wealth) > 1 and verdict.mode == "evidence":
        yield f"Evidence night by night: {', '.join(say_wealth(value) for value in note.wealth)}"
    yield f"Cost: {say_cost(note.usage)}, {say_tokens(note.usage.tokens)} tokens"
    sandbox = f" (sandbox: {_line(note.sandbox)})" if note.sandbox else ""
    yield f"Tasks run by: {_line(note.target)}{sandbox}"
    yield f"Edits written by: {_line(note.optimizer)}"
    if proposal.state not in BRANCHLESS:
        yield f"Branch: {_line(proposal.staged.branch)} in {_line(proposal.staged.repository)}"
    yield f"Changes: {_line(proposal.staged.live)}"
    yield from _tasks(proposal)
    yield from _edits(note.edits)
    yield ""
    hunks = count(len(difference.parts), "hunk")
    yield f"Diff ({hunks}, {count(difference.added, 'line')} added, {difference.removed} removed):"
    yield from _diff(proposal, difference)
    yield ""
    yield from _commands(proposal, difference)


def _promise(proposal: Proposal) -> Iterator[str]:
    note = proposal.note
    if note.verdict.guarantee:
        yield f"What holds: {_line(note.verdict.guarantee)}"
    if note.noise:
        yield f"{_line(note.noise[:1].upper() + note.noise[1:])}"
    if note.looks:
        yield f"Looked at: the held-out tasks of this skill, {say_times(note.looks)} so far"
    if note.sealed:
        yield f"Kept back that night: {say_sealed(note.sealed)}"


def _tasks(proposal: Proposal) -> Iterator[str]:
    if proposal.note.tasks:
        yield ""
        yield "Tasks (runs passed before, then after):"
    verdict = proposal.note.verdict
    left = _find_left(proposal)
    for task in proposal.note.tasks:
        if task in left:
            continue
        sides = [
            f"{sum(scores):g} of {len(scores)}" if scores else "no run"
            for scores in (task.incumbent, task.candidate)
        ]
        yield f"  {task.change}: {_line(say_ask(task, _LONGEST_ASK))} ({sides[0]}, then {sides[1]})"
    if left:
        yield f"  not run: {count(len(left), 'more task')}; the evidence sufficed after {verdict.n}"


def _find_left(proposal: Proposal) -> list[TaskEvidence]:
    """Return the tasks that were never begun, as the gate accepted before their turn."""
    verdict = proposal.note.verdict
    if verdict.decision is not Decision.ACCEPT or not verdict.n:
        return []
    return [
        task
        for task in proposal.note.tasks
        if not (task.incumbent or task.candidate or task.task in verdict.missing)
    ]


def _edits(edits: Sequence[EditEvidence]) -> Iterator[str]:
    if edits:
        yield ""
        yield "Edits, and whose words they rest on:"
    for edit in edits:
        yield f"  {edit.op.replace('_', ' ')}: {_line(edit.content or edit.target)}"
        for quote in edit.quotes:
            yield f'    you said "{_line(quote.quote)}" ({_line(say_origin(quote))})'
        if not edit.quotes and edit.sessions:
            yield f"    from sessions {_line(', '.join(edit.sessions))}"


def _commands(proposal: Proposal, difference: Difference) -> Iterator[str]:
    name = shlex.quote(_line(proposal.id))
    if proposal.state in OPEN:
        yield from _set_out("Apply", f"apply {name}")
        if len(difference.parts) > 1:
            some = ",".join(str(part.number) for part in difference.parts[:-1][:2])
            yield from _set_out("Apply some hunks", f"apply {name} --hunks {some}")
        yield from _set_out("Reject", f'reject {name} --reason "..."')
        yield from _set_out("Later", f"snooze {name}")
    elif proposal.state is State.APPLIED:
        yield from _set_out("Take back", f'revert {name} --reason "..."')


def _set_out(what: str, words: str) -> Iterator[str]:
    """Yield a command on a line of its own, so that it can be copied whole."""
    yield f"{what}:"
    yield f"  {call(words)}"
