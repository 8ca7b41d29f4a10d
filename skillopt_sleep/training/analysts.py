"""Reflection on minibatches: failures, successes, and good and bad runs of one task side by side."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from skillopt_replay.tasks import Exact
from skillopt_sleep.training import rules
from skillopt_sleep.training.analyst_prompts import (
    Brief,
    Kind,
    Minibatch,
    build_messages,
    make_schema,
)
from skillopt_sleep.training.asking import Optimizer
from skillopt_sleep.training.edits import apply_edits
from skillopt_sleep.training.insights import Insight, ask, read_notes, read_patterns, read_payload
from skillopt_sleep.training.misses import tell_misses
from skillopt_sleep.training.provenance import COPY
from skillopt_sleep.training.records import Edit
from skillopt_sleep.training.suggestions import read_draft
from skillopt_sleep.training.traces import Trace
from skillopt_sleep.training.words import runs

_ANY_SIZE = 1_000_000_000  # here it matters where an edit goes, not whether there is room


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
    known = rules.list_rules(brief)

    def read(value: Mapping[str, Any]) -> tuple[list[Edit], list[str]]:
        placed = value if known is None else rules.read_places(value, known)
        return read_payload(placed, brief.mode, batch, files=files)

    def find_fault(value: Mapping[str, Any]) -> str:
        if whole:
            return read_draft(value.get("skill_candidates"))[1]
        edits, faults = read(value)
        general, copies = _find_copies(edits, batch)
        # A rule that cannot be used costs that rule only, as long as there is another.
        unfit = [] if known is not None and general else [*faults, *copies]
        return "; ".join([*unfit, *find_misses(brief, general[: brief.budget])])

    if known is None:
        messages, schema = build_messages(brief, batch), make_schema(brief)
    else:
        messages, schema = rules.build_messages(brief, batch, known), rules.make_schema(brief, known)
    reply = await ask(optimizer, brief, batch, messages, schema, check=find_fault)
    if isinstance(reply, Insight):
        return reply
    value = reply.value
    edits, _ = ([], []) if whole else read(value)
    draft, _ = read_draft(value.get("skill_candidates")) if whole else (None, "")
    # What may not stand is left out first: it takes no other's place.
    edits = place(brief, _find_copies(edits, batch)[0][: brief.budget])
    takes_notes = brief.skill_aware and (batch.kind != "success" or brief.notes_of_success)
    return Insight(
        kind=batch.kind,
        edits=tuple(edits),
        patterns=read_patterns(value.get("patterns")),
        notes=read_notes(value.get("appendix_notes")) if takes_notes else (),
        reasoning=str(value.get("reasoning") or "").strip(),
        problem=reply.fault,
        document=draft.text if draft else "",
    )


def _find_copies(edits: Sequence[Edit], batch: Minibatch) -> tuple[list[Edit], list[str]]:
    """Return the edits that speak of no single task, and a fault for each of the others.

    What several prompts have in common is the wording of the kind, and may be quoted. The answer of a single
    task may not, even where the optimizer found it by itself; one word alone may be a label.
    """
    prompts = {trace.task.id: runs(trace.task.prompt, COPY) for trace in batch.traces}
    counts = Counter(run for own in prompts.values() for run in own)
    if len(prompts) < 2:
        return list(edits), []
    single = {run for run, count in counts.items() if count == 1}
    answers = _list_answers(batch)
    general, faults = [], []
    for edit in edits:
        said = " ".join(edit.content.split())
        if runs(edit.content, COPY) & single or any(answer in said for answer in answers):
            faults.append(f'"{edit.content}" is about a single task: say what holds for all of the kind')
        else:
            general.append(edit)
    return general, faults


def _list_answers(batch: Minibatch) -> list[str]:
    """Return the exact answers of several words that are wanted of one task alone."""
    golds = {
        (trace.task.id, " ".join(check.text.split()))
        for trace in batch.traces
        for check in trace.task.checks
        if isinstance(check, Exact) and not check.negate and len(re.findall(r"\w+", check.text)) > 1
    }
    counts = Counter(text for _, text in golds)
    return sorted(text for text, count in counts.items() if count == 1)


def place(brief: Brief, edits: Sequence[Edit]) -> list[Edit]:
    """Return the edits; what was to go after a place that is still not found is added instead.

    A rule is worth having wherever it stands; what a replace or delete means without its place is unknown.
    """
    placed = []
    for edit in edits:
        if edit.op == "insert_after" and brief.mode == "patch" and find_misses(brief, [edit]):
            placed.append(msgspec.structs.replace(edit, op="add", target=""))
        else:
            placed.append(edit)
    return placed


def find_misses(brief: Brief, edits: Sequence[Edit]) -> list[str]:
    if brief.mode != "patch":
        return []
    _, results = apply_edits(
        brief.skill, edits, limit=len(edits), max_tokens=_ANY_SIZE, max_file_tokens=_ANY_SIZE
    )
    told = tell_misses(brief.skill, results)
    return [told] if told else []
