"""The turns of a session: opened, found and told from the copies a fork begins with."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING

from skillopt_harvesters.calls import clip
from skillopt_harvesters.claims import Claims, Copies, mark_of
from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.records import Kind
from skillopt_harvesters.sources.base import is_own_folder
from skillopt_harvesters.sources.codex.decode import Record
from skillopt_harvesters.sources.codex.forks import made_at
from skillopt_harvesters.sources.codex.memory import Memory
from skillopt_harvesters.sources.codex.words import Words
from skillopt_harvesters.times import to_utc
from skillopt_harvesters.turns import TurnDraft

if TYPE_CHECKING:
    from collections.abc import Iterable

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_MAX_PATH = 4096
_MAX_SKILLS = 200
_WORK = "tells its work"
_PLAIN_ID = re.compile(r"[\w.-]{1,100}")
# Some servers number their calls; only what looks like chance names one call in all the world.
_CALL_ID = re.compile(r"call_[A-Za-z0-9]{16,}")


@lru_cache(maxsize=64)
def _mark_of(name: str) -> int:
    """Return a mark; those of the latest turns are asked for with every record."""
    return mark_of(name)


class TurnBook:
    """Keeps the turns of one file. `names` are the ids in its name, the last of which is the session's."""

    def __init__(self, session: SessionDraft, memory: Memory, claims: Claims, *, resumed: bool) -> None:
        self.session = session
        self.memory = memory
        self.names = UUID.findall(PurePath(session.path).name)
        self._claims = claims
        self._resumed = resumed
        self._telling: dict[int, bool] = {}
        self._copies = self._open_copies()
        if len(self.names) > 1 and not resumed:
            self.expect_copies()

    @property
    def copying(self) -> bool:
        """Whether another session's history is being repeated."""
        return self.memory.gate.copying

    @property
    def latest(self) -> TurnDraft | None:
        """The turn that goes on; None before the first of the session's own."""
        turns = self.session.turns
        return turns[-1] if turns and not self.memory.starting else None

    def name_session(self, name: str | None) -> None:
        """Take the session's id from its own record when the file's name holds none."""
        self.memory.own = name or self.session.id
        if not self.names and name and _PLAIN_ID.fullmatch(name):
            self.session.id = name
            self._copies = self._open_copies()

    def knows(self, name: str | None) -> bool:
        """Whether an id is this session's."""
        return name in (self.memory.own, self.session.id) or name in self.names

    def belongs_to_older(self, name: str | None) -> bool:
        """Whether the first id in a file is that of an older session: then the file's own record is lost."""
        if not self.names or not name or name in self.names:
            return False
        made, own = made_at(name), made_at(self.session.id)
        return made is not None and own is not None and made < own

    def expect_copies(self) -> None:
        """Take what follows for another session's, until something shows that it is not."""
        memory = self.memory
        if not memory.began:
            memory.gate.copying = True
            memory.meter.inherited = True
            if memory.gate.born is None:
                memory.gate.begin(self.session.id, None)

    def pass_line(self, line: bytes) -> None:
        """Look at a line before it is taken."""
        if self.memory.gate.pass_line(line):
            self.memory.starting = True

    def pass_time(self, time: str | int | float | None) -> None:
        """Look at the time of a record before it is taken."""
        if self.memory.gate.pass_time(time):
            self.memory.starting = True

    def pass_turn(self, name: str | None, started: float | None = None) -> bool:
        """Look at the id of a turn; true when the copies end with it."""
        if not self.memory.gate.copying:
            return False
        ended = self.memory.gate.pass_turn(name, started)
        self.memory.starting = self.memory.starting or ended
        return ended

    def enter(self, folder: str | None) -> None:
        """Note the working directory; the session's project is the one it began in."""
        memory = self.memory
        folder = folder and clip(folder, _MAX_PATH)
        if folder and folder != memory.folder:
            memory.folder = folder
            self.session.project = self.session.project or folder
            memory.replay = memory.replay or is_own_folder(folder)

    def adopt_latest(self) -> None:
        """Take the latest prompt for the session's own: it stands before the record that says whose it is."""
        memory, turn = self.memory, self.session.turn
        if turn and turn.copied and turn.is_untouched:
            turn.copied = False
            memory.standing += 1
            memory.starting, memory.began = False, True
            memory.typed = memory.typed or turn.typed

    def open(self, words: Words, record: Record, *, typed: bool) -> TurnDraft:
        """Open a turn, unless it repeats the one before."""
        memory = self.memory
        memory.lost = False
        turn = TurnDraft(
            prompt=words.prompt,
            command=words.command,
            typed=typed,
            started=to_utc(record.time),
            copied=self.copying,
        )
        aside = words.command == "!" and self._is_at_work
        opened = self.session.open_aside(turn) if aside else self.session.open_turn(turn)
        if not self.copying:
            memory.starting, memory.began = False, True
            memory.typed = memory.typed or typed
            memory.standing += opened is turn
            self.claim(opened, memory.task)
        return opened

    @property
    def _is_at_work(self) -> bool:
        """Whether the latest turn is what the task that goes on is about."""
        memory, latest = self.memory, self.latest
        if latest is None or self.copying or not memory.task:
            return False
        return memory.task == memory.claimed and latest.command != "!"

    def go_back(self, count: int) -> None:
        """Abandon the last turns."""
        gone = min(count, self.memory.standing)
        if gone:
            self.memory.standing -= gone
            self.session.abandon_last(gone)

    def for_agent(self, record: Record) -> TurnDraft:
        """Return the turn that goes on; an agent that goes on by itself opens one, as does a lost prompt."""
        turn = self.latest
        if self.memory.lost and not self.copying:
            self.memory.lost = False
            # A prompt is told twice, and the other half may have been read.
            if turn is None or not turn.is_untouched:
                turn = self.session.miss_prompt(to_utc(record.time))
                self.memory.starting, self.memory.began = False, True
                self.memory.standing += 1
                self.claim(turn, self.memory.task)
        return turn or self.open(Words(), record, typed=False)

    def find(self, name: str | None) -> TurnDraft | None:
        """Return the open turn with an id; the latest when that has none, or none is given."""
        turn = self.latest
        if turn is None or not name or turn.head is None:
            return turn
        head = _mark_of(name)
        if turn.head == head:
            return turn
        return next((turn for turn in reversed(self.session.turns) if turn.head == head), None)

    def claim(self, turn: TurnDraft | None, name: str | None) -> None:
        """Name a turn; when the name is another session's, the turn is a copy of which nothing else told.

        Of several prompts with one name each is told from a copy by its words.
        """
        memory = self.memory
        if turn is None or turn.head is not None or turn.copied or not name:
            return
        if UUID.fullmatch(name) or _CALL_ID.fullmatch(name):
            turn.head = mark = _mark_of(name)
            if name == memory.claimed:
                mark = mark_of(f"{name} {turn.command} {turn.prompt}")
            memory.claimed = name
            turn.copied = self._copies.opens_copy(mark)

    def place(self, turn: TurnDraft, work: str, record: Record) -> TurnDraft | None:
        """Return the turn that work done in `turn` counts in; None for work that is another session's.

        `work` names it among what is done in the turn. A fork may have been harvested before the session it
        was made from, and end in the middle of a turn: what it has not, is that session's own.
        """
        if self.copying or turn.head is None or not work:
            return turn
        if turn.copied and not self._tells_work(turn.head):
            return turn
        copied = self._copies.is_copy(mark_of(f"{turn.head} {work}"))
        if copied == turn.copied:
            return turn
        if copied:
            return None
        own = self.session.go_on_by_itself(to_utc(record.time))
        own.head = turn.head
        return own

    def owns_all(self, turn: TurnDraft) -> bool:
        """Tell whether all work that is done in a turn now is the session's own, whatever it is."""
        return not (self.copying or turn.copied) and self._copies.owns_all

    def own(self, turn: TurnDraft, works: Iterable[str]) -> None:
        """Take such work for the session's own, as `place` does of one."""
        self._copies.own([mark_of(f"{turn.head} {work}") for work in works])

    def _tells_work(self, head: int) -> bool:
        """Tell whether the session a turn is copied from claimed its work, as it does since it is read so."""
        if head not in self._telling:
            owner = self._claims.owner_of(head)
            told = owner is None or mark_of(f"{_WORK} {owner}") in self._claims.marks_of(owner)
            self._telling[head] = told
        return self._telling[head]

    def may_be_typed(self) -> bool:
        """Whether a prompt that comes now was typed by a person."""
        memory = self.memory
        if memory.replay:
            return False
        if memory.program:
            return memory.trigger == "user"
        if memory.kind is None and not memory.bare:
            self.session.warn("the record that says who spoke is missing; no prompt counts as typed")
            return False
        return memory.kind in {None, Kind.HUMAN} and memory.trigger != "exec"

    def find_kind(self) -> Kind:
        """Return who spoke. What a program began a person may have gone on with."""
        memory = self.memory
        if memory.replay:
            return Kind.REPLAY
        if memory.program and memory.typed:
            return Kind.HUMAN
        return memory.kind or (Kind.HUMAN if memory.bare else Kind.HEADLESS)

    def settle(self) -> None:
        """Claim what turned out to be the session's own."""
        if self.memory.claimed:
            self._copies.is_copy(mark_of(f"{_WORK} {self._name}"))
        self._copies.settle()
        self.memory.copied_from = list(self._copies.sessions)

    @property
    def _name(self) -> str:
        return f"{self.session.client}/{self.session.id}"

    def _open_copies(self) -> Copies:
        return Copies(self._name, self._claims, copied_from=self.memory.copied_from, resumed=self._resumed)


def add_skills(turn: TurnDraft, names: Iterable[str]) -> None:
    """Note skills whose instructions were loaded."""
    for name in names:
        if len(turn.skills) < _MAX_SKILLS:
            turn.skills[name] = None
