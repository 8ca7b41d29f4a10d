"""Which of a proposal's edits, and so which words of the user, stand behind a hunk."""

from __future__ import annotations

import re
from collections.abc import Sequence

from skillopt_sleep.records import EditEvidence
from skillopt_staging.hunks import Hunk, Kind

# A shorter line ("", "---", "- ") could be anyone's.
_TELLING = 4
_MARK = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")


def find_edits(hunk: Hunk, edits: Sequence[EditEvidence]) -> list[EditEvidence]:
    """Return the edits whose content the hunk adds or whose target it removes, in their order."""
    added = _lines("\n".join(line.text for line in hunk.lines if line.kind is Kind.ADDED))
    removed = _lines("\n".join(line.text for line in hunk.lines if line.kind is Kind.REMOVED))
    return [
        edit
        for edit in edits
        if _lines(edit.content) & added or (_lines(edit.target) & removed and _acts(edit))
    ]


def _acts(edit: EditEvidence) -> bool:
    return edit.op in {"replace", "delete"}


def _lines(text: str) -> set[str]:
    """Return the telling lines, without list marks: an edit's sentence becomes a bullet in the skill."""
    lines = (_MARK.sub("", line).strip() for line in text.split("\n"))
    return {line for line in lines if len(line) >= _TELLING}
