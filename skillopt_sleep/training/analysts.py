"""Reflection on minibatches: failures, successes, and good and bad runs of one task side by side."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from skillopt_replay.skill_files import SKILL_FILE
from skillopt_sleep.training.analyst_prompts import (
    EXAMPLE,
    KEYS,
    Brief,
    Kind,
    Minibatch,
    build_messages,
    make_schema,
)
from skillopt_sleep.training.asking import Optimizer, Unreachable
from skillopt_sleep.training.edits import apply_edits
from skillopt_sleep.training.markdown import fold
from skillopt_sleep.training.misses import tell_misses
from skillopt_sleep.training.modes import UpdateMode
from skillopt_sleep.training.provenance import COPY
from skillopt_sleep.training.records import Edit
from skillopt_sleep.training.replies import ReplyMalformed
from skillopt_sleep.training.suggestions import Suggestion, read_draft, read_suggestions
from skillopt_sleep.training.traces import Trace
from skillopt_sleep.training.words import runs


class Pattern(msgspec.Struct, frozen=True):
    """Something that went wrong, or well, in several runs."""

    pattern: str
    count: int = 1
    description: str = ""


class Insight(msgspec.Struct, frozen=True, kw_only=True):
    """What the analyst of one minibatch found. `problem` says what could not be had of it.

    `document` is the skill as it would have it, where whole documents are asked for.
    """

    kind: Kind
    edits: tuple[Edit, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    notes: tuple[str, ...] = ()
    reasoning: str = ""
    problem: str = ""
    reached: bool = True
    document: str = ""


def cut(traces: Sequence[Trace], *, size: int, seed: int, failure_only: bool = False) -> list[Minibatch]:
    """Return the minibatches in an order that depends on the traces and the seed alone.

    A task that passed in one run and failed in another is shown with one of each; all others go by whether
    they passed. A run that is neither a full pass nor empty-handed is a failure.
    """
    by_task: dict[str, list[Trace]] = {}
    for trace in traces:
        by_task.setdefault(trace.task.id, []).append(trace)
    pairs: list[tuple[Trace, ...]] = []
    failed: list[tuple[Trace, ...]] = []
    passed: list[tuple[Trace, ...]] = []
    for own in by_task.values():
        good = [run for run in own if run.passed]
        bad = [run for run in own if not run.passed]
        if good and bad:
            pairs.append((bad[0], good[0]))
        elif bad:
            failed.append((bad[0],))
        else:
            passed.append((good[0],))
    groups: list[tuple[Kind, list[tuple[Trace, ...]]]] = [("contrast", pairs), ("failure", failed)]
    groups += [] if failure_only else [("success", passed)]
    batches: list[Minibatch] = []
    for offset, (kind, group) in enumerate(groups):
        random.Random(seed + offset).shuffle(group)  # noqa: S311 - an order, not a secret
        chunks = [group[start : start + size] for start in range(0, len(group), size)]
        batches += [Minibatch(kind, tuple(t for own in chunk for t in own)) for chunk in chunks]
    return batches


async def reflect(optimizer: Optimizer, brief: Brief, batch: Minibatch) -> Insight:
    """Return what the analyst proposes. What it cannot give is said in `problem`, and stops nobody else.

    An edit whose target is not in the skill is told back once. Raises CeilingReached, ServiceRefused.
    """
    if brief.budget == 0:
        return Insight(kind=batch.kind, problem="the learning rate is 0: nothing was asked")

    whole = brief.mode == "full_rewrite_minibatch"
    files = bool(brief.skill.files)

    def find_fault(value: Mapping[str, Any]) -> str:
        if whole:
            return read_draft(value.get("skill_candidates"))[1]
        edits, faults = read_payload(value, brief.mode, batch, files=files)
        misses = [*_find_copies(edits, batch)[1], *_find_misses(brief, edits)]
        return "; ".join([*faults, *misses])

    try:
        reply = await optimizer.ask(
            "analyst",
            build_messages(brief, batch),
            make_schema(brief),
            key=KEYS[brief.mode],
            check=find_fault,
            salt=brief.variant,
            temperature=0.7 if brief.variant else 0.0,
        )
    except Unreachable as error:
        return Insight(kind=batch.kind, problem=str(error), reached=False)
    except ReplyMalformed as error:
        return Insight(kind=batch.kind, problem=str(error))
    value = reply.value
    edits, _ = ([], []) if whole else read_payload(value, brief.mode, batch, files=files)
    draft, _ = read_draft(value.get("skill_candidates")) if whole else (None, "")
    edits = edits if brief.budget is None else edits[: brief.budget]
    edits = _place(brief, _find_copies(edits, batch)[0])
    takes_notes = brief.skill_aware and (batch.kind != "success" or brief.notes_of_success)
    return Insight(
        kind=batch.kind,
        edits=tuple(edits),
        patterns=_read_patterns(value.get("patterns")),
        notes=read_notes(value.get("appendix_notes")) if takes_notes else (),
        reasoning=str(value.get("reasoning") or "").strip(),
        problem=reply.fault,
        document=draft.text if draft else "",
    )


def read_payload(
    value: Mapping[str, Any], mode: UpdateMode, batch: Minibatch, *, files: bool = False
) -> tuple[list[Edit], list[str]]:
    """Return the edits of a reply, or its suggestions as edits that say what to do, and the faults."""
    if mode == "patch":
        return read_edits(value.get("edits"), batch, files=files)
    source: Literal["failure", "success"] = "success" if batch.kind == "success" else "failure"
    found, faults = read_suggestions(value.get("revise_suggestions"), support=batch.tasks, source=source)
    return [_as_edit(one) for one in found], list(faults)


def _as_edit(one: Suggestion) -> Edit:
    title = f"{one.title}: " if one.title else ""
    why = f" Why: {one.motivation}" if one.motivation else ""
    return Edit(
        op="add",
        content=f"{one.kind}: {title}{one.instruction}{why}",
        support=one.support,
        source=one.source,
        rank=one.rank,
    )


def read_edits(raw: object, batch: Minibatch, *, files: bool = False) -> tuple[list[Edit], list[str]]:
    """Return the usable edits of a reply with the tasks behind them, and a fault for each of the others.

    With `files` an edit may name one of the skill's other files.
    """
    if not isinstance(raw, list):
        return [], ['"edits" is not a list']
    edits, faults = [], []
    for number, entry in enumerate(raw):
        try:
            if not isinstance(entry, dict):
                raise TypeError("it is not an object")
            op = "add" if entry.get("op") == "append" else entry.get("op")
            fields = {
                "op": op,
                "content": "" if op == "delete" else entry.get("content") or "",
                "target": entry.get("target") or "",
                "support": min(max(int(entry.get("support") or batch.tasks), 1), batch.tasks),
                "source": "success" if batch.kind == "success" else "failure",
                "rank": number,
                **({"file": entry.get("file") or SKILL_FILE} if files else {}),
            }
            edit = msgspec.convert(fields, Edit)
            if fold(edit.content) == fold(EXAMPLE):
                raise ValueError("it is the example, and not about these runs")
            edits.append(edit)
        except (msgspec.ValidationError, TypeError, ValueError) as error:
            faults.append(f"edit {number + 1}: {error}")
    return edits, faults


def _find_copies(edits: Sequence[Edit], batch: Minibatch) -> tuple[list[Edit], list[str]]:
    """Return the edits that speak of no single task, and a fault for each of the others.

    What several prompts have in common is the wording of the kind, and may be quoted.
    """
    prompts = {trace.task.id: runs(trace.task.prompt, COPY) for trace in batch.traces}
    counts = Counter(run for own in prompts.values() for run in own)
    if len(prompts) < 2:
        return list(edits), []
    single = {run for run, count in counts.items() if count == 1}
    general, faults = [], []
    for edit in edits:
        if runs(edit.content, COPY) & single:
            faults.append(f'"{edit.content}" is about a single task: say what holds for all of the kind')
        else:
            general.append(edit)
    return general, faults


def _place(brief: Brief, edits: Sequence[Edit]) -> list[Edit]:
    """Return the edits; what was to go after a place that is still not found is added instead.

    A rule is worth having wherever it stands; what a replace or delete means without its place is unknown.
    """
    placed = []
    for edit in edits:
        if edit.op == "insert_after" and brief.mode == "patch" and _find_misses(brief, [edit]):
            placed.append(msgspec.structs.replace(edit, op="add", target=""))
        else:
            placed.append(edit)
    return placed


def _find_misses(brief: Brief, edits: Sequence[Edit]) -> list[str]:
    if brief.mode != "patch":
        return []
    _, results = apply_edits(
        brief.skill, edits, limit=len(edits), max_tokens=max(brief.max_skill_tokens, 1_000_000)
    )
    told = tell_misses(brief.skill, results)
    return [told] if told else []


def _read_patterns(raw: object) -> tuple[Pattern, ...]:
    patterns = []
    for entry in raw if isinstance(raw, list) else ():
        if isinstance(entry, str):
            patterns.append(Pattern(entry))
        elif isinstance(entry, dict) and entry.get("type"):
            number = entry.get("count")
            count = number if isinstance(number, int) else 1
            patterns.append(Pattern(str(entry["type"]), count, str(entry.get("description") or "")))
    return tuple(patterns)


def read_notes(raw: object) -> tuple[str, ...]:
    """Return the notes of a reply: a list of texts, one text, or objects with `note` or `content`."""
    entries = raw if isinstance(raw, list) else [raw] if isinstance(raw, str) else []
    texts = [
        str(entry.get("note") or entry.get("content") or "") if isinstance(entry, dict) else str(entry)
        for entry in entries
    ]
    return tuple(" ".join(text.split()) for text in texts if text.strip())
