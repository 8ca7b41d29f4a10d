"""Transcripts of Claude Code."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from skillopt_harvesters.sources.base import Claims, Reading
from skillopt_harvesters.sources.claude import discover, session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path


class ClaudeSource:
    """`<config>/projects/<slug>/<session>.jsonl`, with sub-agents beside or below the sessions."""

    name = "claude"

    def roots(self, env: Mapping[str, str], home: Path) -> tuple[Path, ...]:
        return discover.find_roots(env, home)

    def discover(self, root: Path, *, warn: Callable[[str], None] | None = None) -> Iterator[Path]:
        return discover.find_files(root, warn=warn)

    def recognise(self, head: bytes) -> bool:
        return discover.recognise(head)

    def read(self, file: BinaryIO, path: Path, *, claims: Claims | None = None) -> Reading:
        return session.read_session(file, path, claims=claims)
