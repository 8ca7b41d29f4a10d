"""The extension's own transcripts: events as the CLI writes them, that say less of results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillopt_harvesters.records import Kind
from skillopt_harvesters.sources.copilot.memory import Memory
from skillopt_harvesters.sources.copilot.session import CopilotReader
from skillopt_harvesters.sources.lined import LinedSource
from skillopt_harvesters.sources.vscode import discover
from skillopt_harvesters.sources.vscode.formats import Format, find_format

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from skillopt_harvesters.claims import Claims
    from skillopt_harvesters.drafts import SessionDraft


class TranscriptReader(CopilotReader):
    """Takes the extension's events."""

    def _find_kind(self) -> Kind:
        kind = super()._find_kind()
        # A session in which nobody said anything is what an agent started by another one did.
        return Kind.SUBAGENT if kind is Kind.HUMAN and self.session.turns and not self.memory.spoken else kind


class Transcripts(LinedSource[Memory]):
    """Reads transcripts; they are found by the source they belong to."""

    memory = Memory

    @property
    def name(self) -> str:
        return "vscode"

    def roots(self, env: Mapping[str, str], home: Path) -> tuple[Path, ...]:
        return discover.find_roots(env, home)

    def recognise(self, head: bytes) -> bool:
        return find_format(head) is Format.TRANSCRIPT

    def identify(self, path: Path) -> str:
        return path.stem

    def open_reader(
        self, session: SessionDraft, memory: Memory, claims: Claims, *, resumed: bool
    ) -> TranscriptReader:
        return TranscriptReader(session, memory, claims, resumed=resumed)
