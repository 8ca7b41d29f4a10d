"""What of a session could not be read or is left out, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAX_TYPES = 5


def describe_losses(
    *, overlong: int, bad: int, unknown: Mapping[str, int], turns: int, first: int, calls: int
) -> list[str]:
    """Return one sentence for each kind of loss there is.

    `overlong` and `bad` are lines, `unknown` the number of records by a type that is not known, `turns` those
    left out behind the `first` ones, and `calls` the tool calls left out of turns.
    """
    told = []
    if overlong:
        are = "line too long to be a record was" if overlong == 1 else "lines too long to be records were"
        told.append(f"{overlong} {are} skipped")
    if bad:
        are = "line is not a readable record" if bad == 1 else "lines are not readable records"
        told.append(f"{bad} {are}")
    if unknown:
        names = ", ".join(sorted(unknown)[:_MAX_TYPES])
        number = sum(unknown.values())
        are = "record of an unknown type was" if number == 1 else "records of unknown types were"
        told.append(f"{number} {are} skipped: {names}")
    if turns:
        are = "turn was" if turns == 1 else "turns were"
        told.append(f"{turns} {are} left out, beyond the first {first}")
    if calls:
        are = "tool call of a turn" if calls == 1 else "tool calls of turns"
        told.append(f"{calls} {are} with very many {'was' if calls == 1 else 'were'} left out")
    return told
