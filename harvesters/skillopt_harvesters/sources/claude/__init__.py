"""Transcripts of Claude Code."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, BinaryIO

from skillopt_harvesters.digests import digest
from skillopt_harvesters.sources.claude import discover, forks, records
from skillopt_harvesters.sources.claude.context import Memory
from skillopt_harvesters.sources.claude.session import ClaudeReader
from skillopt_harvesters.sources.lined import LinedSource

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from skillopt_harvesters.claims import Claims
    from skillopt_harvesters.drafts import SessionDraft


class ClaudeSource(LinedSource[Memory]):
    """`<config>/projects/<slug>/<session>.jsonl`, with sub-agents beside or below the sessions."""

    noise = records.NOISE
    memory = Memory

    @property
    def name(self) -> str:
        return "claude"

    def roots(self, env: Mapping[str, str], home: Path) -> tuple[Path, ...]:
        return discover.find_roots(env, home)

    def recognise(self, head: bytes) -> bool:
        return discover.recognise(head)

    def identify(self, path: Path) -> str:
        return path.stem

    def name_apart(self, path: Path) -> str:
        """Return another name for a sub-agent: their short ids are copied by forks, and meet by chance."""
        if not path.name.startswith("agent-"):
            return ""
        return f"{path.stem}~{digest(os.fspath(path.parent))}"

    def find_fork(self, head: bytes, file: BinaryIO, path: Path) -> str | None:
        return forks.find_fork(head, file, path)

    def open_reader(
        self, session: SessionDraft, memory: Memory, claims: Claims, *, resumed: bool
    ) -> ClaudeReader:
        return ClaudeReader(session, memory, claims, resumed=resumed)
