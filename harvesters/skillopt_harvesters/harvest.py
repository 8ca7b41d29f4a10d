"""One harvest: what is new in the transcripts of all clients, one session at a time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skillopt_harvesters.cursor import Change, FileCursor, changed, make_cursor
from skillopt_harvesters.records import Session
from skillopt_harvesters.sources.base import Claims, MemoryClaims, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

HEAD = 64 * 1024
_BUFFER = 1024 * 1024
_MAX_WARNINGS = 200


class Harvested(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was read. `session` is None when it holds none (empty, or another program's file)."""

    session: Session | None
    cursor: FileCursor
    change: Change


class HarvestStats(msgspec.Struct, kw_only=True):
    """Counts of one harvest, growing while it runs.

    `skipped` counts records that could not be used and files that could not be read; `gone` names the
    files that have a cursor and are no longer there (the client deletes old transcripts).
    """

    files_seen: int = 0
    files_read: int = 0
    bytes_read: int = 0
    sessions: int = 0
    turns: int = 0
    skipped: int = 0
    warnings: list[str] = msgspec.field(default_factory=list)
    gone: list[str] = msgspec.field(default_factory=list)

    def warn(self, text: str) -> None:
        if len(self.warnings) < _MAX_WARNINGS:
            self.warnings.append(text)


class Harvest:
    """Iterates over what is new; `stats` says what was done so far.

    A changed file is read again in whole, as one session; unchanged ones are not opened. Files come oldest
    first, so that of two sessions with common records the one that was forked owns them.
    """

    def __init__(
        self,
        sources: Iterable[Source],
        cursors: Mapping[str, FileCursor],
        *,
        env: Mapping[str, str],
        home: Path,
        claims: Claims | None = None,
    ) -> None:
        self.stats = HarvestStats()
        self._sources = tuple(sources)
        self._cursors = cursors
        self._env = env
        self._home = home
        self._claims: Claims = MemoryClaims() if claims is None else claims

    def __iter__(self) -> Iterator[Harvested]:
        seen: set[str] = set()
        for source in self._sources:
            for path in self._find_files(source, seen):
                harvested = self._take(source, path)
                if harvested is not None:
                    yield harvested
        self.stats.gone.extend(sorted(path for path in self._cursors if not os.path.lexists(path)))

    def _find_files(self, source: Source, seen: set[str]) -> list[Path]:
        """Return a source's files, oldest first, each once however many roots or links lead to it."""
        found: list[tuple[int, str]] = []
        for root in source.roots(self._env, self._home):
            for path in source.discover(root, warn=self.stats.warn):
                try:
                    real = os.path.realpath(path)
                    real.encode("utf-8")
                    modified = Path(real).stat().st_mtime_ns
                except (OSError, UnicodeEncodeError) as error:
                    self._give_up(path, error)
                    continue
                if real not in seen:
                    seen.add(real)
                    found.append((modified, real))
        self.stats.files_seen += len(found)
        return [Path(real) for _, real in sorted(found)]

    def _take(self, source: Source, path: Path) -> Harvested | None:
        try:
            change = changed(path, self._cursors.get(str(path)))
            if change in {Change.UNCHANGED, Change.GONE}:
                return None
            with path.open("rb", buffering=_BUFFER) as file:
                status = os.fstat(file.fileno())
                head = file.read(HEAD)
                session: Session | None = None
                offset = 0
                if source.recognise(head):
                    file.seek(0)
                    reading = source.read(file, path, claims=self._claims)
                    session, offset = reading.session, reading.offset
                    self._count(session, offset)
                return Harvested(
                    session=session, cursor=make_cursor(path, status, file, offset), change=change
                )
        except OSError as error:
            self._give_up(path, error)
            return None

    def _count(self, session: Session, offset: int) -> None:
        stats = self.stats
        stats.files_read += 1
        stats.bytes_read += offset
        stats.sessions += 1
        stats.turns += len(session.turns)
        stats.skipped += session.skipped
        for warning in session.warnings:
            stats.warn(f"{session.path}: {warning}")

    def _give_up(self, path: Path, error: Exception) -> None:
        self.stats.skipped += 1
        reason = error.strerror if isinstance(error, OSError) else "its name is not valid text"
        self.stats.warn(f"cannot read {os.fsencode(path).decode('utf-8', 'replace')}: {reason}")


def harvest(
    sources: Iterable[Source],
    cursors: Mapping[str, FileCursor],
    *,
    env: Mapping[str, str],
    home: Path,
    claims: Claims | None = None,
) -> Harvest:
    """Return a harvest to iterate over. `cursors` are by path, as the ones it yields.

    Raises nothing while iterating: a file that cannot be read is counted and told in `stats.warnings`.
    """
    return Harvest(sources, cursors, env=env, home=home, claims=claims)
