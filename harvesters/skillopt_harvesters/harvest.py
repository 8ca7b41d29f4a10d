"""One harvest: what is new in the transcripts of all clients, one session at a time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skillopt_harvesters.claims import Claims, MemoryClaims
from skillopt_harvesters.cursor import Change, FileCursor, changed, make_cursor
from skillopt_harvesters.records import Session
from skillopt_harvesters.sources.base import Reading, Resume, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import TypeAlias

    Recall: TypeAlias = Callable[[str, str], Session | None]

HEAD = 64 * 1024
_BUFFER = 1024 * 1024
_MAX_WARNINGS = 200


class Harvested(msgspec.Struct, frozen=True, kw_only=True):
    """A session that was read; or, with a cursor, the end of a file, all of whose sessions came before.

    A cursor comes for every file that was opened, also when it holds no session (empty, or another
    program's).
    """

    session: Session | None
    cursor: FileCursor | None
    change: Change


class HarvestStats(msgspec.Struct, kw_only=True):
    """Counts of one harvest, growing while it runs. `sessions` and `turns` are those of changed sessions.

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

    Unchanged files are not opened; of one that grew what is new is read, if `recall` still knows its
    session. Files come oldest first, so that of two sessions with common records the one that was forked
    owns them.
    """

    def __init__(
        self,
        sources: Iterable[Source],
        cursors: Mapping[str, FileCursor],
        *,
        env: Mapping[str, str],
        home: Path,
        claims: Claims | None = None,
        recall: Recall | None = None,
    ) -> None:
        self.stats = HarvestStats()
        self._sources = tuple(sources)
        self._cursors = cursors
        self._env = env
        self._home = home
        self._claims: Claims = MemoryClaims() if claims is None else claims
        self._recall: Recall = recall or (lambda _client, _session: None)

    def __iter__(self) -> Iterator[Harvested]:
        seen: set[str] = set()
        for source in self._sources:
            for path in self._find_files(source, seen):
                yield from self._take(source, path)
        self.stats.gone.extend(sorted(path for path in self._cursors if not os.path.lexists(path)))

    def _find_files(self, source: Source, seen: set[str]) -> list[Path]:
        """Return a source's files, oldest first, each once however many roots or links lead to it."""
        found: list[tuple[int, str]] = []
        for root in source.roots(self._env, self._home):
            for path in source.discover(root, warn=self.stats.warn):
                try:
                    real = os.path.realpath(path)
                    real.encode("utf-8")
                    modified = source.stat(Path(real)).mtime_ns
                except (OSError, UnicodeEncodeError) as error:
                    self._give_up(path, error)
                    continue
                if real not in seen:
                    seen.add(real)
                    found.append((modified, real))
        self.stats.files_seen += len(found)
        return [Path(real) for _, real in sorted(found)]

    def _take(self, source: Source, path: Path) -> Iterator[Harvested]:
        try:
            cursor = self._cursors.get(str(path))
            marks = source.stat(path)
            change = changed(path, cursor, marks)
            if change in {Change.UNCHANGED, Change.GONE}:
                return
            with path.open("rb", buffering=_BUFFER) as file:
                reading: Reading | None = None
                if source.recognise(file.read(HEAD)):
                    resume = self._resume(source, cursor, change)
                    file.seek(0)
                    before = resume.offset if resume else 0
                    self.stats.files_read += 1
                    for reading in source.read(file, path, claims=self._claims, resume=resume):
                        self._tell(path, reading)
                        if reading.session is not None:
                            self._count(reading.session)
                            yield Harvested(session=reading.session, cursor=None, change=change)
                    self.stats.bytes_read += max(reading.offset - before, 0) if reading else 0
                yield Harvested(session=None, cursor=make_cursor(path, marks, file, reading), change=change)
        except OSError as error:
            self._give_up(path, error)

    def _resume(self, source: Source, cursor: FileCursor | None, change: Change) -> Resume | None:
        """Return where to go on, when what was read of the file still stands."""
        if cursor is None or not cursor.state or not (change is Change.APPENDED or source.rewrites):
            return None
        session = self._recall(source.name, cursor.session) if cursor.session else None
        return Resume(offset=cursor.offset, state=cursor.state, session=session)

    def _count(self, session: Session) -> None:
        stats = self.stats
        stats.sessions += 1
        stats.turns += len(session.turns)
        stats.skipped += session.skipped
        for warning in session.warnings:
            stats.warn(f"{session.path}: {warning}")

    def _tell(self, path: Path, reading: Reading) -> None:
        self.stats.skipped += len(reading.warnings)
        for warning in reading.warnings:
            self.stats.warn(f"{path}: {warning}")

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
    recall: Recall | None = None,
) -> Harvest:
    """Return a harvest to iterate over. `cursors` are by path, as the ones it yields.

    `recall` returns a session by client and id as it was stored after the last harvest, which must be the
    one that yielded the cursors; without it changed files are read in whole.

    Raises nothing while iterating: a file that cannot be read is counted and told in `stats.warnings`.
    """
    return Harvest(sources, cursors, env=env, home=home, claims=claims, recall=recall)
