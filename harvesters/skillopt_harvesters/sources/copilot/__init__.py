"""Transcripts of GitHub Copilot CLI."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.sources.copilot import discover, history
from skillopt_harvesters.sources.copilot.memory import Memory
from skillopt_harvesters.sources.copilot.session import CopilotReader
from skillopt_harvesters.sources.lined import LinedSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from skillopt_harvesters.claims import Claims
    from skillopt_harvesters.sources.base import Reading, Resume

_OPENING = 64 * 1024


class CopilotSource(LinedSource[Memory]):
    """`session-state/<id>/events.jsonl`, older `<id>.jsonl`, and `history-session-state/*.json`."""

    memory = Memory
    takes_back = True

    @property
    def name(self) -> str:
        return "copilot"

    def roots(self, env: Mapping[str, str], home: Path) -> tuple[Path, ...]:
        return discover.find_roots(env, home)

    def discover(self, root: Path, *, warn: Callable[[str], None] | None = None) -> Iterator[Path]:
        return discover.find_files(root, warn=warn)

    def recognise(self, head: bytes) -> bool:
        return discover.is_history(head) or discover.find_writer(head) is discover.Writer.CLI

    def identify(self, path: Path) -> str:
        return discover.identify(path)

    def open_reader(
        self, session: SessionDraft, memory: Memory, claims: Claims, *, resumed: bool
    ) -> CopilotReader:
        return CopilotReader(session, memory, claims, resumed=resumed)

    def read(
        self, file: BinaryIO, path: Path, *, claims: Claims, resume: Resume | None = None
    ) -> Iterator[Reading]:
        file.seek(0)
        if discover.is_history(file.read(_OPENING)):
            file.seek(0)
            session = SessionDraft(id=self.identify(path), client=self.name, path=str(path))
            yield history.read_document(file, session, claims)
        else:
            yield from super().read(file, path, claims=claims, resume=resume)
