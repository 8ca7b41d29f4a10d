"""What the user asked for in a session, how each ask ended, and what was learned from what followed it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from skillopt_harvesters.lessons import Attempt, Lesson, find_lessons
from skillopt_harvesters.normalise import fold, normalise
from skillopt_harvesters.outcomes import Judgement, Outcome, Step, Why, judge
from skillopt_harvesters.pastes import ask_of, shorten
from skillopt_harvesters.records import Kind, Session, Signal, Turn
from skillopt_harvesters.redact import redact_within
from skillopt_harvesters.repeats import asks_again
from skillopt_harvesters.replies import Reply
from skillopt_harvesters.roles import Role, carries_ask, classify, read_reply
from skillopt_harvesters.sentences import MAX_QUOTE
from skillopt_harvesters.verify import as_replayable, is_verification

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MAX_VERIFICATIONS = 3
_RIGHT_AFTER = timedelta(minutes=15)


class Occurrence(msgspec.Struct, frozen=True, kw_only=True):
    """One ask in one session.

    `counted` is False for an ask that belongs to the session copied from, or that the user took back by
    rewinding. `failed`: it was corrected, refused, interrupted or given up. `verifications` are the commands
    that checked the work and ended well, as they can be run again. `opens` and `closes` say that it is the
    session's first or last ask; `ended` is the time of the session's last record. `skills`
    are those the agent loaded to answer it, `said` its short follow-ups as they were typed. `rewound` is the
    session whose end the user took back for this one.
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
    judgement: Judgement
    lessons: tuple[Lesson, ...] = ()
    verifications: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    counted: bool = True
    opens: bool = False
    closes: bool = False
    ended: str | None = None
    rewound: str | None = None

    @property
    def outcome(self) -> Outcome:
        return self.judgement.outcome


class AskOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How the ask of one turn ended; `turn` counts the session's turns from 0, -1 is the one before them."""

    turn: int
    outcome: Outcome
    why: tuple[Why, ...]


class _Thread:
    """An ask with what followed it."""

    def __init__(self, index: int, asked: Turn) -> None:
        self.steps: list[Step] = [Step(asked, None)]
        self.places: list[int] = [index]
        self.again: Turn | None = None

    @property
    def asked(self) -> Turn:
        return self.steps[0].turn

    @property
    def turns(self) -> list[Turn]:
        return [step.turn for step in self.steps]

    def follow(self, index: int, turn: Turn, reply: Reply | None) -> None:
        self.steps.append(Step(turn, reply))
        self.places.append(index)

    def lets_stand(self, place: int) -> bool:
        """Whether the user went on without a word against what a step's turn ended with."""
        if Signal.INTERRUPTION in self.steps[place].turn.signals:
            return False
        if place + 1 < len(self.steps):
            return self.steps[place + 1].reply not in {Reply.CORRECTION, Reply.UNCLEAR}
        return self.again is None

    def judge(self) -> Judgement:
        return judge(self.steps, asked_again=self.again is not None)


def find_asks(session: Session) -> Iterator[Occurrence]:
    """Yield the asks of a session in order; none when no person typed its prompts."""
    threads = _find_threads(session)
    for place, thread in enumerate(threads):
        yield _describe(session, thread, opens=place == 0, closes=place == len(threads) - 1)


def find_outcomes(session: Session) -> tuple[AskOutcome, ...]:
    """Return how each ask of a session ended, in order; empty when no person typed its prompts."""
    found = []
    for thread in _find_threads(session):
        judgement = thread.judge()
        found.append(AskOutcome(turn=thread.places[0], outcome=judgement.outcome, why=judgement.why))
    return tuple(found)


def mark_asked_again(occurrences: Iterable[Occurrence]) -> list[Occurrence]:
    """Return the occurrences, in order of time, with those corrected that a new session made once more.

    An ask that ended its session, and that the next session of the project opens with right after, did not go
    well, whatever the first one ended with. One that was taken back, for a session that goes on in its
    place, does not count.
    """
    marked = list(occurrences)
    last: dict[str | None, int] = {}
    closing: dict[str, int] = {}
    for place, one in enumerate(marked):
        before = last.get(one.project) if one.project else None
        if before is not None and _is_made_anew(one, marked[before]):
            judgement = Judgement(Outcome.CORRECTED, (Why.ASKED_AGAIN, *marked[before].judgement.why))
            marked[before] = msgspec.structs.replace(marked[before], judgement=judgement, failed=True)
        if one.opens and one.rewound in closing:
            back = closing[one.rewound]
            marked[back] = msgspec.structs.replace(marked[back], counted=False)
        if one.counted:
            last[one.project] = place
        if one.closes:
            closing[one.session] = place
    return marked


def _is_made_anew(new: Occurrence, old: Occurrence) -> bool:
    if new.session == old.session or not (new.opens and old.closes and new.counted):
        return False
    accepted = {Why.ACCEPTED, Why.BUILT_ON} & set(old.judgement.why)
    if accepted or old.outcome is Outcome.CORRECTED or old.prompt.startswith("/"):
        return False
    gap = _seconds_between(old.ended, new.started)
    return gap is not None and timedelta(0) <= gap <= _RIGHT_AFTER and asks_again(new.prompt, old.prompt)


def _seconds_between(earlier: str | None, later: str | None) -> timedelta | None:
    try:
        start, end = (
            datetime.fromisoformat((time or "").replace("Z", "+00:00")) for time in (earlier, later)
        )
        return end - start
    except (ValueError, TypeError):
        return None


