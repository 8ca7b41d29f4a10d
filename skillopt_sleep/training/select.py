"""Rank merged edits and clip them to the learning rate.

The order is a function of the edits alone: whichever reflection ended first makes no difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from skillopt_replay.skill_files import SKILL_FILE
from skillopt_sleep.training.markdown import fold
from skillopt_sleep.training.records import Edit

T = TypeVar("T")


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """The edits that a step may apply, best first, and those over its learning rate.

    `ranked` counts the edits that a model put first; `faults` says what of its ranking could not be used.
    """

    edits: tuple[Edit, ...]
    left_out: tuple[Edit, ...] = ()
    ranked: int = 0
    faults: tuple[str, ...] = ()


def order_edits(edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Return the edits in the order they count without a model's ranking.

    More support first, then what failures ask for before what successes do, then the place in the reply,
    then the text. Any order of the same edits gives the same result.
    """
    return tuple(sorted(edits, key=_weigh))


def _weigh(edit: Edit) -> tuple[int, bool, int, str, str, str, str, str, tuple[str, ...]]:
    return (
        -edit.support,
        edit.source == "success",
        edit.rank,
        edit.op,
        fold(edit.content),
        fold(edit.target),
        edit.content,
        edit.target,
        (edit.file, *edit.because, *edit.sessions),
    )


def select_edits(edits: Sequence[Edit], limit: int | None, *, ranking: Sequence[object] = ()) -> Selection:
    """Return at most `limit` of the edits (None: all), those that `ranking` names first.

    `ranking` is a model's reply about `order_edits(edits)`: indices from 0, best first. Indices that are
    no number, out of range or said twice are faults and left out; edits it does not name follow in the
    order they count. Raises ValueError for a negative limit.
    """
    ranked, count, faults = clip_ranked(order_edits(edits), ranking, limit)
    cut = len(ranked) if limit is None else limit
    return Selection(edits=ranked[:cut], left_out=ranked[cut:], ranked=count, faults=faults)


def clip_ranked(
    ordered: Sequence[T], ranking: Sequence[object], limit: int | None
) -> tuple[tuple[T, ...], int, tuple[str, ...]]:
    """Return all the items, those that a ranking names first.

    With them come how many of the first `limit` it names, and what of it could not be used. Raises
    ValueError for a negative limit.
    """
    if limit is not None and limit < 0:
        raise ValueError(f"the learning rate is {limit}: it must be 0 or more")
    chosen: dict[int, None] = {}
    faults: list[str] = []
    for index in ranking:
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(ordered):
            faults.append(f"{index!r} is the number of no edit: they go from 0 to {len(ordered) - 1}")
        elif index in chosen:
            faults.append(f"edit {index} is named twice")
        else:
            chosen[index] = None
    order = [*chosen, *(index for index in range(len(ordered)) if index not in chosen)]
    count = len(chosen) if limit is None else min(len(chosen), limit)
    return tuple(ordered[index] for index in order), count, tuple(faults)


def list_edits(edits: Sequence[Edit]) -> str:
    """Return one line for each of `order_edits(edits)`, numbered as a ranking names them."""
    lines = []
    for index, edit in enumerate(order_edits(edits)):
        parts = [f"{index}: {edit.op}"]
        parts += [f"in {edit.file}"] if edit.file != SKILL_FILE else []
        parts += [f'at "{" ".join(edit.target.split())}"'] if edit.target else []
        parts += [f'"{" ".join(edit.content.split())}"'] if edit.content else []
        lines.append(f"{' '.join(parts)} ({edit.source}, support {edit.support})")
    return "\n".join(lines)
