"""What the two rewrite modes are made of: suggestions for a rewrite, and whole drafts of a skill.

Both come from a model's reply and are held to what they must have; a fault costs the one entry it is in.
`rewrites.enforce_rewrite` holds the document that is written in the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast, get_args

import msgspec

from skillopt_sleep.training.markdown import fold

Kind = Literal["add_rule", "remove_rule", "merge_rules", "reorganize", "compress", "clarify"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_PRIORITIES = {"high": 0, "medium": 1, "low": 2}


class Suggestion(msgspec.Struct, frozen=True, kw_only=True):
    """One thing a rewrite is to do.

    `priority` is 0 (high) to 2 (low); `support`, `source` and `rank` are as in Edit.
    """

    kind: Kind
    instruction: str
    title: str = ""
    motivation: str = ""
    priority: int = 1
    because: tuple[str, ...] = ()
    support: int = 0
    source: Literal["failure", "success"] = "failure"
    rank: int = 0


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A whole document that a minibatch proposes as the new skill."""

    text: str
    title: str = ""
    changes: tuple[str, ...] = ()


def read_suggestions(
    entries: object, *, support: int = 0, source: Literal["failure", "success"] = "failure"
) -> tuple[tuple[Suggestion, ...], tuple[str, ...]]:
    """Return the suggestions of a reply's list, each once, and a fault for each entry without one.

    What the reply calls urgent comes first.
    """
    found: dict[tuple[str, str], Suggestion] = {}
    faults: list[str] = []
    if not isinstance(entries, list):
        return (), ('"revise_suggestions" is no list',)
    for number, entry in enumerate(entries, 1):
        fault = _find_fault(entry)
        if fault:
            faults.append(f"suggestion {number}: {fault}")
            continue
        because = entry.get("because") or ()
        suggestion = Suggestion(
            kind=cast("Kind", entry["type"]),
            instruction=entry["instruction"].strip(),
            title=_text(entry, "title"),
            motivation=_text(entry, "motivation"),
            priority=_PRIORITIES.get(_text(entry, "priority_hint").casefold(), 1),
            because=tuple(b for b in because if isinstance(b, str)) if isinstance(because, list) else (),
            support=support,
            source=source,
        )
        found.setdefault((suggestion.kind, fold(suggestion.instruction)), suggestion)
    ordered = sorted(found.values(), key=lambda one: one.priority)
    return tuple(msgspec.structs.replace(one, rank=at) for at, one in enumerate(ordered)), tuple(faults)


def _find_fault(entry: object) -> str:
    if not isinstance(entry, dict):
        return "it is not an object"
    if entry.get("type") not in KINDS:
        return f'"type" is {entry.get("type")!r}: it must be one of {", ".join(KINDS)}'
    return "" if _text(entry, "instruction") else '"instruction" is empty'


def _text(entry: Mapping[str, object], key: str) -> str:
    value = entry.get(key)
    return value.strip() if isinstance(value, str) else ""


def read_draft(entries: object) -> tuple[Draft | None, str]:
    """Return the first document of a reply's list that has a text, or None and what is wrong."""
    if not isinstance(entries, list):
        return None, '"skill_candidates" is no list'
    for entry in entries:
        if isinstance(entry, dict) and _text(entry, "new_skill"):
            summary = entry.get("change_summary")
            changes = [summary] if isinstance(summary, str) else summary if isinstance(summary, list) else []
            return Draft(
                text=str(entry["new_skill"]),
                title=_text(entry, "title"),
                changes=tuple(change.strip() for change in changes if isinstance(change, str)),
            ), ""
    return None, 'no entry of "skill_candidates" has a "new_skill"'
