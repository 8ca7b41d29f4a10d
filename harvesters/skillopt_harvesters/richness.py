"""Which of two readings of one session is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillopt_harvesters.files import is_gone

if TYPE_CHECKING:
    from skillopt_harvesters.records import Session


def replaces(new: Session, stored: Session) -> bool:
    """Tell whether a reading takes the place of what is stored of the same session.

    The richer one stays: more turns, else more exit codes, tool calls, tokens, words of the user's, answers,
    a later end, longer answers. So a file that was truncated, or written anew with less, destroys nothing,
    and of two files with the same session one counts.
    Of equals the new one is kept when it comes from the same file, or the stored one's file is gone (it was
    moved).
    """
    ours, theirs = measure(new), measure(stored)
    if ours != theirs:
        return ours > theirs
    return new.path == stored.path or is_gone(stored.path)


def measure(session: Session) -> tuple[int, int, int, int, int, int, str, int]:
    """Return what tells how much a session holds, the first counting most.

    The length of answers comes last: what an agent says at the end is often shorter than what it said before.
    """
    turns, tokens = session.turns, session.tokens
    return (
        len(turns),
        sum(call.exit_code is not None for turn in turns for call in turn.tool_calls),
        sum(len(turn.tool_calls) for turn in turns),
        tokens.input + tokens.output + tokens.cache_read + tokens.cache_write,
        sum(len(turn.prompt) for turn in turns),
        sum(turn.answer != "" for turn in turns),
        session.ended or "",
        sum(len(turn.answer) for turn in turns),
    )
