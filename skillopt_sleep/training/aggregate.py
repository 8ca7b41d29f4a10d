"""Merge what several minibatches propose into one list of edits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from skillopt_sleep.training.evidence import Failure
from skillopt_sleep.training.markdown import fold
from skillopt_sleep.training.provenance import count_support
from skillopt_sleep.training.records import Edit


def merge_edits(proposals: Iterable[Sequence[Edit]], failures: Sequence[Failure]) -> tuple[Edit, ...]:
    """Return each distinct edit once, those that more failed tasks stand behind first.

    Edits are the same when operation, content and target agree up to case, spaces and emphasis; the merged
    one cites what each of them cited. Edits of equal support keep the order they came in.
    """
    merged: dict[tuple[str, str, str], Edit] = {}
    for edit in (edit for proposal in proposals for edit in proposal):
        key = (edit.op, fold(edit.content), fold(edit.target))
        first = merged.setdefault(key, edit)
        merged[key] = msgspec.structs.replace(
            first,
            because=tuple(dict.fromkeys([*first.because, *edit.because])),
            sessions=tuple(dict.fromkeys([*first.sessions, *edit.sessions])),
        )
    counted = [msgspec.structs.replace(e, support=count_support(e, failures)) for e in merged.values()]
    return tuple(sorted(counted, key=lambda edit: -edit.support))
