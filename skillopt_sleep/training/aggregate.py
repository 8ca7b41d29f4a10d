"""Merge what several minibatches propose into one list of edits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from skillopt_sleep.training.evidence import Failure
from skillopt_sleep.training.markdown import fold
from skillopt_sleep.training.provenance import count_support
from skillopt_sleep.training.records import Edit
from skillopt_sleep.training.select import order_edits


def merge_edits(proposals: Iterable[Sequence[Edit]], failures: Sequence[Failure]) -> tuple[Edit, ...]:
    """Return each distinct edit once, those that more failed tasks stand behind first.

    Edits are the same when operation, content and target agree up to case, spaces and emphasis; the merged
    one cites what each of them cited and has the best of their ranks. Edits of equal support are in the
    order of `order_edits`.
    """
    merged: dict[tuple[str, str, str], Edit] = {}
    for edit in (edit for proposal in proposals for edit in proposal):
        key = (edit.op, fold(edit.content), fold(edit.target))
        first = merged.setdefault(key, edit)
        merged[key] = msgspec.structs.replace(
            first,
            because=tuple(dict.fromkeys([*first.because, *edit.because])),
            sessions=tuple(dict.fromkeys([*first.sessions, *edit.sessions])),
            source="failure" if "failure" in (first.source, edit.source) else "success",
            rank=min(first.rank, edit.rank),
        )
    counted = [msgspec.structs.replace(e, support=count_support(e, failures)) for e in merged.values()]
    return order_edits(counted)
