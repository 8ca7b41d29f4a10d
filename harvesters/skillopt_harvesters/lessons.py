"""What one correction teaches, held against what the agent had done when it was said."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from skillopt_harvesters.corrections import find_corrections
from skillopt_harvesters.sentences import Correction
from skillopt_harvesters.vocabulary import has_words, looks_like_command, same_tool
from skillopt_replay.commands import contains_command
from skillopt_replay.tasks import Check, CommandMatched, Contains, Exact, Matches, Origin, ToolCalled

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from skillopt_harvesters.records import Turn

_MAX_COMMANDS = 400


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """What the agent had said and done by the time of a correction.

    `answer` is its last visible message; `commands` and `tools` are what it ran for the ask so far.
    """

    answer: str = ""
    commands: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()

    def plus(self, turn: Turn) -> Attempt:
        """Return the attempt with a further turn of it."""
        return Attempt(
            answer=turn.answer or self.answer,
            commands=(*self.commands, *(call.command for call in turn.tool_calls if call.command))[
                -_MAX_COMMANDS:
            ],
            tools=tuple(dict.fromkeys((*self.tools, *(call.name for call in turn.tool_calls)))),
        )

    def until_refused(self, turn: Turn, words: str) -> Attempt:
        """Return the attempt up to the call that the user refused with these words."""
        calls = turn.tool_calls
        named = [place for place, call in enumerate(calls) if call.error and words in call.error]
        failed = [place for place, call in enumerate(calls) if call.error and call.exit_code is None]
        end = (named or failed or [len(calls) - 1])[0] + 1
        return self.plus(msgspec.structs.replace(turn, answer="", tool_calls=calls[:end]))


class Lesson(msgspec.Struct, frozen=True, kw_only=True):
    """A correction with the checks it gives, each marked by whether the attempt before it met them.

    `is_command` when it is about what the agent ran or called, and not about what it wrote. `whole_answer`
    when the unwanted fragment is all the agent had answered. `checks` is empty when the fragments cannot be
    looked for: commands, tools and literal text can, plain words only when the agent's answer really had
    them ("tabs, not spaces" is a matter of style unless the answer speaks of spaces), and no text that the
    answer lacks which the user then let stand.
    """

    correction: Correction
    origin: Origin
    is_command: bool
    whole_answer: bool
    checks: tuple[Check, ...]


def find_lessons(
    words: str,
    origin: tuple[str, int],
    attempt: Attempt,
    later: Sequence[str] = (),
    accepted: str = "",
    *,
    directed: bool,
) -> Iterable[Lesson]:
    """Yield what the user's words teach. `origin` is their session and turn.

    The agent's and the tools' words only qualify them. `later` are the commands the agent ran when it had
    been told: they show that a fragment is a command. `accepted` is the answer that the user then let stand.
    """
    for correction in find_corrections(words, directed=directed):
        lesson = _qualify(correction, Origin(*origin, correction.quote), attempt, [*attempt.commands, *later])
        yield msgspec.structs.replace(lesson, checks=()) if _is_refuted(lesson, accepted) else lesson


def _is_refuted(lesson: Lesson, accepted: str) -> bool:
    """Whether a right answer lacks what is looked for: `get_user_name`, where snake_case was wanted."""
    right = Attempt(answer=accepted)
    return not lesson.is_command and any(was_met(check, right) is False for check in lesson.checks)


def _qualify(correction: Correction, origin: Origin, attempt: Attempt, ran: Sequence[str]) -> Lesson:
    unwanted = correction.unwanted
    tools = {part: _find_tool(part, correction, attempt, ran) for part in _fragments(correction)}
    is_command = any(tools.values()) or _is_command(correction, ran, attempt.answer)
    whole = unwanted is not None and _bare(unwanted) == _bare(attempt.answer) != ""
    checkable = (
        is_command
        or correction.literal
        or (unwanted is not None and unwanted.casefold() in attempt.answer.casefold())
    )
    checks: Iterable[Check] = ()
    if not checkable:
        pass
    elif whole and correction.wanted:
        checks = [Exact(text=correction.wanted, origin=origin)]
    elif is_command:
        checks = _check_calls(correction, origin, tools)
    else:
        checks = _check_text(correction, origin)
    return Lesson(
        correction=correction,
        origin=origin,
        is_command=is_command,
        whole_answer=whole,
        checks=tuple(_mark(check, attempt) for check in checks),
    )


def _fragments(correction: Correction) -> list[str]:
    return [part for part in (correction.wanted, correction.unwanted) if part]


def _find_tool(fragment: str, correction: Correction, attempt: Attempt, ran: Sequence[str]) -> str | None:
    """Return the name of the agent's tool that a fragment means, or None.

    It is one the session called by that very name, or one the user called a tool and that is no program.
    """
    if fragment in attempt.tools and not looks_like_command(fragment):
        return fragment
    if fragment not in correction.tools:
        return None
    called = next((name for name in attempt.tools if same_tool(name, fragment)), None)
    if called:
        return called
    is_program = looks_like_command(fragment) or any(has_words(line, fragment) for line in ran)
    return None if is_program or not re.fullmatch(r"[\w.-]{2,80}", fragment) else fragment


def _is_command(correction: Correction, ran: Sequence[str], answer: str) -> bool:
    """Say whether the correction is about what the agent ran, and not about what it wrote."""
    unwanted = correction.unwanted
    if unwanted and has_words(answer, unwanted) and not any(has_words(line, unwanted) for line in ran):
        return False
    return any(
        looks_like_command(part) or any(has_words(line, part) for line in ran)
        for part in _fragments(correction)
    )


def _check_calls(correction: Correction, origin: Origin, tools: dict[str, str | None]) -> list[Check]:
    def check(fragment: str, *, negate: bool) -> Check:
        tool = tools[fragment]
        if tool:
            return ToolCalled(name=tool, negate=negate, origin=origin)
        return CommandMatched(command=fragment, negate=negate, origin=origin)

    wanted, unwanted = correction.wanted, correction.unwanted
    checks = [check(wanted, negate=False)] if wanted else []
    if unwanted and not (wanted and has_words(wanted, unwanted)):
        checks.append(check(unwanted, negate=True))
    return checks


def _check_text(correction: Correction, origin: Origin) -> list[Check]:
    wanted, unwanted = correction.wanted, correction.unwanted
    only_case = bool(wanted and unwanted) and (wanted or "").casefold() == (unwanted or "").casefold()
    checks: list[Check] = []
    if wanted:
        checks.append(Contains(text=wanted, ignore_case=not only_case, origin=origin))
    if unwanted:
        if not wanted or only_case or unwanted.casefold() not in wanted.casefold():
            checks.append(Contains(text=unwanted, ignore_case=not only_case, negate=True, origin=origin))
        elif not re.search(_alone(unwanted), wanted):
            checks.append(Matches(pattern=_alone(unwanted), negate=True, origin=origin))
    return checks


def _alone(fragment: str) -> str:
    """Return a pattern for the fragment where it is not part of a longer word: npm, but not pnpm."""
    return rf"(?i)(?<!\w){re.escape(fragment)}(?!\w)"


def _mark(check: Check, attempt: Attempt) -> Check:
    return msgspec.structs.replace(check, met_before=was_met(check, attempt))


def was_met(check: Check, attempt: Attempt) -> bool | None:
    """Return whether an attempt passed a check; None when the transcript cannot tell."""
    if isinstance(check, ToolCalled):
        holds = check.name in attempt.tools if attempt.tools or attempt.answer else None
    elif isinstance(check, CommandMatched):
        seen = bool(attempt.commands or attempt.answer)
        holds = any(contains_command(line, check.command) for line in attempt.commands) if seen else None
    elif not attempt.answer:
        holds = None
    elif isinstance(check, Exact):
        holds = _fold(attempt.answer.strip(), check.ignore_case) == _fold(
            check.text.strip(), check.ignore_case
        )
    elif isinstance(check, Contains):
        holds = _squash(check.text, check.ignore_case) in _squash(attempt.answer, check.ignore_case)
    elif isinstance(check, Matches):
        holds = bool(re.search(check.pattern, attempt.answer))
    else:
        holds = None
    return None if holds is None else holds is not check.negate


def _squash(text: str, fold: bool) -> str:  # noqa: FBT001 - private
    return " ".join(_fold(text, fold).split())


def _fold(text: str, fold: bool) -> str:  # noqa: FBT001 - private
    return text.casefold() if fold else text


def _bare(text: str) -> str:
    return text.strip().strip("`\"'.!“”").strip().casefold()
