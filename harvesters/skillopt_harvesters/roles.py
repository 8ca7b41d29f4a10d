"""What a turn is to the miner: an ask, a follow-up of the ask before it, or nothing to learn from."""

from __future__ import annotations

from enum import Enum

from skillopt_harvesters.folding import fold_marks
from skillopt_harvesters.normalise import content_words, is_cjk, normalise
from skillopt_harvesters.outcomes import undoes
from skillopt_harvesters.records import Signal, Turn
from skillopt_harvesters.replies import Reply, classify_reply, is_automatic, leans_on_before
from skillopt_harvesters.typed import typed_part
from skillopt_harvesters.vocabulary import CLIENT_COMMANDS

MAX_ASK = 16_000
_FEW_WORDS = 2
_A_WORD_OR_TWO = 2.5
_FOLLOWING = frozenset(
    {Reply.CORRECTION, Reply.ACCEPTANCE, Reply.CONSENT, Reply.ADDITION, Reply.DROP},
)


class Role(str, Enum):
    """What a turn is to the miner."""

    ASK = "ask"
    FOLLOW_UP = "follow-up"
    NOTHING = "nothing"


def classify(turn: Turn, previous: Turn | None, asked: str = "") -> Role:
    """Return the role of a turn, given the turn it follows and the ask that one belongs to, if any."""
    prompt = turn.prompt.strip()
    if not turn.typed or turn.abandoned or len(prompt) > MAX_ASK or _is_put_together(prompt):
        return Role.NOTHING
    if turn.command is not None:
        name = turn.command.lstrip("/").lower()
        return Role.ASK if turn.command.startswith("/") and name not in CLIENT_COMMANDS else Role.NOTHING
    if not prompt:
        return Role.NOTHING
    stopped = previous is not None and Signal.INTERRUPTION in previous.signals
    if stopped or is_automatic(prompt) or (previous is not None and _follows(turn, previous, asked)):
        return Role.FOLLOW_UP
    skeleton = normalise(prompt)
    spoken = [token for token in skeleton if not token.startswith("<")]
    return Role.ASK if content_words(skeleton) or len(spoken) > 1 else Role.NOTHING


def _is_put_together(prompt: str) -> bool:
    """Whether a program wrote the prompt to try a skill: it has sections for the skill and for the task."""
    headings = {line.lstrip("#").strip().lower() for line in prompt.splitlines() if line.startswith("#")}
    return headings >= {"skill", "task"}


def read_reply(turn: Turn, previous: Turn, asked: str = "") -> Reply:
    """Return what a turn's prompt is to the turn before. Only an answered turn can be corrected."""
    reply = classify_reply(turn.prompt, asked=asked or previous.prompt, answer=previous.answer)
    answered = bool(previous.answer or previous.tool_calls)
    return Reply.UNCLEAR if reply is Reply.CORRECTION and not answered else reply


def _follows(turn: Turn, previous: Turn, asked: str) -> bool:
    """Whether a later prompt belongs to what came before it."""
    reply = read_reply(turn, previous, asked)
    if reply in _FOLLOWING:
        return True
    size = sum(0.5 if is_cjk(word) else 1 for word in content_words(normalise(turn.prompt)))
    said = fold_marks(typed_part(turn.prompt))
    if leans_on_before(said, few=size <= _FEW_WORDS):
        return True
    # Without a lexicon for its language: one or two words, or what made the agent take its work back.
    return reply is Reply.UNCLEAR and (
        (len(said.split()) <= _FEW_WORDS and size <= _A_WORD_OR_TWO) or undoes(turn)
    )
