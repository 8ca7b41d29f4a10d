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
    names = ", ".join(sorted(unknown)[:_MAX_TYPES])
    strange = sum(unknown.values())
    told = (
        (overlong, "line too long to be a record was skipped", "lines too long to be records were skipped"),
        (bad, "line is not a readable record", "lines are not readable records"),
        (
            strange,
            f"record of an unknown type was skipped: {names}",
            f"records of unknown types were skipped: {names}",
        ),
        (
            turns,
            f"turn was left out, beyond the first {first}",
            f"turns were left out, beyond the first {first}",
        ),
        (
            calls,
            "tool call of a turn with very many was left out",
            "tool calls of turns with very many were left out",
        ),
    )
    return [f"{number} {one if number == 1 else many}" for number, one, many in told if number]