def _find_threads(session: Session) -> list[_Thread]:
    if session.kind is not Kind.HUMAN:
        return []
    threads: list[_Thread] = []
    current: _Thread | None = None
    previous = session.before
    if previous is not None and classify(previous, None) is Role.ASK:
        current = _Thread(-1, previous)
        threads.append(current)
    for index, turn in enumerate(session.turns):
        if turn.abandoned:
            if classify(msgspec.structs.replace(turn, abandoned=False), previous) is Role.ASK:
                threads.append(_Thread(index, turn))
            continue
        if Signal.UNREAD in turn.signals:
            # What was asked is not known: what comes next is about that, and not about the ask before.
            current, previous = None, turn
            continue
        asked = current.asked.prompt if current else ""
        role = classify(turn, previous, asked)
        if role is Role.ASK:
            if current and turn.command is None and asks_again(turn.prompt, current.asked.prompt):
                current.again = turn
            current = _Thread(index, turn)
            threads.append(current)
        elif role is Role.CLIENTS:
            current = None
        elif current and (role is Role.FOLLOW_UP or turn.command or not turn.prompt):
            current.follow(index, turn, _reply_of(turn, previous, role, asked))
        if role is not Role.NOTHING or turn.answer or turn.tool_calls:
            previous = turn
    return threads


def _reply_of(turn: Turn, previous: Turn | None, role: Role, asked: str) -> Reply | None:
    if role is Role.NOTHING or previous is None:
        return None
    # The same words once more: the first time they did not help.
    if turn.command is None and asks_again(turn.prompt, previous.prompt):
        return Reply.CORRECTION
    return read_reply(turn, previous, asked)


def _describe(session: Session, thread: _Thread, *, opens: bool, closes: bool) -> Occurrence:
    index, asked = thread.places[0], thread.asked
    command = None if carries_ask(asked.command) else asked.command
    prompt = f"{command or ''} {shorten(asked.prompt)}".strip()
    judgement = thread.judge()
    failing = {Signal.INTERRUPTION, Signal.REFUSAL}
    return Occurrence(
        session=session.id,
        turn=index,
        prompt=prompt,
        skeleton=(command.lower(),) if command else normalise(ask_of(asked.prompt)),
        folded=fold(prompt),
        client=session.client,
        project=session.project,
        commit=session.commit,
        started=asked.started or session.started,
        failed=judgement.outcome in {Outcome.CORRECTED, Outcome.ABANDONED}
        or any(not failing.isdisjoint(turn.signals) for turn in thread.turns),
        judgement=judgement,
        lessons=tuple(_find_lessons(session.id, thread)),
        verifications=_find_verifications(session.project, thread.turns),
        counted=index >= 0 and not asked.abandoned,
        opens=opens,
        closes=closes,
        ended=session.ended,
        rewound=session.rewound,
        skills=asked.skills,
        said=tuple(turn.prompt for turn in thread.turns[1:] if 0 < len(turn.prompt) <= MAX_QUOTE),
    )


def _find_lessons(session: str, thread: _Thread) -> Iterator[Lesson]:
    """Yield what the user's corrections and refusals teach."""
    if thread.asked.abandoned:
        return
    ran = [call.command for turn in thread.turns for call in turn.tool_calls if call.command]
    attempt = Attempt()
    stopped = False
    for place, (index, step) in enumerate(zip(thread.places, thread.steps, strict=True)):
        origin = (session, max(index, 0))
        turn, reply = step.turn, step.reply
        accepted = turn.answer if thread.lets_stand(place) else ""
        if reply is Reply.CORRECTION or (stopped and reply is Reply.UNCLEAR):
            yield from find_lessons(turn.prompt, origin, attempt, ran, accepted, directed=True)
        elif stopped and reply in {Reply.ASK, Reply.ADDITION}:
            yield from find_lessons(turn.prompt, origin, attempt, ran, accepted, directed=False)
        for words in turn.refusals:
            before = attempt.until_refused(turn, words)
            yield from find_lessons(words, origin, before, ran, accepted, directed=True)
        attempt = attempt.plus(turn)
        stopped = Signal.INTERRUPTION in turn.signals or (stopped and not turn.prompt)
    if thread.again:
        # Of an ask made once more only the contrast to the first time is a correction.
        origin = (session, max(thread.places[-1], 0) + 1)
        for lesson in find_lessons(thread.again.prompt, origin, attempt, ran, directed=True):
            if lesson.correction.wanted and lesson.correction.unwanted:
                yield lesson


def _find_verifications(project: str | None, turns: list[Turn]) -> tuple[str, ...]:
    """Return the last tests and builds of an ask as replayable commands, back to the last that failed."""
    if not project:
        return ()
    found: dict[str, None] = {}
    for call in (call for turn in reversed(turns) for call in reversed(turn.tool_calls)):
        if not call.command or call.exit_code is None or not is_verification(call.command):
            continue
        if call.exit_code != 0 or len(found) >= _MAX_VERIFICATIONS:
            break
        replayable = as_replayable(call.command, project)
        if replayable:
            found[replayable] = None
    return tuple(reversed(found))


def quote_of(prompt: str) -> str:
    """Return a prompt as a short redacted quote."""
    return redact_within(prompt, MAX_QUOTE)
