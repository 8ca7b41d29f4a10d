"""Checks from the user's corrections: which hold for one task, which for its whole family."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillopt_harvesters.asks import Lesson, Occurrence, quote_of
from skillopt_harvesters.normalise import STOP_WORDS
from skillopt_harvesters.vocabulary import has_words
from skillopt_replay.tasks import (
    Check,
    CommandMatched,
    CommandSucceeds,
    Contains,
    Exact,
    Matches,
    Origin,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_TOKEN = re.compile(r"[^\W_]{2,}")


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
            if not lesson.is_checkable:
                continue
            often = len(said_in.get((correction.wanted or "").casefold(), ())) > 1
            holds = correction.general or lesson.is_command or often
            if not holds or lesson.whole_answer or _is_specific(lesson, occurrence, prompts):
                continue
            rules = [rule for rule in rules if not _contradicts(lesson, rule)]
            rules.append(lesson)
    return rules


def build_checks(prompt: str, own: Iterable[Occurrence], rules: Sequence[Lesson]) -> tuple[Check, ...]:
    """Return the checks of one task: the family's rules, then what only its own occurrences showed.

    Every check carries the user's words it rests on. Equal checks appear once.
    """
    checks: dict[tuple[object, ...], Check] = {}

    def add(check: Check) -> None:
        checks.setdefault(_identity(check), check)

    for rule in rules:
        for check in _to_checks(rule, prompt):
            add(check)
    taken = set(map(id, rules))
    for occurrence in own:
        for lesson in occurrence.lessons:
            if (
                not lesson.is_checkable
                or id(lesson) in taken
                or any(_contradicts(rule, lesson) for rule in rules)
            ):
                continue
            for check in _to_checks(lesson, prompt):
                add(check)
        if occurrence.verification and occurrence.counted:
            origin = Origin(occurrence.session, occurrence.turn, quote_of(occurrence.prompt))
            add(CommandSucceeds(command=occurrence.verification, origin=origin))
    return tuple(checks.values())


def _to_checks(lesson: Lesson, prompt: str) -> list[Check]:
    wanted, unwanted, origin = lesson.correction.wanted, lesson.correction.unwanted, lesson.origin
    if lesson.whole_answer and wanted:
        return [Exact(text=wanted, origin=origin)]
    checks: list[Check] = []
    if lesson.is_command:
        if wanted:
            checks.append(CommandMatched(command=wanted, origin=origin))
        if unwanted and not (wanted and has_words(wanted, unwanted)):
            checks.append(CommandMatched(command=unwanted, negate=True, origin=origin))
        return checks
    only_case = bool(wanted and unwanted) and (wanted or "").casefold() == (unwanted or "").casefold()
    if wanted:
        checks.append(Contains(text=wanted, ignore_case=not only_case, origin=origin))
    # An answer may repeat the ask, so what stands there cannot be forbidden in the answer.
    if unwanted and unwanted.casefold() not in prompt.casefold():
        if not wanted or only_case or unwanted.casefold() not in wanted.casefold():
            checks.append(Contains(text=unwanted, ignore_case=not only_case, negate=True, origin=origin))
        elif not re.search(_alone(unwanted), wanted):
            checks.append(Matches(pattern=_alone(unwanted), negate=True, origin=origin))
    return checks


def _alone(fragment: str) -> str:
    """Return a pattern for the fragment where it is not part of a longer word: npm, but not pnpm."""
    return rf"(?i)(?<!\w){re.escape(fragment)}(?!\w)"


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
    """Return what makes two checks the same, whoever said it."""
    kind = type(check)
    return (kind, *(getattr(check, name) for name in kind.__struct_fields__ if name != "origin"))
