"""One harvest: what is new in the transcripts of all clients, one session at a time."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from skillopt_harvesters.claims import Claims, MemoryClaims
from skillopt_harvesters.cursor import Change, Cursors, FileCursor, compare, make_cursor
from skillopt_harvesters.files import is_gone, open_regular, resolve
from skillopt_harvesters.heads import HEAD, find_head
from skillopt_harvesters.keeping import Keeper
from skillopt_harvesters.records import Session
from skillopt_harvesters.resuming import Resuming
from skillopt_harvesters.sources.abilities import find_damage, find_fork, has_others
from skillopt_harvesters.sources.base import Marks, Reading, Source
from skillopt_harvesters.stats import HarvestStats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from io import BufferedReader

    from skillopt_harvesters.resuming import Recall

# What a faulty source may raise; errors of whoever keeps the claims are none of these, and pass.
_FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
    msgspec.MsgspecError,
)


class Harvested(msgspec.Struct, frozen=True, kw_only=True):
    """A session that was read; or, with a cursor, the end of a file, all of whose sessions came before.

    A cursor comes for every file that was opened, also when it holds no session (empty, or another
    program's).
    """

    session: Session | None
    cursor: FileCursor | None
    change: Change


class _Found(NamedTuple):
    """A changed file: its real path, whether it has a cursor, and about how many bytes of it are new.

    `began` is when it began, if it is a fork whose turn to be read has come.
    """

    name: str
    path: Path
    is_known: bool
    growth: int
    began: str = ""


class Harvest:
    """Iterates over what is new; `stats` says what was done so far.

    Unchanged files are not opened; of one that grew what is new is read, if `recall` still knows its
    session. Files come oldest first, and after them the forks, those that began first before the others: so
    that of two sessions with common records the one that was forked owns them.
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
        progress: Callable[[HarvestStats], None] | None = None,
    ) -> None:
        self.stats = HarvestStats()
        self._progress = progress or (lambda _: None)
        self._sources = tuple(sources)
        self._cursors = cursors
        self._marks_of = cursors.marks_of if isinstance(cursors, Cursors) else self._load_marks
        self._env = env
        self._home = home
        self._claims: Claims = MemoryClaims() if claims is None else claims
        self._recall: Recall = recall or (lambda _client, _session: None)
        self._keeper = Keeper(self.stats, self._recall)
        self._resuming = Resuming(cursors, self._recall, self._claims)

    def __iter__(self) -> Iterator[Harvested]:
        seen: set[str] = set()
        found = [(source, file) for source in self._sources for file in self._find_changed(source, seen)]
        self.stats.files_found = len(found)
        self.stats.bytes_found = sum(file.growth for _, file in found)
        forks: list[tuple[Source, _Found]] = []
        for source, file in found:
            yield from self._take_next(source, file, forks)
        for source, file in sorted(forks, key=lambda fork: fork[1].began):
            yield from self._take_next(source, file, forks)
        missing = (path for path in self._cursors if path not in seen)
        self.stats.gone.extend(sorted(filter(is_gone, missing)))

    def _take_next(
        self, source: Source, file: _Found, forks: list[tuple[Source, _Found]]
    ) -> Iterator[Harvested]:
        before, waiting = self.stats.bytes_done, len(forks)
        self._progress(self.stats)
        yield from self._take(source, file, forks)
        if len(forks) == waiting:
            self.stats.files_done += 1
            self.stats.bytes_done = before + file.growth

    def _load_marks(self, path: str) -> Marks | None:
        cursor = self._cursors.get(path)
        return None if cursor is None else cursor.marks

    def _find_changed(self, source: Source, seen: set[str]) -> list[_Found]:
        """Return the files that changed, oldest first, each once however many roots or links lead to it."""
        found: list[tuple[int, _Found]] = []
        folders: dict[str, str] = {}
        try:
            for path in self._discover(source):
                known = self._look_at(source, path, seen, folders)
                if known is not None:
                    found.append(known)
        except (OSError, *_FAULTS) as error:
            self._blame(source, error)
        return [file for _, file in sorted(found)]

    def _discover(self, source: Source) -> Iterator[Path]:
        for root in source.roots(self._env, self._home):
            yield from source.discover(root, warn=self.stats.warn)

    def _look_at(
        self, source: Source, path: Path, seen: set[str], folders: dict[str, str]
    ) -> tuple[int, _Found] | None:
        """Return a file that changed beside its time; None when there is nothing to read."""
        try:
            given = os.fspath(path)
            real = resolve(given, folders)
            if real in seen:
                return None
            real.encode("utf-8")
            path = path if real == given else Path(real)
            marks = source.stat(path)
        except FileNotFoundError:
            return None
        except (OSError, UnicodeEncodeError) as error:
            self._give_up(path, error)
            return None
        seen.add(real)
        self.stats.files_seen += 1
        before = self._marks_of(real)
        if marks == before:
            return None
        return marks.mtime_ns, _Found(real, path, before is not None, _measure(before, marks))

    def _take(self, source: Source, found: _Found, forks: list[tuple[Source, _Found]]) -> Iterator[Harvested]:
        path = found.path
        cursor = self._cursors.get(found.name) if found.is_known else None
        try:
            advance = partial(self._advance, self.stats.bytes_done, found.growth)
            with open_regular(path, buffering=HEAD, advance=advance) as file:
                marks = source.stat(path)
                change = compare(cursor, marks, file)
                if cursor is not None and change is Change.UNCHANGED:
                    # Looked at, and not read: from now on it is known by its new marks.
                    kept = msgspec.structs.replace(cursor, ctime_ns=marks.ctime_ns)
                    yield Harvested(session=None, cursor=kept, change=change)
                    return
                if cursor is not None:
                    resume = self._resuming.resume(source, path, cursor, change)
                else:
                    resume = self._resuming.rename(source, path, file, marks)
                reading: Reading | None = None
                head = b"" if resume else self._find_head(source, path, file)
                file.seek(0)
                if head is not None:
                    began = None if resume or found.began else find_fork(source, head, file, path)
                    if began is not None:
                        forks.append((source, found._replace(began=began)))
                        return
                    resume = resume or self._resuming.keep_name(source, path, file, head, cursor)
                    file.seek(0)
                    self.stats.files_read += 1
                    before = resume.offset if resume else 0
                    for reading in source.read(file, path, claims=self._claims, resume=resume):
                        self._tell(path, reading)
                        if reading.session is not None:
                            goes_on = (
                                resume.session if resume and resume.state and not source.rewrites else None
                            )
                            session = self._keeper.settle(source, reading.session, goes_on)
                            if session is not None:
                                yield Harvested(session=session, cursor=None, change=change)
                            if session is not reading.session:
                                # What is stored is not what was read: it cannot be gone on with.
                                reading = msgspec.structs.replace(reading, state=b"")  # noqa: PLW2901
                    self.stats.bytes_read += max(reading.offset - before, 0) if reading else 0
                yield Harvested(session=None, cursor=make_cursor(path, marks, file, reading), change=change)
        except FileNotFoundError:
            return
        except OSError as error:
            self._give_up(path, error)
        except _FAULTS as error:
            self._blame(source, error, f"{path}: ")

    def _find_head(self, source: Source, path: Path, file: BufferedReader) -> bytes | None:
        """Return how a file begins, None when it is another program's. Tells of one that is damaged."""
        file.seek(0)
        beginning = file.peek()[:HEAD]
        head = find_head(file, beginning, source.recognise)
        if head is not None:
            return head
        damage = find_damage(source, beginning, path)
        if damage:
            self.stats.skipped += 1
            self.stats.warn(f"{path}: {damage}")
        return b"" if has_others(source, path) else None

    def _advance(self, before: int, growth: int, position: int, size: int) -> None:
        """Note how far a file has been read, of which only the end is new."""
        done = before + min(max(position - (size - growth), 0), growth)
        # Its beginning is looked at more than once.
        self.stats.bytes_done = max(done, self.stats.bytes_done)
        self._progress(self.stats)

    def _blame(self, source: Source, error: Exception, where: str = "") -> None:
        self.stats.skipped += 1
        self.stats.warn(f"{where}the reader of {source.name} failed: {type(error).__name__}: {error}")

    def _tell(self, path: Path, reading: Reading) -> None:
        self.stats.skipped += len(reading.warnings)
        for warning in reading.warnings:
            self.stats.warn(f"{path}: {warning}")

    def _give_up(self, path: Path, error: Exception) -> None:
        self.stats.skipped += 1
        reason = error.strerror if isinstance(error, OSError) else "its name is not valid text"
        self.stats.warn(f"cannot read {os.fsencode(path).decode('utf-8', 'replace')}: {reason}")


def _measure(before: Marks | None, now: Marks) -> int:
    """Return about how many bytes of a changed file will be read."""
    has_grown = before is not None and before.inode == now.inode and before.size < now.size
    return now.size - before.size if before is not None and has_grown else now.size


def harvest(
    sources: Iterable[Source],
    cursors: Mapping[str, FileCursor],
    *,
    env: Mapping[str, str],
    home: Path,
    claims: Claims | None = None,
    recall: Recall | None = None,
    progress: Callable[[HarvestStats], None] | None = None,
) -> Harvest:
    """Return a harvest to iterate over. `cursors` are by path, as the ones it yields.

    `recall` returns a session by client and id as it was stored, also in the harvest that is going on;
    without it changed files are read in whole, and what they hold replaces what was stored. `progress` is
    given the stats whenever they have moved on.

    Raises nothing while iterating: a file that cannot be read is counted and told in `stats.warnings`.
    """
    return Harvest(sources, cursors, env=env, home=home, claims=claims, recall=recall, progress=progress)
