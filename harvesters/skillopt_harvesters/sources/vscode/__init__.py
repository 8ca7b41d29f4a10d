"""Chat sessions of GitHub Copilot in VS Code.

A session may be kept in up to three files: a log of operations (before 1.109: a document), and a transcript
of the extension's. They have the same name and are one session here: that of the log or document, which
knows exit codes, cancelled answers and files, unless it lost prompts that the transcript still has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import msgspec

from skillopt_harvesters.calls import redact_folder
from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.heads import find_encoding, find_head
from skillopt_harvesters.records import Kind, Session
from skillopt_harvesters.sources.base import Marks, Reading, Resume, is_own_folder, stat_file
from skillopt_harvesters.sources.vscode import discover
from skillopt_harvesters.sources.vscode.documents import read_document
from skillopt_harvesters.sources.vscode.formats import Format, find_format
from skillopt_harvesters.sources.vscode.log import read_log
from skillopt_harvesters.sources.vscode.transcript import Transcripts
from skillopt_harvesters.workdirs import name_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from skillopt_harvesters.claims import Claims

_HEAD = 64 * 1024
_NO_SESSION = "it is no chat session that can be read"
_PROMPT = b'{"type":"user.message"'


class Progress(msgspec.Struct, frozen=True):
    """How a file was read, and what its reader needs to go on."""

    format: Format
    inner: bytes


class VscodeSource:
    """`chatSessions` and `GitHub.copilot-chat/transcripts` in `<User>/workspaceStorage/<hash>`, and more."""

    rewrites = False
    takes_back = True

    @property
    def name(self) -> str:
        return "vscode"

    def roots(self, env: Mapping[str, str], home: Path) -> tuple[Path, ...]:
        return discover.find_roots(env, home)

    def discover(self, root: Path, *, warn: Callable[[str], None] | None = None) -> Iterator[Path]:
        return discover.find_files(root, warn=warn)

    def stat(self, path: Path) -> Marks:
        """Return marks that change with any of the session's files."""
        marks = stat_file(path)
        for other in discover.family_of(path):
            if other == path:
                continue
            try:
                more = stat_file(other)
            except OSError:
                continue
            marks = Marks(marks.inode, marks.size + more.size, max(marks.mtime_ns, more.mtime_ns))
        return marks

    def recognise(self, head: bytes) -> bool:
        return find_format(head) is not None

    def identify(self, path: Path) -> str:
        return path.stem

    def has_others(self, path: Path) -> bool:
        return len(discover.family_of(path)) > 1

    def find_damage(self, head: bytes, path: Path) -> str:
        return find_encoding(head) or (_NO_SESSION if discover.keeps_sessions(path, head) else "")

    def read(
        self, file: BinaryIO, path: Path, *, claims: Claims, resume: Resume | None = None
    ) -> Iterator[Reading]:
        file.seek(0)
        if _find_format(file) is None and self.has_others(path):
            # What a crash emptied, or filled with NULs, hides none of the others.
            yield Reading(session=self._find_better(None, path, claims), offset=0)
            return
        form, reading = self._read(file, path, claims, resume)
        session = reading.session
        best = self._find_better(session, path, claims)
        # A document is written anew; and the state goes with this file's own session.
        going_on = reading.state and not best
        state = msgspec.msgpack.encode(Progress(form, reading.state)) if going_on else b""
        yield Reading(session=best or session, offset=reading.offset, state=state)

    def _read(
        self, file: BinaryIO, path: Path, claims: Claims, resume: Resume | None
    ) -> tuple[Format, Reading]:
        """Read a file by itself."""
        file.seek(0)
        form = _find_format(file) or Format.DOCUMENT
        inner = _go_on(form, resume)
        project = discover.find_project(path)
        # A file that was given another name holds the session it held before.
        name = resume.session.id if resume and resume.session else self.identify(path)

        def fresh() -> SessionDraft:
            return SessionDraft(id=name, client=self.name, path=str(path))

        if form is Format.TRANSCRIPT:
            [reading] = Transcripts().read(file, path, claims=claims, resume=inner or _begin_anew(resume))
        elif form is Format.LOG:
            reading = read_log(file, fresh, claims, inner)
        else:
            file.seek(0)
            reading = read_document(file, fresh(), claims)
        session = reading.session
        if session is not None:
            place = session.project or (redact_folder(name_folder(project)) if project else None)
            session = msgspec.structs.replace(session, project=place, kind=_find_kind(session, place))
        return form, msgspec.structs.replace(reading, session=session)

    def _find_better(self, session: Session | None, path: Path, claims: Claims) -> Session | None:
        """Return what another file of the session has, when it has more prompts."""
        best, most = None, _spoken(session)
        for other in discover.family_of(path):
            if other == path:
                continue
            try:
                with other.open("rb", buffering=1024 * 1024) as file:
                    form = _find_format(file)
                    if form is None or (most and not _may_have_more(file, form, most)):
                        continue
                    _, reading = self._read(file, other, claims, None)
            except OSError:
                continue
            if _spoken(reading.session) > most:
                best, most = reading.session, _spoken(reading.session)
        return best


def _find_format(file: BinaryIO) -> Format | None:
    head = find_head(file, file.read(_HEAD), lambda head: find_format(head) is not None)
    return None if head is None else find_format(head)


def _go_on(form: Format, resume: Resume | None) -> Resume | None:
    """Return where to go on in a file that is read as it was before."""
    if resume is None or not resume.state or resume.session is None:
        return None
    try:
        progress = msgspec.msgpack.decode(resume.state, type=Progress)
    except (msgspec.DecodeError, RecursionError):
        return None
    if progress.format is not form:
        return None
    return Resume(offset=resume.offset, state=progress.inner, session=resume.session)


def _begin_anew(resume: Resume | None) -> Resume | None:
    """Return what keeps the session's id in a reading from the start."""
    return Resume(offset=0, state=b"", session=resume.session) if resume and resume.session else None


def _may_have_more(file: BinaryIO, form: Format, most: int) -> bool:
    """Tell cheaply whether a transcript may have more prompts than were found elsewhere."""
    if form is not Format.TRANSCRIPT:
        return False
    file.seek(0)
    prompts = 0
    while line := file.readline(_HEAD):
        prompts += line.startswith(_PROMPT)
    return prompts > most


def _find_kind(session: Session, project: str | None) -> Kind:
    if project and is_own_folder(project):
        return Kind.REPLAY
    automatic = bool(session.turns) and not any(turn.typed for turn in session.turns)
    return Kind.HEADLESS if automatic and session.kind is Kind.HUMAN else session.kind


def _spoken(session: Session | None) -> int:
    return sum(turn.typed and bool(turn.prompt or turn.command) for turn in session.turns) if session else 0
