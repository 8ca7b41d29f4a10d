"""Everything that is kept of one session, or known of one task, as a page of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from skillopt_harvesters.records import Session, ToolCall, Turn
from skillopt_replay.tasks import Check, Origin, Task
from skillopt_sleep.period import as_local
from skillopt_sleep.review.wording import count


def preview_session(session: Session, *, gone: bool) -> str:
    """Return all that is stored of a session, redacted as it is stored; `gone` when its transcript is."""
    return "\n".join([*_head(session, gone=gone), *_body(session)])


def preview_task(task: Task, sessions: list[Session], *, word: Callable[[Check], str]) -> str:
    """Return all that is known of a task; `sessions` are those it names, `word` puts a check in words."""
    return "\n".join(_tell_task(task, {session.id: session for session in sessions}, word))


def _tell_task(task: Task, sessions: dict[str, Session], word: Callable[[Check], str]) -> Iterator[str]:
    yield f"task      {task.id}: {task.title}"
    yield f"family    {task.family}, {task.skill_origin} skill {task.skill}"
    at = f" at {task.commit}" if task.commit else ""
    yield f"project   {task.project or 'not known'}{at}"
    failed = ", and the agent was corrected, refused or interrupted" if task.failed_before else ""
    times = "once" if task.occurrences == 1 else f"{task.occurrences} times"
    yield f"asked     {times}{failed}"
    yield f"split     {task.split or 'none yet'}"
    yield ""
    yield from _quote(task.prompt, "  > ")
    if task.values:
        yield f"varies    {', '.join(task.values)}"
        yield from _quote(task.template, "  = ")
    for check in task.checks:
        yield ""
        yield f"check     {word(check)}"
        if check.origin is not None:
            yield from _tell_origin(check.origin, sessions)
    if not task.checks:
        yield ""
        yield "no check: nothing to learn from"
    if task.corrections:
        yield ""
        yield "corrected in this family"
        for origin in task.corrections:
            yield from _tell_origin(origin, sessions)
    yield ""
    yield "sessions"
    for name in task.sessions:
        session = sessions.get(name)
        known = (
            f"{as_local(session.started) or '(no time)'}  {session.client}"
            if session
            else "not known any more"
        )
        yield f"          {name}  {known}"


def _tell_origin(origin: Origin, sessions: dict[str, Session]) -> Iterator[str]:
    session = sessions.get(origin.session)
    day = f", {as_local(session.started)}" if session and session.started else ""
    yield from _quote(origin.quote, "          > ")
    yield f"            turn {origin.turn + 1} of {origin.session}{day}"


def _head(session: Session, *, gone: bool) -> Iterator[str]:
    yield f"session   {session.id}"
    yield f"client    {f'{session.client} {session.client_version}'.strip()}, {session.kind.value}"
    yield f"time      {as_local(session.started) or 'not known'} to {as_local(session.ended) or 'not known'}"
    at = f" at {session.commit}" if session.commit else ""
    branch = f", branch {session.branch}" if session.branch else ""
    yield f"project   {session.project or 'not known'}{branch}{at}"
    yield f"read from {session.path}"
    if gone:
        yield "          its transcript is gone; this is the snapshot"
    if session.model:
        yield f"model     {session.model}"
    if session.parent:
        yield f"worked for {session.parent}"
    if session.rewound:
        yield f"continues {session.rewound}"
    tokens = session.tokens
    yield (
        f"tokens    {tokens.input} in, {tokens.output} out, {tokens.cache_read} read from and"
        f" {tokens.cache_write} written to the cache"
    )
    if session.skills_offered:
        yield f"skills    offered: {', '.join(session.skills_offered)}"
    if session.skipped:
        yield f"left out  {count(session.skipped, 'record')} that could not be used"
    for warning in session.warnings:
        yield f"          {warning}"


def _body(session: Session) -> Iterator[str]:
    if session.before is not None:
        yield ""
        yield "copied from another session, and that session's: the turn before"
        yield from _turn(session.before)
    for number, turn in enumerate(session.turns, start=1):
        yield ""
        yield " ".join(filter(None, [f"turn {number}", as_local(turn.started), _marks(turn)]))
        yield from _turn(turn)
    if not session.turns:
        yield ""
        yield "no turns"


def _marks(turn: Turn) -> str:
    marks = [signal.value for signal in turn.signals]
    marks += ["not typed by a person"] if not turn.typed else []
    marks += ["taken back"] if turn.abandoned else []
    return f"[{', '.join(marks)}]" if marks else ""


def _turn(turn: Turn) -> Iterator[str]:
    yield from _quote(f"{turn.command or ''} {turn.prompt}".strip() or "(no words)", "  > ")
    for refusal in turn.refusals:
        yield from _quote(refusal, "  refused, with the words > ")
    for skill in turn.skills:
        yield f"  skill   {skill}"
    for call in turn.tool_calls:
        yield from _call(call)
    if turn.answer:
        yield from _quote(turn.answer, "  < ")
    tokens = turn.tokens
    if tokens.input or tokens.output:
        yield f"  tokens  {tokens.input} in, {tokens.output} out"


def _call(call: ToolCall) -> Iterator[str]:
    ended = "" if call.exit_code is None else f", exit {call.exit_code}"
    yield f"  tool    {call.name}{ended}"
    if call.command:
        yield from _quote(call.command, "          $ ")
    for file in call.files:
        yield f"          file {file}"
    if call.error:
        yield from _quote(call.error, "          ! ")


def _quote(text: str, mark: str) -> Iterator[str]:
    yield from (mark + line for line in text.split("\n"))
