"""What a source of transcripts is. One module or package per client; implementations register by name."""

from __future__ import annotations

import os
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING, BinaryIO, Protocol

import msgspec

from skillopt_harvesters.claims import Claims
from skillopt_harvesters.records import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

# A program that drives a client on our behalf marks its records with one of these.
OWN_ENTRYPOINT = "skillopt-sleep"
OWN_FOLDER = "skillopt-replay-"


class Marks(msgspec.Struct, frozen=True):
    """What tells that a file changed without opening it.

    `ctime_ns` changes as well with a file's rights and names; 0 where the other marks do.
    """

    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int = 0


class Resume(msgspec.Struct, frozen=True, kw_only=True):
    """Where an earlier reading of a file ended.

    `offset` is the byte after the last whole record, `state` what the source remembered beside the
    session, and `session` that session as it was stored (None when there was none, or it is not known any
    more). The bytes before the offset are unchanged.
    """

    offset: int
    state: bytes
    session: Session | None


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """A session read from a file, the offset after the last whole record, and what to remember.

    `session` is None when what was read holds none, as a database without a changed session. `warnings` are
    about the file, not about its session.
    """

    session: Session | None
    offset: int
    state: bytes = b""
    warnings: tuple[str, ...] = ()


class Source(Protocol):
    """Reads one client's transcripts. `name` is what sessions carry as their client.

    A source whose files may be forks, or damaged at their beginning, or are only appended to, also has
    `find_fork`, `find_damage` and `appends`, as `LinedSource` declares them; one with a session in each file
    has its `identify`, and `name_apart` if two sessions may have one name. One that keeps a session in
    several files has `has_others`: it reads a file that it does not recognise as well, for what the others
    have. One whose client deletes what the user takes back has `takes_back`.
    """

    @property
    def name(self) -> str: ...

    @property
    def rewrites(self) -> bool:
        """Whether the client changes its files in place, as a database: then `resume` is always given."""
        ...

    def roots(self, env: Mapping[str, str], home: Path) -> tuple[Path, ...]:
        """Return the folders the client may write transcripts to; each may be missing."""
        ...

    def discover(self, root: Path, *, warn: Callable[[str], None] | None = None) -> Iterator[Path]:
        """Yield candidate files below a root. Unreadable folders and link loops cost nothing else."""
        ...

    def stat(self, path: Path) -> Marks:
        """Return what changes when the file does. Raises OSError when it is not there."""
        ...

    def recognise(self, head: bytes) -> bool:
        """Tell from its first 64 KiB whether a file is this client's; look-alikes are refused."""
        ...

    def read(
        self, file: BinaryIO, path: Path, *, claims: Claims, resume: Resume | None = None
    ) -> Iterator[Reading]:
        """Read an open file, streaming: most clients keep one session in a file, some many.

        With `resume` only what follows is read, and the session yielded is the whole one, old and new; a
        source that cannot go on reads the file from its start. Raises nothing for bad content: it is
        counted. The last reading's offset and state are what the next resume gets.
        """
        ...


def stat_file(path: Path) -> Marks:
    """Return the marks of a file by itself."""
    status = os.stat(path)  # noqa: PTH116 - the same call as in scandir, no Path object
    return Marks(status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def is_own_folder(folder: str) -> bool:
    """Tell whether a working directory is one of our own replays'."""
    return OWN_FOLDER in folder and any(part.startswith(OWN_FOLDER) for part in PureWindowsPath(folder).parts)
