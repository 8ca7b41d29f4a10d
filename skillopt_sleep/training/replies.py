"""Read the optimizer's reply: what can be used of it, and what is wrong with the rest."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from skillopt_replay.protocols import Completion
from skillopt_sleep.training.contents import split_rules
from skillopt_sleep.training.records import Edit


class ReplyMalformed(Exception):
    """Nothing of the reply can be used; the message tells the optimizer why."""


class Reply(msgspec.Struct, frozen=True):
    """The usable edits, one rule each, and a fault for each edit that was not usable."""

    reasoning: str
    edits: tuple[Edit, ...]
    faults: tuple[str, ...]


def read_reply(completion: Completion) -> Reply:
    """Return what the reply proposes. Raises ReplyMalformed when no edit in it can be used."""
    value = completion.value if completion.value is not None else find_object(completion.text)
    raw = value.get("edits")
    if not isinstance(raw, list):
        raise ReplyMalformed('the reply has no list "edits"')
    edits: list[Edit] = []
    faults: list[str] = []
    for number, entry in enumerate(raw, 1):
        usable, fault = _read_edit(entry)
        edits += usable
        faults += [f"edit {number}: {fault}"] if fault else []
    if not edits:
        raise ReplyMalformed("; ".join(faults) or 'the list "edits" is empty')
    edits = [msgspec.structs.replace(edit, rank=rank) for rank, edit in enumerate(edits)]
    reasoning = value.get("reasoning")
    return Reply(reasoning.strip() if isinstance(reasoning, str) else "", tuple(edits), tuple(faults))


def find_object(text: str, key: str = "edits") -> dict[str, Any]:
    """Return the first JSON object with the key in the text. Raises ReplyMalformed when there is none."""
    decoder = json.JSONDecoder()
    start = text.find("{")
    while start >= 0:
        try:
            value, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict) and key in value:
            return value
        start = text.find("{", start + 1)
    raise ReplyMalformed(f'the reply holds no whole JSON object with "{key}" (if it was cut off, write less)')


def _read_edit(entry: object) -> tuple[list[Edit], str]:
    """Return the entry as edits, or a fault. An `add` of several bullets becomes one edit for each."""
    if not isinstance(entry, dict):
        return [], "it is not an object"
    operation = entry.get("op", "add")
    because = entry.get("because") or ()
    fields = {
        "op": "add" if operation == "append" else operation,
        "content": "" if operation == "delete" else entry.get("rule") or entry.get("content") or "",
        "target": entry.get("target") or "",
        "because": [because] if isinstance(because, str) else because,
    }
    try:
        edit = msgspec.convert(fields, Edit)
    except msgspec.ValidationError as error:
        return [], str(error)
    if edit.op != "delete" and not edit.content.strip():
        return [], '"rule" is empty'
    if edit.op != "add" and not edit.target.strip():
        return [], f'"target" is empty, and {edit.op} needs one'
    rules = split_rules(edit.content) if edit.op == "add" else []
    return [msgspec.structs.replace(edit, content=rule) for rule in rules] or [edit], ""
