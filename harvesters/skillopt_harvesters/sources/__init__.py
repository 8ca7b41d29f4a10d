"""The clients whose transcripts can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillopt_harvesters.claims import Claims, MemoryClaims
from skillopt_harvesters.files import open_regular
from skillopt_harvesters.sources.base import Marks, Reading, Resume, Source
from skillopt_harvesters.sources.claude import ClaudeSource
from skillopt_harvesters.sources.codex import CodexSource
from skillopt_harvesters.sources.copilot import CopilotSource
from skillopt_harvesters.sources.opencode import OpenCodeSource
from skillopt_harvesters.sources.pi import PiSource
from skillopt_harvesters.sources.plugins import add_plugins
from skillopt_harvesters.sources.vscode import VscodeSource

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SOURCES: dict[str, Source] = {
    source.name: source
    for source in (
        ClaudeSource(),
        CodexSource(),
        CopilotSource(),
        VscodeSource(),
        OpenCodeSource(),
        PiSource(),
    )
}

__all__ = [
    "SOURCES",
    "ClaudeSource",
    "CodexSource",
    "CopilotSource",
    "Marks",
    "OpenCodeSource",
    "PiSource",
    "Reading",
    "Resume",
    "Source",
    "VscodeSource",
    "load_sources",
    "read_file",
]


def load_sources(warn: Callable[[str], None] | None = None) -> dict[str, Source]:
    """Return the sources by name: those that come with the package, and those other distributions register.

    `warn` is told of each that had to be left out.
    """
    return add_plugins(SOURCES, warn=warn)


def read_file(
    source: Source, path: Path, *, claims: Claims | None = None, resume: Resume | None = None
) -> list[Reading]:
    """Open and read one transcript. Raises OSError when it cannot be opened, or is a pipe or a device."""
    with open_regular(path, buffering=1024 * 1024) as file:
        return list(source.read(file, path, claims=claims or MemoryClaims(), resume=resume))
