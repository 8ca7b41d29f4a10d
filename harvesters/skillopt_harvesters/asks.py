"""What the user asked for in a session, and what followed each ask.

Every turn is an ask, a follow-up of the ask before it (a correction, "continue", "thanks", "fix it"), or
nothing to learn from (client commands, shell lines, prompts that no person typed).
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from skillopt_harvesters.corrections import MAX_QUOTE, Correction, find_corrections
from skillopt_harvesters.normalise import content_words, fold, normalise
from skillopt_harvesters.records import Kind, Session, Signal, Turn
from skillopt_harvesters.redact import redact_within
from skillopt_harvesters.verify import as_replayable, is_verification
from skillopt_harvesters.vocabulary import CLIENT_COMMANDS, has_words, looks_like_command
from skillopt_replay.tasks import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_ASK = 16_000
_ACKNOWLEDGEMENT = re.compile(
    r"(?:(?:ok(?:ay)?|k|yes|yep|yeah|yup|y|no|nope|n|sure|right|exactly|correct|agreed|done|great"
    r"|good|nice|cool"
    r"|perfect|awesome|excellent|lovely|wonderful|brilliant|amazing|fine|lgtm|thanks?|thx|ty|cheers|please"
    r"|thank you(?: (?:so|very) much)?|a lot|well done|good (?:job|work|point)|nice work|looks? "
    r"(?:good|great|right)"
    r"|(?:that|it|this)(?:['’]?s| is)? (?:works?|good|great|fine|perfect|right|correct|better|it|all"
    r"|ok(?:ay)?)"
    r"|works?|now|(?:to me|for me)|ship it|merge it|do (?:it|that|so)|go(?: ahead| on| for it)?"
    r"|continue|proceed"
    r"|carry on|keep going|next|resume|try again|again|retry|go back|hi|hello|hey|stop|wait|never "
    r"?mind|hm+|and"
    r"|sounds good|all (?:good|set)|got it|i see|option \w+|\d{1,2}|[a-d]|the (?:first|second|third"
    r"|last)(?: one)?"
    r"|with (?:it|that)|you|continue from where you left off|much better|of course|as you (?:like"
    r"|wish|suggest\w*))"
    r"(?:[\s,.!?;:)-]+|\Z))+",
    re.IGNORECASE,
)
_LEANS_ON_BEFORE = re.compile(
    r"(?:now|also|and|but|then|next|so|instead|otherwise|plus|too|still|use|make (?:it|that|this|them)"
    r"|keep (?:it|that|this|them)|put (?:it|that|this|them)|missing|revert|undo|same|like|what about"
    r"|how about"
    r"|why|it|that|this|these|those|they|them|your?|i (?:mean|think|see|still)|there (?:is|are)|the "
    r"(?:above|last"
    r"|previous|second|first|numbers?|output|result|answer))\b",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"\b(?:it|this|that|them|these|those|again|above)\b", re.IGNORECASE)


class Role(str, Enum):
    """What a turn is to the miner."""

    ASK = "ask"
    FOLLOW_UP = "follow-up"
    NOTHING = "nothing"


class Lesson(msgspec.Struct, frozen=True, kw_only=True):
    """A correction with what the session shows about it.

    `is_command` when a fragment is a command line or stands in one the agent ran, unless the agent had only
    written the unwanted one down: then the correction is about the answer. `whole_answer` when the unwanted
    fragment is all the agent had answered. `is_checkable` when the fragments can be looked for: commands,
    literal text, or plain words the agent's answer really had ("tabs, not spaces" is a matter of style
    unless the answer speaks of spaces).
    """

    correction: Correction
    origin: Origin
    is_command: bool
    whole_answer: bool
    is_checkable: bool


class Occurrence(msgspec.Struct, frozen=True, kw_only=True):
    """One ask in one session. `counted` is False for an ask that belongs to the session copied from.

    `skills` are those the agent loaded to answer it, `said` the short follow-ups of it, as they were typed.
    """

    session: str
    turn: int
    prompt: str
    skeleton: tuple[str, ...]
    folded: str
    client: str
    project: str | None
    commit: str | None
    started: str | None
    failed: bool
    lessons: tuple[Lesson, ...] = ()
    verification: str | None = None
    skills: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    counted: bool = True


def find_asks(session: Session) -> Iterator[Occurrence]:
    """Yield the asks of a session in order; none when no person typed its prompts."""
    if session.kind is not Kind.HUMAN:
        return
    open_at: int | None = None
    asked: Turn | None = None
    followed: list[tuple[int, Turn]] = []
    previous = session.before
    if previous is not None and classify(previous, 0, None) is Role.ASK:
        open_at, asked = -1, previous
    for index, turn in enumerate(session.turns):
        role = classify(turn, index, previous)
        previous = turn
        if role is Role.NOTHING:
            continue
        if role is Role.FOLLOW_UP:
            followed.append((index, turn))
            continue
        if asked is not None and open_at is not None:
            yield _describe(session, open_at, asked, followed)
        open_at, asked, followed = index, turn, []
    if asked is not None and open_at is not None:
        yield _describe(session, open_at, asked, followed)


def classify(turn: Turn, index: int, previous: Turn | None) -> Role:
    """Return the role of a turn, given its place in the session and the turn before."""
    prompt = turn.prompt.strip()
    if not turn.typed or turn.abandoned or len(prompt) > MAX_ASK:
        return Role.NOTHING
    if turn.command is not None:
        name = turn.command.lstrip("/").lower()
        return Role.ASK if turn.command.startswith("/") and name not in CLIENT_COMMANDS else Role.NOTHING
    skeleton = normalise(prompt)
    stopped = previous is not None and Signal.INTERRUPTION in previous.signals
    if (
        stopped
        or Signal.CORRECTION in turn.signals
        or _ACKNOWLEDGEMENT.fullmatch(prompt)
        or (index > 0 and _leans_on_before(prompt, skeleton))
    ):
        return Role.FOLLOW_UP
    spoken = [token for token in skeleton if not token.startswith("<")]
    return Role.ASK if content_words(skeleton) or len(spoken) > 1 else Role.NOTHING


def _leans_on_before(prompt: str, skeleton: tuple[str, ...]) -> bool:
    """Whether a later prompt can only be understood with what came before it."""
    if _LEANS_ON_BEFORE.match(prompt):
        return True
    return bool(_PRONOUN.search(prompt)) and len(content_words(skeleton)) <= 2


def _describe(session: Session, index: int, asked: Turn, followed: list[tuple[int, Turn]]) -> Occurrence:
    prompt = f"{asked.command or ''} {asked.prompt}".strip()
    turns = [(index, asked), *followed]
    failing = {Signal.CORRECTION, Signal.INTERRUPTION, Signal.REFUSAL}
    return Occurrence(
        session=session.id,
        turn=index,
        prompt=prompt,
        skeleton=(asked.command.lower(),) if asked.command else normalise(asked.prompt),
        folded=fold(prompt),
        client=session.client,
        project=session.project,
        commit=session.commit,
        started=asked.started or session.started,
        failed=any(not failing.isdisjoint(turn.signals) for _, turn in turns),
        lessons=tuple(_find_lessons(session.id, turns)),
        verification=_find_verification(session.project, [turn for _, turn in turns]),
        skills=asked.skills,
        said=tuple(turn.prompt for _, turn in followed if 0 < len(turn.prompt) <= MAX_QUOTE),
        counted=index >= 0,
    )


def _find_lessons(session: str, turns: list[tuple[int, Turn]]) -> Iterator[Lesson]:
    """Yield what the user's corrections and refusals say; the agent's and tools' words only qualify them."""
    ran = [call.command for _, turn in turns for call in turn.tool_calls if call.command]
    answer = ""
    for place, (index, turn) in enumerate(turns):
        said: list[Correction] = []
        stopped = place > 0 and Signal.INTERRUPTION in turns[place - 1][1].signals
        if place > 0 and (stopped or Signal.CORRECTION in turn.signals):
            said.extend(find_corrections(turn.prompt))
        for words in turn.refusals:
            said.extend(find_corrections(words, refusal=True))
        yield from (_qualify(correction, session, max(index, 0), answer, ran) for correction in said)
        answer = turn.answer or answer


