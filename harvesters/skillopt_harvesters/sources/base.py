"""What a source of transcripts is. One module per client; implementations register under a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Protocol

import msgspec

from skillopt_harvesters.records import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

# A program that drives a client on our behalf marks its records with one of these.
OWN_ENTRYPOINT = "skillopt-sleep"
OWN_FOLDER = "skillopt-replay-"


class Claims(Protocol):
    """Which session owns a record. Clients copy records when a session is forked or resumed.

    Backed by memory for one harvest, or by a database for all of them.
    """

    def claim(self, record: str, session: str) -> bool:
        """Return True when the record is the session's own: claimed now, or by itself before."""
        ...


class MemoryClaims:
    """Claims that last as long as the object."""

    def __init__(self) -> None:
        self._owners: dict[str, str] = {}

    def claim(self, record: str, session: str) -> bool:
        return self._owners.setdefault(record, session) == session


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """A file read: its session, and the byte offset after the last whole record."""

    session: Session
    offset: int


class Source(Protocol):
    """Reads one client's transcripts. `name` is what sessions carry as their client."""

    @property
    def name(self) -> str: ...

    def roots(self, env: Mapping[str, str], home: Path) -> tuple[Path, ...]:
        """Return the folders the client may write transcripts to; each may be missing."""
        ...

    def discover(self, root: Path, *, warn: Callable[[str], None] | None = None) -> Iterator[Path]:
        """Yield candidate files below a root. Unreadable folders and link loops cost nothing else."""
        ...

    def recognise(self, head: bytes) -> bool:
        """Tell from its first bytes whether a file is this client's; look-alikes are refused."""
        ...

    def read(self, file: BinaryIO, path: Path, *, claims: Claims | None = None) -> Reading:
        """Read an open file as one session, streaming. Raises nothing for bad content: it is counted."""
        ...
