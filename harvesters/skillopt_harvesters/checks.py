"""Checks from the user's corrections: which hold for one task, which for its whole family."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillopt_harvesters.asks import Occurrence, quote_of
from skillopt_harvesters.lessons import Lesson
from skillopt_harvesters.normalise import STOP_WORDS
from skillopt_replay.commands import contains_command
from skillopt_replay.tasks import Check, CommandMatched, CommandSucceeds, Contains, Matches, Origin, Rubric

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_TOKEN = re.compile(r"[^\W_]{2,}")
# A judge is asked one question for each.
_MOST_JUDGED = 2
_NO_PART_OF_IDENTITY = frozenset({"origin", "met_before"})


def find_rules(occurrences: Sequence[Occurrence]) -> list[Lesson]:
    """Return the lessons of a family that hold for all its tasks, oldest first.

    An instruction ("use X, not Y") does, unless its wanted fragment belongs to the one prompt it was said
    about. A fact ("it should be X") does only for a command, or when several sessions say the same. A later
    lesson that wants what an earlier one forbids, or the other way round, replaces it.
    """
    said_in: dict[str, set[str]] = {}
    for occurrence in occurrences:
        for lesson in occurrence.lessons:
            if lesson.correction.wanted:
                said_in.setdefault(lesson.correction.wanted.casefold(), set()).add(lesson.origin.session)
    prompts = list(dict.fromkeys(occurrence.folded for occurrence in occurrences))
    rules: list[Lesson] = []
    for occurrence in occurrences:
        for lesson in occurrence.lessons:
            correction = lesson.correction
            if not lesson.checks:
                continue
            often = len(said_in.get((correction.wanted or "").casefold(), ())) > 1
            holds = correction.general or lesson.is_command or often
            if not holds or lesson.whole_answer or _is_specific(lesson, occurrence, prompts):
                continue
            rules = [rule for rule in rules if not _contradicts(lesson, rule)]
            rules.append(lesson)
    return rules


def find_wishes(occurrences: Sequence[Occurrence]) -> list[Lesson]:
    """Return the lessons of a family that hold for all its tasks and that no code can check, oldest first."""
    return [
        lesson
        for occurrence in occurrences
        for lesson in occurrence.lessons
        if not lesson.checks and lesson.correction.general
    ]


def build_checks(
    prompt: str, own: Sequence[Occurrence], rules: Sequence[Lesson], wishes: Sequence[Lesson] = ()
) -> tuple[Check, ...]:
    """Return the checks of one task: the family's rules, then what only its own occurrences showed.

    Every check carries the user's words it rests on, and whether the recorded attempt they were said about
    would have passed it. Equal checks appear once, as they were first said. A task that no code can check
    gets the newest words said about it, or about its family, for a judge.
    """
    checks = _build_coded(prompt, own, rules)
    if checks:
        return checks
    spoken = [*wishes, *(lesson for one in own for lesson in one.lessons if not lesson.checks)]
    newest = list(dict.fromkeys(lesson.origin for lesson in spoken))[-_MOST_JUDGED:]
    return tuple(Rubric(criterion=origin.quote, origin=origin, met_before=False) for origin in newest)


def _build_coded(prompt: str, own: Iterable[Occurrence], rules: Sequence[Lesson]) -> tuple[Check, ...]:
    checks: dict[tuple[object, ...], Check] = {}

    def add(lesson: Lesson) -> None:
        for check in lesson.checks:
            if not _stands_in(check, prompt):
                checks.setdefault(_identity(check), check)

    for rule in rules:
        add(rule)
    taken = set(map(id, rules))
    for occurrence in own:
        for lesson in occurrence.lessons:
            if id(lesson) not in taken and not any(_contradicts(rule, lesson) for rule in rules):
                add(lesson)
        if occurrence.counted:
            origin = Origin(occurrence.session, occurrence.turn, quote_of(occurrence.prompt))
            for command in occurrence.verifications:
                if _is_forbidden(command, checks.values()):
                    continue
                check = CommandSucceeds(command=command, origin=origin, met_before=True)
                checks.setdefault(_identity(check), check)
    return tuple(checks.values())


def _is_forbidden(command: str, checks: Iterable[Check]) -> bool:
    """Whether the user said not to run what verified the work: "use `make check`, not `pytest`"."""
    return any(
        isinstance(check, CommandMatched) and check.negate and contains_command(command, check.command)
        for check in checks
    )


def _stands_in(check: Check, prompt: str) -> bool:
    """Whether a check forbids in the answer what stands in the ask: an answer may repeat the ask."""
    if not check.negate:
        return False
    if isinstance(check, Matches):
        return bool(re.search(check.pattern, prompt))
    return isinstance(check, Contains) and check.text.casefold() in prompt.casefold()


def _is_specific(lesson: Lesson, occurrence: Occurrence, prompts: list[str]) -> bool:
    """Whether the wanted fragment belongs to this one prompt: it stands there, or holds a value from it."""
    wanted = lesson.correction.wanted
    if not wanted or len(prompts) < 2:
        return False
    others = [prompt for prompt in prompts if prompt != occurrence.folded]
    here = occurrence.folded
    if wanted.casefold() in here and not all(wanted.casefold() in prompt for prompt in others):
        return True
    # Values are what the skeleton leaves out: names, numbers, paths, quoted text.
    values = (_words(wanted) & _words(here)) - _words(" ".join(occurrence.skeleton)) - STOP_WORDS
    return any(not all(value in _words(prompt) for prompt in others) for value in values)


def _words(text: str) -> set[str]:
    return set(_TOKEN.findall(text.casefold()))


def _contradicts(new: Lesson, old: Lesson) -> bool:
    def same(one: str | None, other: str | None) -> bool:
        return one is not None and other is not None and one.casefold() == other.casefold()

    return same(new.correction.wanted, old.correction.unwanted) or same(
        new.correction.unwanted, old.correction.wanted
    )


def _identity(check: Check) -> tuple[object, ...]:
    """Return what makes two checks the same, whoever said it and whatever the recorded attempt did."""
    kind = type(check)
    names = (name for name in kind.__struct_fields__ if name not in _NO_PART_OF_IDENTITY)
    return (kind, *(getattr(check, name) for name in names))