def _qualify(correction: Correction, session: str, turn: int, answer: str, ran: list[str]) -> Lesson:
    unwanted = correction.unwanted
    is_command = _is_command(correction, ran, answer)
    return Lesson(
        correction=correction,
        origin=Origin(session, turn, correction.quote),
        is_command=is_command,
        whole_answer=unwanted is not None and _bare(unwanted) == _bare(answer) != "",
        is_checkable=bool(correction.wanted or unwanted)
        and (
            is_command
            or correction.literal
            or (unwanted is not None and unwanted.casefold() in answer.casefold())
        ),
    )


def _is_command(correction: Correction, ran: list[str], answer: str) -> bool:
    """Say whether the correction is about what the agent ran, and not about what it wrote."""
    fragments = [part for part in (correction.wanted, correction.unwanted) if part]
    unwanted = correction.unwanted
    if unwanted and has_words(answer, unwanted) and not any(has_words(line, unwanted) for line in ran):
        return False
    return any(looks_like_command(part) or any(has_words(line, part) for line in ran) for part in fragments)


def _bare(text: str) -> str:
    return text.strip().strip("`\"'.!“”").strip().casefold()


def _find_verification(project: str | None, turns: list[Turn]) -> str | None:
    """Return the last test or build of the ask as a replayable command, if it ended well."""
    if not project:
        return None
    for turn in reversed(turns):
        for call in reversed(turn.tool_calls):
            if call.command and call.exit_code is not None and is_verification(call.command):
                return as_replayable(call.command, project) if call.exit_code == 0 else None
    return None


def quote_of(prompt: str) -> str:
    """Return a prompt as a short redacted quote."""
    return redact_within(prompt, MAX_QUOTE)
