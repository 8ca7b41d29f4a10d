"""How an ask ended, from what the session shows after it. Structure comes first, words last.

Refusals, interruptions, undone work, rewinds and the same ask once more need no language; what the follow-ups
say comes from `replies.py`.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from skillopt_harvesters.records import Signal
from skillopt_harvesters.replies import Reply
from skillopt_harvesters.verify import is_verification

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillopt_harvesters.records import Turn

_UNDO = re.compile(
    r"(?:\A|[;&|\n]\s*)(?:sudo\s+)?git\s+(?:-[cC]\s+\S{1,200}\s+){0,3}(?:"
    r"checkout\s+(?:-f\b|--(?=\s|\Z)|--force\b|(?:HEAD\S*\s+)?(?:--\s+)?(?:\.(?=\s|\Z)|\./\S|\S*\.\w+(?=\s|\Z)))"
    r"|restore\b(?!\s+--staged\b(?!.{0,80}--worktree))|revert\b(?!\s+--(?:abort|quit))"
    r"|reset\s+(?:\S{1,80}\s+){0,4}(?:--hard\b|--merge\b|HEAD[~^])|stash(?=\s+(?:push|save|-u|drop)\b|\s*(?:\Z|[;&|\n]))"
    r"|clean\s+-\w*f)"
)
_MAX_LINE = 2_000
_UNDO_COMMANDS = frozenset({"rewind", "undo"})


class Outcome(str, Enum):
    """How an ask ended, as far as the transcript tells."""

    OK = "ok"  # accepted, built on, or answered without a word against it
    CORRECTED = "corrected"  # the user directed the agent again
    ABANDONED = "abandoned"  # stopped, undone or given up, and not taken up again
    UNKNOWN = "unknown"  # no answer, or an answer that ended in an error


class Why(str, Enum):
    """What an outcome rests on."""

    REFUSED = "refused"
    INTERRUPTED = "interrupted"
    UNDONE = "undone"
    REWOUND = "rewound"
    ASKED_AGAIN = "asked again"
    DIRECTED = "directed again"
    DROPPED = "dropped"
    ACCEPTED = "accepted"
    BUILT_ON = "built on"
    VERIFIED = "verified"
    SILENT = "nothing followed"
    UNANSWERED = "unanswered"
    ERROR = "ended in an error"


class Step(msgspec.Struct, frozen=True):
    """A turn of an ask with what it is to the turn before; `reply` is None for the ask itself."""

    turn: Turn
    reply: Reply | None


class Judgement(msgspec.Struct, frozen=True):
    """An outcome with its reasons, the deciding ones first; never empty."""

    outcome: Outcome
    why: tuple[Why, ...]


def judge(steps: Sequence[Step], *, asked_again: bool = False) -> Judgement:
    """Return how an ask ended. The first step is the ask, the others are all that belongs to it, in order.

    `asked_again` says that the user made the same ask once more right after.
    """
    if steps[0].turn.abandoned:
        return Judgement(Outcome.ABANDONED, (Why.REWOUND,))
    corrected: dict[Why, None] = {}
    stopped: dict[Why, None] = {}
    liked: dict[Why, None] = {}
    for place, step in enumerate(steps):
        turn, reply = step.turn, step.reply
        if place > 0:
            _take_reply(reply, stopped, corrected, liked)
            if undoes_by_hand(turn):
                stopped[Why.UNDONE] = None
            elif reply is Reply.UNCLEAR and undoes(turn):
                corrected[Why.UNDONE] = None
        if turn.refusals or (Signal.REFUSAL in turn.signals and _goes_on_after_refusal(turn)):
            corrected[Why.REFUSED] = None
        elif Signal.REFUSAL in turn.signals:
            stopped[Why.REFUSED] = None
        if Signal.INTERRUPTION in turn.signals:
            stopped[Why.INTERRUPTED] = None
    if asked_again and not liked:
        corrected[Why.ASKED_AGAIN] = None
    if corrected:
        return Judgement(Outcome.CORRECTED, (*corrected, *stopped))
    if stopped:
        return Judgement(Outcome.ABANDONED, tuple(stopped))
    return _judge_quiet([step.turn for step in steps], liked)


def _take_reply(
    reply: Reply | None,
    stopped: dict[Why, None],
    corrected: dict[Why, None],
    liked: dict[Why, None],
) -> None:
    if reply is Reply.CORRECTION:
        corrected[Why.DIRECTED] = None
        stopped.clear()
    elif reply is Reply.DROP:
        stopped[Why.DROPPED] = None
    elif stopped and reply in {Reply.UNCLEAR, Reply.ADDITION, Reply.ASK}:
        # The user stopped the agent and then said how to go on, in whatever language.
        corrected[Why.DIRECTED] = None
        corrected.update(stopped)
        stopped.clear()
    elif reply in {Reply.ACCEPTANCE, Reply.ADDITION, Reply.CONSENT}:
        stopped.clear()
        if reply is not Reply.CONSENT:
            liked[Why.ACCEPTED if reply is Reply.ACCEPTANCE else Why.BUILT_ON] = None


def _goes_on_after_refusal(turn: Turn) -> bool:
    """Whether the agent found another way in the same turn: it was told no, and then answered."""
    return Signal.INTERRUPTION not in turn.signals and bool(turn.answer)


def undoes_by_hand(turn: Turn) -> bool:
    """Tell whether the user took the work back with a shell line or a command of the client."""
    if turn.command == "!":
        return bool(_UNDO.search(turn.prompt[:_MAX_LINE]))
    return turn.command is not None and turn.command.lstrip("/").lower() in _UNDO_COMMANDS


def undoes(turn: Turn) -> bool:
    """Tell whether the agent took work back in a turn, with git."""
    return any(call.command and _UNDO.search(call.command[:_MAX_LINE]) for call in turn.tool_calls)


def _judge_quiet(turns: list[Turn], liked: dict[Why, None]) -> Judgement:
    """Judge an ask that nothing speaks against."""
    if liked:
        return Judgement(Outcome.OK, tuple(liked))
    worked = [turn for turn in turns if turn.answer or turn.tool_calls]
    if not worked:
        failed = any(Signal.ERROR in turn.signals for turn in turns)
        return Judgement(Outcome.UNKNOWN, (Why.ERROR if failed else Why.UNANSWERED,))
    last = worked[-1]
    codes = [
        call.exit_code
        for turn in worked
        for call in turn.tool_calls
        if call.command and call.exit_code is not None and is_verification(call.command)
    ]
    if codes and codes[-1] != 0:
        return Judgement(Outcome.UNKNOWN, (Why.ERROR,))
    if codes:
        return Judgement(Outcome.OK, (Why.VERIFIED,))
    if not last.answer:
        return Judgement(Outcome.UNKNOWN, (Why.UNANSWERED,))
    return Judgement(Outcome.OK, (Why.SILENT,))
