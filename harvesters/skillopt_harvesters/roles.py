"""What a turn is to the miner: an ask, a follow-up of the ask before it, or nothing to learn from."""

from __future__ import annotations

import re
from enum import Enum

import msgspec

from skillopt_harvesters.folding import fold_marks
from skillopt_harvesters.normalise import STOP_WORDS, content_words, is_cjk, normalise, stem
from skillopt_harvesters.outcomes import undoes
from skillopt_harvesters.pastes import ask_of
from skillopt_harvesters.records import Signal, Turn
from skillopt_harvesters.replies import Reply, classify_reply, is_automatic, leans_on_before
from skillopt_harvesters.typed import typed_part
from skillopt_harvesters.vocabulary import BUILT_IN_COMMANDS, CARRYING_COMMANDS, CLIENT_COMMANDS

_FEW_WORDS = 2
_A_WORD_OR_TWO = 2.5
_FEW_SUBJECTS = 1
_MAX_COMPARED = 2_000
_NAME = re.compile(r"[^\W_]{2,}")
_FOLLOWING = frozenset(
    {Reply.CORRECTION, Reply.ACCEPTANCE, Reply.CONSENT, Reply.ADDITION, Reply.DROP},
)


class Role(str, Enum):
    """What a turn is to the miner."""

    ASK = "ask"
    FOLLOW_UP = "follow-up"
    CLIENTS = "client's"  # work the client has words for, and the user gave none
    NOTHING = "nothing"


def classify(turn: Turn, previous: Turn | None, asked: str = "") -> Role:
    """Return the role of a turn, given the turn it follows and the ask that one belongs to, if any."""
    prompt = ask_of(turn.prompt).strip()
    if not turn.typed or turn.abandoned or _is_put_together(prompt):
        return Role.NOTHING
    if turn.command is not None:
        return _classify_command(turn.command, prompt)
    if not prompt:
        return Role.NOTHING
    if len(prompt) < len(turn.prompt):
        turn = msgspec.structs.replace(turn, prompt=prompt)
    stopped = previous is not None and Signal.INTERRUPTION in previous.signals
    if is_automatic(prompt) or (previous is not None and not stopped and _follows(turn, previous, asked)):
        return Role.FOLLOW_UP
    if stopped and previous is not None and not _is_unrelated(turn, previous, asked):
        return Role.FOLLOW_UP
    skeleton = normalise(prompt)
    spoken = [token for token in skeleton if not token.startswith("<")]
    return Role.ASK if content_words(skeleton) or len(spoken) > 1 else Role.NOTHING


def carries_ask(command: str | None) -> bool:
    """Tell whether what was typed behind a command is an ask as it stands."""
    return command is not None and command.lstrip("/").lower() in CARRYING_COMMANDS


def _classify_command(command: str, arguments: str) -> Role:
    """Return what a command is. A client's own one is an ask when what was typed behind it makes one."""
    name = command.lstrip("/").lower()
    if not command.startswith("/") or name in CLIENT_COMMANDS:
        return Role.NOTHING
    if name in BUILT_IN_COMMANDS and not content_words(normalise(arguments)):
        return Role.CLIENTS
    return Role.ASK


def _is_unrelated(turn: Turn, stopped: Turn, asked: str) -> bool:
    """Whether a prompt after an interruption has nothing to do with it: a task that shares no word with it.

    What is said to a stopped agent directs it again unless it clearly does not.
    """
    if classify_reply(turn.prompt, asked=asked or stopped.prompt, answer=stopped.answer) is not Reply.ASK:
        return False
    if leans_on_before(fold_marks(typed_part(turn.prompt)), few=True):
        return False
    mine = _subjects(turn.prompt)
    theirs = _subjects(asked) | _subjects(stopped.prompt)
    for call in stopped.tool_calls:
        theirs |= _subjects(call.command or "")
        theirs |= {part for path in call.files for part in _NAME.findall(path.casefold())}
    return len(mine) > _FEW_SUBJECTS and mine.isdisjoint(theirs)


def _subjects(text: str) -> set[str]:
    """Return the words of a text that say what it is about, and the parts of the names in it."""
    words = set(content_words(normalise(text[:_MAX_COMPARED])))
    return words | {stem(part) for part in _NAME.findall(text[:_MAX_COMPARED].casefold())} - STOP_WORDS


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
