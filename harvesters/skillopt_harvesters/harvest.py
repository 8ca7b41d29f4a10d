"""One harvest: what is new in the transcripts of all clients, one session at a time."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import msgspec

from skillopt_harvesters.claims import Claims, MemoryClaims
from skillopt_harvesters.cursor import (
    Change,
    Cursors,
    FileCursor,
    compare,
    find_moved,
    is_prefix,
    make_cursor,
)
from skillopt_harvesters.files import is_gone, open_regular, resolve
from skillopt_harvesters.heads import HEAD, find_head
from skillopt_harvesters.records import Session, Tokens
from skillopt_harvesters.regrown import find_anew, go_on_as
from skillopt_harvesters.richness import replaces
from skillopt_harvesters.sources.base import Marks, Reading, Resume, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from io import BufferedReader
    from typing import TypeAlias

    Recall: TypeAlias = Callable[[str, str], Session | None]

_MAX_WARNINGS = 200
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


class HarvestStats(msgspec.Struct, kw_only=True):
    """Counts of one harvest, growing while it runs. `sessions` and `turns` are those of changed sessions.

    `skipped` counts what could not be used and was not counted by an earlier harvest: records, and files
    that could not be read. `gone` names the files that have a cursor and are no longer there (the client
    deletes old transcripts). Of the files that changed, `files_found` and `bytes_found` say what there is to
    read, which is known when all folders have been looked through, and `files_done` and `bytes_done` how
    much of that is.
    """

    files_seen: int = 0
    files_found: int = 0
    files_done: int = 0
    bytes_found: int = 0
    bytes_done: int = 0
    files_read: int = 0
    bytes_read: int = 0
    sessions: int = 0
    turns: int = 0
    skipped: int = 0
    warnings: list[str] = msgspec.field(default_factory=list)
    unsaid: int = 0
    gone: list[str] = msgspec.field(default_factory=list)

    def warn(self, text: str) -> None:
        """Add a warning; beyond the first 200 they are counted."""
        if len(self.warnings) < _MAX_WARNINGS:
            self.warnings.append(text)
        else:
            self.unsaid += 1

    @property
    def told(self) -> tuple[str, ...]:
        """The warnings, and how many more there were."""
        more = (f"and {self.unsaid} more warning{'s' * (self.unsaid > 1)}",) if self.unsaid else ()
        return (*self.warnings, *more)


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
        self._counted: dict[tuple[str, str], int] = {}

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
                    resume = self._resume(source, path, cursor, change)
                else:
                    resume = self._rename(source, path, file, marks)
                reading: Reading | None = None
                head = b"" if resume else self._find_head(source, path, file)
                file.seek(0)
                if head is not None:
                    began = None if resume or found.began else _find_fork(source, head, file, path)
                    if began is not None:
                        forks.append((source, found._replace(began=began)))
                        return
                    resume = resume or self._keep_name(source, path, file, head, cursor)
                    file.seek(0)
                    self.stats.files_read += 1
                    before = resume.offset if resume else 0
                    for reading in source.read(file, path, claims=self._claims, resume=resume):
                        self._tell(path, reading)
                        if reading.session is not None:
                            goes_on = (
                                resume.session if resume and resume.state and not source.rewrites else None
                            )
                            if self._keeps(reading.session, goes_on):
                                yield Harvested(session=reading.session, cursor=None, change=change)
                            else:
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
        damage = _find_damage(source, beginning, path)
        if damage:
            self.stats.skipped += 1
            self.stats.warn(f"{path}: {damage}")
        return b"" if _has_others(source, path) else None

    def _advance(self, before: int, growth: int, position: int, size: int) -> None:
        """Note how far a file has been read, of which only the end is new."""
        done = before + min(max(position - (size - growth), 0), growth)
        # Its beginning is looked at more than once.
        self.stats.bytes_done = max(done, self.stats.bytes_done)
        self._progress(self.stats)

    def _resume(self, source: Source, path: Path, cursor: FileCursor, change: Change) -> Resume | None:
        """Return where to go on, when what was read of the file still stands."""
        if not cursor.state or not (change is Change.APPENDED or source.rewrites):
            return None
        session = self._recall(source.name, cursor.session) if cursor.session else None
        if session is not None and session.path != str(path):
            session = None
        if session is None and not source.rewrites:
            return None
        return Resume(offset=cursor.offset, state=cursor.state, session=session)

    def _rename(self, source: Source, path: Path, file: BinaryIO, marks: Marks) -> Resume | None:
        """Return the session of a file that was given another name, and where to go on in it.

        The session keeps its id: by that it owns its records.
        """
        identify: Callable[[Path], str] | None = getattr(source, "identify", None)
        if identify is None or source.rewrites or not isinstance(self._cursors, Cursors):
            return None
        for moved in find_moved(file, self._cursors, marks):
            if moved.session in {"", identify(path)}:
                continue
            session = self._recall(source.name, moved.session)
            if session is not None and session.path == moved.path:
                return Resume(offset=moved.offset if moved.state else 0, state=moved.state, session=session)
        return None

    def _keep_name(
        self, source: Source, path: Path, file: BinaryIO, head: bytes, cursor: FileCursor | None
    ) -> Resume | None:
        """Return what to read a file as that has another session than the one of its name.

        It was given its name since, or it was emptied and holds another session now: then both are kept.
        """
        identify: Callable[[Path], str] | None = getattr(source, "identify", None)
        if identify is None:
            return None
        own = identify(path)
        name = (cursor.session if cursor else "") or own
        stored = self._recall(source.name, name)
        apart = _name_apart(source, path) if name == own else ""
        if apart:
            was_apart = self._claims.marks_of(f"{source.name}/{apart}")
            if was_apart or (stored is not None and not _was_at(stored.path, path)):
                return go_on_as(source, path, apart)
        is_ours = cursor is None if stored is None else _was_at(stored.path, path)
        # Without a state what was read was not kept.
        stands = cursor is not None and cursor.state != b"" and is_prefix(file, cursor)
        if getattr(source, "appends", False) and is_ours and not stands:
            claims = self._claims
            anew = find_anew(source, path, file, head=head, claims=claims, name=name, stored=stored)
            # An older reader may have known records otherwise; but what it called so stays so.
            if anew and (stored is not None or claims.marks_of(f"{source.name}/{anew}")):
                name = anew
        return None if name == own else go_on_as(source, path, name)

    def _keeps(self, session: Session, goes_on: Session | None) -> bool:
        """Count a session that was read, and tell whether it takes the place of what is stored of it."""
        stats = self.stats
        stored = goes_on or self._recall(session.client, session.id)
        if stored is None and _is_copy(session):
            return False
        known = stored if stored is not None and stored.path == session.path else None
        stats.skipped += max(session.skipped - (known.skipped if known else 0), 0)
        for warning in session.warnings:
            if known is None or warning not in known.warnings:
                stats.warn(f"{session.path}: {warning}")
        if goes_on is None and stored is not None:
            wins = replaces(session, stored)
            self._tell_lost(*((session, stored) if wins else (stored, session)), wins=wins)
            if not wins:
                return False
        key = (session.client, session.id)
        if key not in self._counted:
            stats.sessions += 1
        stats.turns += len(session.turns) - self._counted.get(key, 0)
        self._counted[key] = len(session.turns)
        return True

    def _tell_lost(self, kept: Session, other: Session, *, wins: bool) -> None:
        """Warn when another file with the same id, or one that was emptied, holds what is not kept."""
        if set(other.prompts) <= set(kept.prompts):
            return
        if kept.path != other.path:
            self.stats.warn(
                f"{other.path}: its session {other.id} is also in {kept.path}, which holds more and is kept;"
                " prompts that are only here are left out"
            )
        elif not wins:
            self.stats.warn(
                f"{other.path}: it was written anew and held more before, which is kept;"
                " prompts that are only here now are left out"
            )
        elif set(other.prompts).isdisjoint(kept.prompts):
            self.stats.warn(f"{other.path}: it was emptied and begun anew; what it held before is left out")

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


def _was_at(stored: str, path: Path) -> bool:
    """Tell whether a file may be the one that something was read from: it is, or was moved."""
    return stored == str(path) or (os.path.basename(stored) == path.name and is_gone(stored))  # noqa: PTH119


def _name_apart(source: Source, path: Path) -> str:
    """Return what a session is called when another one has its name; "" where names are never given twice."""
    name: Callable[[Path], str] | None = getattr(source, "name_apart", None)
    return name(path) if name else ""


def _is_copy(session: Session) -> bool:
    """Tell whether all there is in a session is another one's: its file was renamed, or forked just now."""
    return session.before is not None and not session.turns and session.tokens == Tokens()


def _find_fork(source: Source, head: bytes, file: BinaryIO, path: Path) -> str | None:
    """Return when a fork began; None for what is none."""
    find: Callable[[bytes, BinaryIO, Path], str | None] | None = getattr(source, "find_fork", None)
    began = find(head, file, path) if find else None
    file.seek(0)
    return began


def _find_damage(source: Source, head: bytes, path: Path) -> str:
    """Return why a file that was not recognised should have been; "" for one of another program."""
    find: Callable[[bytes, Path], str] | None = getattr(source, "find_damage", None)
    return find(head, path) if find else ""


def _has_others(source: Source, path: Path) -> bool:
    """Tell whether other files hold the same session, which the source reads in the place of this one."""
    find: Callable[[Path], bool] | None = getattr(source, "has_others", None)
    return find is not None and find(path)


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
