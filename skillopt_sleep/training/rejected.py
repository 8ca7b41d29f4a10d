"""The memory of edits that were turned down: bounded, without duplicates, the most telling first.

It is plain data: what keeps it over epochs, resumes and nights stores `edits` and reads them back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from skillopt_sleep.training.records import Edit, RejectedEdit
from skillopt_sleep.training.words import count_tokens, words

CAPACITY = 200
_SHOWN = 8
_SHOWN_TOKENS = 600
_TINY = 0.0005  # shown as no difference


class RejectedEdits(msgspec.Struct, frozen=True):
    """Edits that were turned down, the most telling first. Build it with `remember_rejected`."""

    edits: tuple[RejectedEdit, ...] = ()

    def knows(self, edit: Edit) -> bool:
        """Say whether the edit was turned down before, word for word; punctuation and case do not count."""
        return _key(edit.content, edit.target) in {_key(e.content, e.target) for e in self.edits}


def remember_rejected(
    known: RejectedEdits, rejected: Iterable[RejectedEdit], *, capacity: int = CAPACITY
) -> RejectedEdits:
    """Return the memory with these edits in it as well, given from the oldest to the newest.

    An edit that was turned down several times is kept once: the user's refusal wins over the gate's, what
    was measured over what was not, an effect of its own over a shared one, and then the newest. Order: the
    user's refusals first, then the most harmful effect, then what was never measured; the newest first
    among equals. Only the first `capacity` are kept.
    """
    merged: dict[tuple[tuple[str, ...], tuple[str, ...]], RejectedEdit] = {}
    for edit in (*reversed(known.edits), *rejected):
        key = _key(edit.content, edit.target)
        former = merged.pop(key, None)
        merged[key] = edit if former is None else _merge(former, edit)
    newest_first = reversed(list(merged.values()))
    return RejectedEdits(tuple(sorted(newest_first, key=_weigh)[: max(capacity, 0)]))


def _key(content: str, target: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what makes two edits the same: their text, or, where they have none, what they take away."""
    said = tuple(words(content))
    return (said, ()) if said else ((), tuple(words(target)))


def _merge(former: RejectedEdit, latest: RejectedEdit) -> RejectedEdit:
    """Return the more telling of two refusals of one edit, with the better of their measurements."""
    told = former if former.by_user and not latest.by_user else latest
    measured = latest
    if latest.effect is None or (former.effect is not None and latest.shared and not former.shared):
        measured = former
    return msgspec.structs.replace(told, effect=measured.effect, shared=measured.shared)


def _weigh(edit: RejectedEdit) -> tuple[bool, bool, float]:
    return not edit.by_user, edit.effect is None, edit.effect or 0.0


def render_rejected(
    rejected: Sequence[RejectedEdit], *, count: int = _SHOWN, max_tokens: int = _SHOWN_TOKENS
) -> str:
    """Return one line for each of the first `count` edits that fit, with why and what was measured.

    A line that is too long for what is left of the tokens is left out, and the next one tried.
    """
    lines: list[str] = []
    room = max_tokens
    for edit in rejected:
        line = _describe(edit)
        if len(lines) < count and count_tokens(line + "\n") <= room:
            lines.append(line)
            room -= count_tokens(line + "\n")
    return "\n".join(lines)


def _describe(edit: RejectedEdit) -> str:
    content = " ".join(edit.content.split())
    what = f'"{content}"' if content else f'deleting "{" ".join(edit.target.split())}"'
    return f"- {what} was turned down: {' '.join(edit.reason.split())}{_measure(edit)}"


def _measure(edit: RejectedEdit) -> str:
    if edit.effect is None:
        return ""
    along = " and other edits" if edit.shared else ""
    if abs(edit.effect) < _TINY:
        return f" (with it{along} the score stayed the same)"
    way = "rose" if edit.effect > 0 else "fell"
    return f" (with it{along} the score {way} by {abs(edit.effect):.3f})"
