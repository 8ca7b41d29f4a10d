"""Where, when and by whom the records of a transcript were written."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter

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

_MAX_NAMES = 100
_context_of = attrgetter("cwd", "version", "git_branch", "entrypoint", "session_id")


class Memory(msgspec.Struct):
    """What a reading of this client's files remembers beside the session.

    `shared` is what another session counted of the latest messages that were cut by a fork; `loss` says
    whether a prompt was lost with the records before, and `orphans` are what came with it. The agent `rests`
    when its last record told an answer and no call. `early` are the latest results whose call is not there.
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


class Context:
    """Notes it in a session and what the next reading must know."""

    def __init__(self, session: SessionDraft, memory: Memory, *, is_agent: bool) -> None:
        self.session = session
        self.memory = memory
        self.is_agent = is_agent
        self._latest: tuple[str | None, ...] = ()

    def note(self, found: list[Record]) -> None:
        """Note when and where records were written, and by which client."""
        for time in first_and_last([record.timestamp for record in found]):
            self.session.see(time)
        # Nearly all records of a session were written in the same one.
        latest = self._latest
        for context, alike in groupby(found, _context_of):
            if context != latest:
                latest = context
                self._take_context(next(alike))
        self._latest = latest

    def _take_context(self, record: Record) -> None:
        session, memory = self.session, self.memory
        session.client_version = record.version or session.client_version
        session.branch = session.branch or record.git_branch or None
        if self.is_agent:
            session.parent = session.parent or record.session_id or None
        if record.cwd and record.cwd != memory.folder:
            memory.folder = record.cwd
            session.project = session.project or record.cwd
            memory.is_replay = memory.is_replay or is_own_folder(record.cwd)
        entrypoint = record.entrypoint and redact_name(record.entrypoint)
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
