"""Clients that append one record a line: reading, and going on where the last reading ended."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, BinaryIO, ClassVar, Generic, NamedTuple, TypeVar

import msgspec

from skillopt_harvesters.claims import Claims
from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.heads import find_encoding
from skillopt_harvesters.lines import PADDING, Chunk, LineReader
from skillopt_harvesters.sources.base import Marks, Reading, Resume, stat_file
from skillopt_harvesters.sources.forks import compare_times
from skillopt_harvesters.walk import walk_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

MemoryT = TypeVar("MemoryT", bound=msgspec.Struct)


class _End(NamedTuple):
    """Where the lines of a file end, and what is behind them: a broken record, a line too long to be one."""

    offset: int
    is_broken: bool
    is_unended: bool


class Reader(ABC, Generic[MemoryT]):
    """Takes the lines of one file, in order, into `session`.

    `memory` is a mutable struct with everything else that the next reading must know. Both are frozen after
    a reading and handed to the reader that goes on; nothing else is.
    """

    def __init__(self, session: SessionDraft, memory: MemoryT, claims: Claims, *, resumed: bool) -> None:
        self.session = session
        self.memory = memory
        self.claims = claims
        self.resumed = resumed

    @abstractmethod
    def take(self, line: bytes) -> None:
        """Take a line without its end. Raises nothing: what cannot be used is counted in `session`."""

    def take_all(self, lines: list[bytes]) -> None:
        """Take several lines."""
        take = self.take
        for line in lines:
            take(line.strip(PADDING))

    def take_chunk(self, chunk: Chunk) -> bool:
        """Take a run of lines in one step, or return False when that cannot be done: then they come singly.

        A client whose files are large overrides this: most of its time
        goes by with steps that each record costs.
        """
        return False

    def lose(self, line: bytes) -> None:
        """Note that what stood on a line is lost; of one too long to be held this is how it began.

        A client whose prompts are single records overrides this: what follows may answer a lost one.
        """

    @abstractmethod
    def finish(self) -> None:
        """Settle what only the whole file tells (the kind, claims); a later reading may bring more lines."""


class LinedSource(ABC, Generic[MemoryT]):
    """A source whose files are lines of JSON. Subclasses say where they are and how a line is read."""

    suffixes: ClassVar[tuple[str, ...]] = (".jsonl",)
    noise: ClassVar[tuple[bytes, ...]] = ()
    memory: type[MemoryT]
    rewrites: ClassVar[bool] = False
    # What is there stays as it is: a file with other records only was begun anew.
    appends: ClassVar[bool] = True
    # The client deletes what the user takes back, when they go on.
    takes_back: ClassVar[bool] = False

    @property
    @abstractmethod
    def name(self) -> str: ...

    @abstractmethod
    def roots(self, env: Mapping[str, str], home: Path) -> tuple[Path, ...]: ...

    @abstractmethod
    def recognise(self, head: bytes) -> bool: ...

    @abstractmethod
    def identify(self, path: Path) -> str:
        """Return the id of the session in a file."""

    @abstractmethod
    def open_reader(
        self, session: SessionDraft, memory: MemoryT, claims: Claims, *, resumed: bool
    ) -> Reader[MemoryT]: ...

    def discover(self, root: Path, *, warn: Callable[[str], None] | None = None) -> Iterator[Path]:
        return walk_files(root, self.suffixes, warn=warn)

    def stat(self, path: Path) -> Marks:
        return stat_file(path)

    def find_damage(self, head: bytes, path: Path) -> str:
        """Return why a file that is not recognised may be this client's all the same; "" when it is not."""
        return find_encoding(head)

    def find_fork(self, head: bytes, file: BinaryIO, path: Path) -> str | None:
        """Return when a session began whose file begins with another one's records, None for any other.

        `head` is the beginning of the open file; more is read only of a fork.
        """
        return compare_times(head)

    def read(
        self, file: BinaryIO, path: Path, *, claims: Claims, resume: Resume | None = None
    ) -> Iterator[Reading]:
        reader, offset = self._start(path, claims, resume)
        file.seek(max(offset - 1, 0))
        goes_on = offset > 0 and file.read(1) != b"\n"
        end = self._feed(reader, file, offset, grows=True, goes_on=goes_on)
        offset = end.offset
        reader.finish()
        session, frozen = reader.session.finish()
        if end.is_broken or end.is_unended:
            # Told now, since the file may have ended with it, and not remembered, since it may yet go on.
            reader.session.bad += end.is_broken
            reader.session.overlong += end.is_unended
            session = reader.session.close()
        try:
            state = msgspec.msgpack.encode((frozen, reader.memory))
        except (OverflowError, UnicodeEncodeError):
            # A number or text that no client writes: then the next reading begins at the start again.
            state = b""
        # A reader and its parts hold each other: what they know would stay until somebody looks for such.
        vars(reader).clear()
        yield Reading(session=session, offset=offset, state=state)

    def _feed(
        self,
        reader: Reader[MemoryT],
        stream: BinaryIO,
        offset: int = 0,
        *,
        grows: bool = False,
        goes_on: bool = False,
    ) -> _End:
        """Give a reader the lines of a stream that stands at `offset`, perhaps within a line that `goes_on`.

        If it `grows` more may come.
        """
        lines = LineReader(stream, noise=self.noise, offset=offset, goes_on=goes_on)
        overlong = 0
        for chunk in lines.chunks():
            if lines.overlong > overlong:
                overlong = lines.overlong
                reader.lose(lines.opening)
            if not (lines.is_whole and reader.take_chunk(chunk)):
                reader.take_all(lines.split(chunk))
        if lines.overlong > overlong:
            reader.lose(lines.opening)
        is_broken = grows and lines.wait()
        rest = lines.rest()
        if rest:
            reader.take_all(rest)
        reader.session.overlong += lines.overlong
        return _End(lines.offset, is_broken, lines.is_unended)

    def _start(self, path: Path, claims: Claims, resume: Resume | None) -> tuple[Reader[MemoryT], int]:
        if resume and resume.session and resume.state:
            try:
                frozen, memory = msgspec.msgpack.decode(resume.state, type=tuple[bytes, self.memory])  # type: ignore[name-defined]
            except (msgspec.DecodeError, RecursionError):
                frozen, memory = b"", None
            session = SessionDraft.thaw(frozen, resume.session) if memory is not None else None
            if session is not None and memory is not None:
                session.path = str(path)
                return self.open_reader(session, memory, claims, resumed=True), resume.offset
        # A file that was given another name holds the session it held before.
        name = resume.session.id if resume and resume.session else self.identify(path)
        session = SessionDraft(id=name, client=self.name, path=str(path))
        return self.open_reader(session, self.memory(), claims, resumed=False), 0
