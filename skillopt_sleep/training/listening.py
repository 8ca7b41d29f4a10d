"""Reflection on what the user said: every edit that comes out of it rests on words the user typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skillopt_sleep.training.analyst_prompts import Brief, Minibatch
from skillopt_sleep.training.analysts import find_misses, place
from skillopt_sleep.training.asking import Optimizer
from skillopt_sleep.training.citing import build_messages, make_schema
from skillopt_sleep.training.insights import Insight, ask, read_edits
from skillopt_sleep.training.records import Edit
from skillopt_sleep.training.vouching import Vouched, Witness


async def listen(optimizer: Optimizer, brief: Brief, batch: Minibatch, witness: Witness) -> Insight:
    """Return the edits the analyst proposes that the witness vouches for; `dropped` are the others.

    A reply without an edit that may stand, or with a target that is not in the skill, is told back once;
    one bad edit among good ones costs that edit only. Raises CeilingReached, ServiceRefused.
    """
    if brief.budget == 0:
        return Insight(kind=batch.kind, problem="the learning rate is 0: nothing was asked")
    quotes = witness.quote(batch.traces)
    if not quotes:
        return Insight(kind=batch.kind, problem="no failure here rests on words the user typed")

    def read(value: Mapping[str, Any]) -> tuple[Vouched, list[str]]:
        edits, faults = read_edits(value.get("edits"), batch)
        edits = edits if brief.budget is None else edits[: brief.budget]
        return witness.vouch(edits, batch.traces, brief.skill.text), faults

    def find_fault(value: Mapping[str, Any]) -> str:
        vouched, faults = read(value)
        if vouched.edits:
            return "; ".join(find_misses(brief, vouched.edits))
        if brief.skill_aware and _list_notes(value):
            return ""
        unfit = [f'"{one.edit.content}": {one.detail}' for one in vouched.dropped]
        return "; ".join([*faults, *unfit]) or 'the list "edits" is empty'

    messages, schema = build_messages(brief, batch, quotes), make_schema(brief, quotes)
    reply = await ask(optimizer, brief, batch, messages, schema, check=find_fault)
    if isinstance(reply, Insight):
        return reply
    vouched, faults = read(reply.value)
    notes = _list_notes(reply.value) if brief.skill_aware else []
    noted = witness.vouch(notes, batch.traces, brief.skill.text).edits
    return Insight(
        kind=batch.kind,
        edits=tuple(place(brief, vouched.edits)),
        dropped=vouched.dropped,
        notes=tuple(note.content for note in noted),
        noted=noted,
        reasoning=str(reply.value.get("reasoning") or "").strip(),
        problem="; ".join(dict.fromkeys(filter(None, [*faults, reply.fault]))),
    )


def _list_notes(value: Mapping[str, Any]) -> list[Edit]:
    raw = value.get("appendix_notes")
    notes = []
    for entry in raw if isinstance(raw, list) else ():
        if isinstance(entry, dict) and str(entry.get("note") or "").strip():
            because = entry.get("because")
            cited = tuple(str(name) for name in because) if isinstance(because, list) else ()
            notes.append(Edit(op="add", content=" ".join(str(entry["note"]).split()), because=cited))
    return notes
