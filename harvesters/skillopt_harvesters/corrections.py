"""Corrections in the user's own words: what was wanted, what was not.

Only quoted, code-like or short fragments are taken out of them, as they stand in the text; the rest of the
sentence stays a quote. The phrases are those of the lexicons.
"""

from __future__ import annotations

import re

import msgspec

from skillopt_harvesters.folding import fold_marks
from skillopt_harvesters.records import Session, Signal, Turn
from skillopt_harvesters.redact import redact_within
from skillopt_harvesters.replies import Reply, classify_reply, readers_of
from skillopt_harvesters.sentences import MAX_QUOTE, Correction, Sentence
from skillopt_harvesters.typed import typed_part

_MAX_SENTENCE = 400
_HAN = "\u4e00-\u9fff"
_SENTENCE = re.compile(rf"(?<=[.!?])\s+(?=[A-Z`\"“'{_HAN}])|(?<=[{_HAN}][.!?])|\n+")
# What a program printed, and the user repeats without a mark.
_PRINTED = re.compile(r"(?:error|warning|fatal)(?:\[\w+\])?: ", re.IGNORECASE)


def is_correction(text: str, before: Turn | None = None) -> bool:
    """Tell whether a prompt that follows an agent's answer corrects it. `before` is the answered turn.

    When that turn was a correction itself, or a picture without a word, the ask is not known, and with it
    whether a plain instruction is the next ask: only outright corrections count then.
    """
    if before is None:
        return classify_reply(text) is Reply.CORRECTION
    wordless = not before.prompt and before.command is None
    outright = wordless or Signal.CORRECTION in before.signals
    reply = classify_reply(text, asked=before.prompt, answer=before.answer, outright=outright)
    return reply is Reply.CORRECTION


def mark_corrections(session: Session) -> Session:
    """Return the session with `Signal.CORRECTION` on the turns that correct the answer before, on no others.

    A harvest leaves this signal out: to tell takes longer than to read the turn, and few need to know. The
    turn before a fork is another session's, and stays as it is.
    """
    before = session.before
    marked = []
    for turn in session.turns:
        answered = before is not None and bool(before.answer or before.tool_calls)
        corrects = answered and turn.command is None and is_correction(turn.prompt, before)
        if corrects != (Signal.CORRECTION in turn.signals):
            signals = sorted({*turn.signals} ^ {Signal.CORRECTION}, key=lambda signal: signal.value)
            turn = msgspec.structs.replace(turn, signals=tuple(signals))  # noqa: PLW2901
        marked.append(turn)
        if not _is_aside(turn):
            before = turn
    return msgspec.structs.replace(session, turns=tuple(marked))


def _is_aside(turn: Turn) -> bool:
    """Tell whether a line was for the shell or the client alone: the answer before is still the last one."""
    return turn.command is not None and not (turn.answer or turn.tool_calls or turn.signals)


def find_corrections(text: str, *, directed: bool = False) -> tuple[Correction, ...]:
    """Return the corrections in a prompt; empty when it is none.

    `directed` says that the text is known to direct the agent, as the reason for refusing a tool call does. A
    correction without a usable fragment is returned with both sides None. What was pasted is not read.
    """
    said = typed_part(text)
    if not (text.strip() if directed else is_correction(text)):
        return ()
    quote = redact_within(said or text.strip(), MAX_QUOTE)
    found: list[Correction] = []
    start = 0
    for gap in [*_SENTENCE.finditer(fold_marks(said)), None]:
        end = gap.start() if gap else len(said)
        found.extend(_find_in(said[start:end].strip()[:_MAX_SENTENCE], quote))
        start = gap.end() if gap else end
    return tuple(dict.fromkeys(found)) or (Correction(None, None, quote),)


def _find_in(sentence: str, quote: str) -> list[Correction]:
    if _PRINTED.match(sentence):
        return []
    folded = fold_marks(sentence)
    for phrases in readers_of(folded):
        found = Sentence(sentence, folded, phrases).find(quote)
        if found:
            return [found]
    return []
