"""Which skill a recurring task belongs to: the one that was loaded, else one that fits, else a new one."""

from __future__ import annotations

import re
from collections import Counter
from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from skillopt_harvesters.evidence import is_habit
from skillopt_harvesters.normalise import STOP_WORDS
from skillopt_harvesters.terms import LIGHT, VALUE, unify

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from skillopt_harvesters.asks import Occurrence

_LOADED_SHARE = 1 / 4
_FITS_SHARE = 0.75
_LEAST_WORDS = 2
_WORD = re.compile(r"[^\W_]+")


class SkillOrigin(str, Enum):
    """Why a task belongs to its skill."""

    LOADED = "loaded"  # the agent loaded it to answer the task's asks
    FITS = "fits"  # it exists, and its name and description are about the same thing
    NEW = "new"  # there was none


class SkillRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A skill on disk, and the clients that read it there.

    `project` is the root of the project it belongs to, None for one of the user's.
    """

    name: str
    description: str
    path: str
    clients: tuple[str, ...]
    project: str | None = None

    def is_for(self, root: str | None, client: str) -> bool:
        """Tell whether the client reads it when it works in this project."""
        return self.project in {None, root} and client in self.clients


class Attribution(msgspec.Struct, frozen=True):
    """A skill by name, and why."""

    skill: str
    origin: SkillOrigin


class Loads:
    """How often skills were loaded over all asks, to tell one for a task from one that is always loaded."""

    def __init__(self, occurrences: Iterable[Occurrence]) -> None:
        self._asks = 0
        self._with: Counter[str] = Counter()
        for one in occurrences:
            self._asks += 1
            self._with.update(set(one.skills))

    def find_loaded(self, asks: Sequence[Occurrence], usable: Collection[str] | None) -> str | None:
        """Return the skill that was loaded most for these asks, if it was for a good part of them.

        `usable` are the names of the skills that may be edited; None: all but those of plugins, which are
        named `plugin:skill`. A skill that is loaded nearly as often whatever is asked is none.
        """
        inside = Counter(skill for one in asks for skill in set(one.skills))
        for skill, count in sorted(inside.items(), key=lambda entry: (-entry[1], entry[0])):
            if count < _LOADED_SHARE * len(asks) or ":" in skill:
                continue
            if usable is not None and skill not in usable:
                continue
            elsewhere, rest = self._with[skill] - count, self._asks - len(asks)
            if not is_habit(count, len(asks), elsewhere, rest):
                return skill
        return None


def find_skill(
    asks: Sequence[Occurrence],
    words: Collection[str],
    loads: Loads,
    skills: Sequence[SkillRecord] | None,
    new: str,
) -> Attribution | None:
    """Return the existing skill of a family's asks in one project; None when a new one is needed.

    `words` are those of the family's template, `skills` what exists for the project and the user (None:
    unknown), `new` what a new skill would be called.
    """
    loaded = loads.find_loaded(asks, None if skills is None else {record.name for record in skills})
    if loaded is not None:
        return Attribution(loaded, SkillOrigin.LOADED)
    fitting = find_fitting(words, skills or (), new)
    return Attribution(fitting.name, SkillOrigin.FITS) if fitting else None


def find_fitting(words: Collection[str], skills: Sequence[SkillRecord], new: str = "") -> SkillRecord | None:
    """Return the skill that is about what `words` say, None when no one is or more than one could be.

    Most of the words, two at least besides light verbs, must stand in its name or description, and one of
    them in its name. Words that several skills have say little of any of them.
    """
    by_name = [record for record in skills if record.name == new]
    if by_name:
        return by_name[0]
    about = {record.path: _find_words(f"{record.name} {record.description}") for record in skills}
    common = Counter(word for said in about.values() for word in said)
    sought = {word for word in words if word != VALUE and word not in LIGHT}
    fits: list[tuple[float, SkillRecord]] = []
    for record in skills:
        found = {word for word in sought & about[record.path] if 2 * common[word] <= max(len(skills), 3)}
        if (
            len(found) >= _LEAST_WORDS
            and len(found) >= _FITS_SHARE * len(sought)
            and found & _find_words(record.name)
        ):
            fits.append((len(found), record))
    fits.sort(key=lambda entry: (-entry[0], entry[1].project is None, entry[1].path))
    if len(fits) > 1 and fits[0][0] == fits[1][0] and fits[0][1].name != fits[1][1].name:
        return None
    return fits[0][1] if fits else None


def _find_words(text: str) -> set[str]:
    tokens = (word.casefold() for word in _WORD.findall(text))
    return {unify(token) for token in tokens if token not in STOP_WORDS} - LIGHT
