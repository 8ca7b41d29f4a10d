"""Where, when and by whom the records of a transcript were written."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec

from skillopt_harvesters.calls import redact_name
from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.records import Kind
from skillopt_harvesters.sources.base import OWN_ENTRYPOINT, is_own_folder
from skillopt_harvesters.sources.claude.evidence import PEOPLE, End
from skillopt_harvesters.sources.claude.losses import Loss
from skillopt_harvesters.sources.claude.records import Record
from skillopt_harvesters.times import first_and_last
from skillopt_harvesters.tokens import Spent

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_NAMES = 100
_time_of = attrgetter("timestamp")
_folder_of, _branch_of = attrgetter("cwd"), attrgetter("git_branch")
_version_of, _entrypoint_of, _session_of = (
    attrgetter("version"),
    attrgetter("entrypoint"),
    attrgetter("session_id"),
)


class Memory(msgspec.Struct):
    """What a reading of this client's files remembers beside the session.

    `shared` is what another session counted of the latest messages that were cut by a fork; `loss` says
    whether a prompt was lost with the records before, and `orphans` are what came with it. The agent `rests`
    when its last record told an answer and no call. `early` are the latest results whose call is not there.
    `caveat` is the latest record that says that a command of the client's own follows.
    """

    entrypoints: dict[str, None] = {}
    copied_from: list[str] = []
    is_replay: bool = False
    folder: str = ""
    answered: bool = False
    sidechains: int = 0
    shared: dict[str, Spent] = {}
    loss: Loss = Loss.NONE
    orphans: list[int] = []
    rests: bool = False
    early: dict[str, End] = {}
    caveat: str = ""


class Context:
    """Notes it in a session and what the next reading must know."""

    def __init__(self, session: SessionDraft, memory: Memory, *, is_agent: bool) -> None:
        self.session = session
        self.memory = memory
        self.is_agent = is_agent

    def note(self, found: list[Record]) -> None:
        """Note when and where records were written, and by which client."""
        for time in first_and_last(list(map(_time_of, found))):
            self.session.see(time)
        session, memory = self.session, self.memory
        session.client_version = _first(map(_version_of, reversed(found))) or session.client_version
        session.branch = session.branch or _first(map(_branch_of, found))
        if self.is_agent:
            session.parent = session.parent or _first(map(_session_of, found))
        for folder in _changes(list(map(_folder_of, found))):
            if folder and folder != memory.folder:
                memory.folder = folder
                session.project = session.project or folder
                memory.is_replay = memory.is_replay or is_own_folder(folder)
        for told in _changes(list(map(_entrypoint_of, found))):
            entrypoint = told and redact_name(told)
            if entrypoint and entrypoint not in memory.entrypoints and len(memory.entrypoints) < _MAX_NAMES:
                memory.entrypoints[entrypoint] = None
                memory.is_replay = memory.is_replay or entrypoint.startswith(OWN_ENTRYPOINT)

    def find_kind(self) -> Kind:
        """Tell who spoke, as far as the file shows."""
        if self.memory.is_replay:
            return Kind.REPLAY
        if self.is_agent or (self.memory.sidechains and not self.session.turns):
            return Kind.SUBAGENT
        strange = [
            name for name in self.memory.entrypoints if name not in PEOPLE and not name.startswith("sdk-")
        ]
        if strange:
            self.session.warn(
                f"entrypoint {strange[0][:40]!r} is not known; its prompts do not count as typed"
            )
        # Old clients do not write an entrypoint: a person, as far as anybody can tell.
        if not self.memory.entrypoints or not PEOPLE.isdisjoint(self.memory.entrypoints):
            return Kind.HUMAN
        return Kind.HEADLESS


def _first(values: Iterator[str | None]) -> str | None:
    """Return the first value that is told."""
    return next(filter(None, values), None)


def _changes(values: list[str | None]) -> list[str | None]:
    """Return values without those that only repeat the one before, as nearly all do."""
    if not values or values.count(values[0]) == len(values):
        return values[:1]
    return [value for value, _ in groupby(values)]
