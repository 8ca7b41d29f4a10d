"""How to mine, and what mining found before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from skillopt_harvesters.asks import Occurrence
from skillopt_harvesters.attribution import SkillRecord
from skillopt_harvesters.digests import digest
from skillopt_harvesters.titles import Titler


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What a task was found to be the first time it was mined."""

    family: str
    skill: str
    skill_origin: str


class Mining(msgspec.Struct, frozen=True, kw_only=True):
    """How to mine.

    An ask recurs when `min_occurrences` sessions of one project have it, or with `across_projects` of any.
    `root_of` maps a recorded working directory to the project it belongs to. `skills` are those on disk
    (None: not known). `known` is what was found before, by task id: it stays a task, in its family and of its
    skill. `titler` may better the titles, and changes nothing else.
    """

    min_occurrences: int = 2
    across_projects: bool = False
    root_of: Callable[[str], str] = str
    skills: Sequence[SkillRecord] | None = None
    known: Mapping[str, Known] = {}
    titler: Titler | None = None

    def find_root(self, ask: Occurrence) -> str | None:
        """Return the project an ask's task is counted with; None when unknown, or when all are one."""
        return self.root_of(ask.project) if ask.project and not self.across_projects else None

    def find_place(self, ask: Occurrence) -> tuple[str, str]:
        """Return what asks must share to count together: the project, or the session when that is unknown.

        Two sessions that do not tell where they were may have been anywhere.
        """
        if ask.project or self.across_projects:
            return self.find_root(ask) or "", ""
        return "", ask.session

    def name_task(self, ask: Occurrence) -> str:
        """Return the id of the task an ask belongs to, if it is of one."""
        root, session = self.find_place(ask)
        return digest("task", root, ask.folded, *([session] if session else []))

    def find_known(self, asks: Iterable[Occurrence]) -> dict[str, Known]:
        """Return what was found before of these asks, by their folded form, in their order."""
        if not self.known:
            return {}
        names = {ask.folded: self.name_task(ask) for ask in asks}
        return {folded: self.known[name] for folded, name in names.items() if name in self.known}
