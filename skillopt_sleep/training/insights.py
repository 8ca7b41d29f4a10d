"""What an analyst found about a minibatch, as its reply has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from skillopt_replay.protocols import Message
from skillopt_replay.skill_files import SKILL_FILE
from skillopt_sleep.training.analyst_prompts import EXAMPLE, KEYS, Brief, Kind, Minibatch
from skillopt_sleep.training.asking import Check, Optimizer, Reply, Unreachable
from skillopt_sleep.training.contents import split_rules
from skillopt_sleep.training.markdown import fold
from skillopt_sleep.training.modes import UpdateMode
from skillopt_sleep.training.records import Edit, EditResult
from skillopt_sleep.training.replies import ReplyMalformed
from skillopt_sleep.training.suggestions import Suggestion, read_suggestions

MOST_EDITS = 100  # of one reply; a model that repeats itself would write thousands


class Pattern(msgspec.Struct, frozen=True):
    """Something that went wrong, or well, in several runs."""

    pattern: str
    count: int = 1
    description: str = ""


class Insight(msgspec.Struct, frozen=True, kw_only=True):
    """What the analyst of one minibatch found. `problem` says what could not be had of it.

    `document` is the skill as it would have it, where whole documents are asked for. `dropped` are edits that
    rest on nothing the user said, `noted` the notes as edits with their sessions, where that is asked for.
    """

    kind: Kind
    edits: tuple[Edit, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    notes: tuple[str, ...] = ()
    reasoning: str = ""
    problem: str = ""
    reached: bool = True
    document: str = ""
    dropped: tuple[EditResult, ...] = ()
    noted: tuple[Edit, ...] = ()


async def ask(
    optimizer: Optimizer,
    brief: Brief,
    batch: Minibatch,
    messages: Sequence[Message],
    schema: Mapping[str, Any],
    *,
    check: Check,
) -> Reply | Insight:
    """Return the analyst's reply, or the insight that says why there is none.

    Raises CeilingReached, ServiceRefused.
    """
    try:
        return await optimizer.ask(
            "analyst",
            messages,
            schema,
            key=KEYS[brief.mode],
            check=check,
            salt=brief.variant,
            temperature=brief.temperature if brief.variant else 0.0,
        )
    except Unreachable as error:
        return Insight(kind=batch.kind, problem=str(error), reached=False)
    except ReplyMalformed as error:
        return Insight(kind=batch.kind, problem=str(error))


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

    What adds several bullets is an edit for each of them; of more than MOST_EDITS the first are read. With
    `files` an edit may name one of the skill's other files.
    """
    if not isinstance(raw, list):
        return [], ['"edits" is not a list']
    edits, faults = [], []
    for number, entry in enumerate(raw[:MOST_EDITS]):
        try:
            if not isinstance(entry, dict):
                raise TypeError("it is not an object")
            op = "add" if entry.get("op", "append") == "append" else entry.get("op")
            because = entry.get("because") or ()
            fields = {
                "op": op,
                "content": "" if op == "delete" else entry.get("content") or entry.get("rule") or "",
                "target": entry.get("target") or "",
                "because": [because] if isinstance(because, str) else because,
                "support": min(max(int(entry.get("support") or batch.tasks), 1), batch.tasks),
                "source": "success" if batch.kind == "success" else "failure",
                **({"file": entry.get("file") or SKILL_FILE} if files else {}),
            }
            edit = msgspec.convert(fields, Edit)
            if fold(edit.content) == fold(EXAMPLE):
                raise ValueError("it is the example, and not about these runs")
            if edit.op != "delete" and not edit.content.strip():
                raise ValueError("it says nothing")
            if edit.op != "add" and not edit.target.strip():
                raise ValueError(f"its target is empty, and {edit.op} needs one")
            rules = split_rules(edit.content) if edit.op == "add" else []
            edits += [msgspec.structs.replace(edit, content=rule) for rule in rules] or [edit]
        except (msgspec.ValidationError, TypeError, ValueError, OverflowError) as error:
            faults.append(f"edit {number + 1}: {error}")
    if max(len(raw), len(edits)) > MOST_EDITS:
        faults.append(f"there are more than {MOST_EDITS} edits: write the most important ones")
    return [msgspec.structs.replace(e, rank=rank) for rank, e in enumerate(edits[:MOST_EDITS])], faults


def read_patterns(raw: object) -> tuple[Pattern, ...]:
    """Return the patterns of a reply: objects with a type, or texts."""
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
