"""Agents that a project brings for Copilot, looked at before a run without reading what they say."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from skillopt_replay.folders import walk
from skillopt_replay.workspace import root_of

_PLACES = (".github/agents", ".claude/agents")
_MAX_BYTES = 1_000_000
_END = re.compile(rb"^---\r?$", re.MULTILINE)


def names_servers(workspace: Path) -> bool:
    """Whether an agent of the project's may name MCP servers; also where that cannot be told.

    The client itself connects to them, with the user's own sign-in where they are GitHub's.
    """
    root = root_of(workspace)
    for folder in (workspace, *workspace.parents):
        if not folder.is_relative_to(root):
            break
        for place in _PLACES:
            if (folder / place).parent.is_symlink() or (folder / place).is_symlink():
                return True
            if (folder / place).is_dir() and _may_name_servers(folder / place):
                return True
    return False


def _may_name_servers(place: Path) -> bool:
    for folder, folders, names in walk(place):
        if any(os.path.islink(os.path.join(folder, name)) for name in folders):  # noqa: PTH114, PTH118
            return True
        for name in names:
            path = Path(folder, name)
            status = path.lstat()
            if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_BYTES or _mentions(path):
                return True
    return False


def _mentions(path: Path) -> bool:
    try:
        text = path.read_bytes()
    except OSError:
        return True
    # YAML has other ways to write the name: with escapes, or as what a tag makes of something else.
    marks = list(_END.finditer(text))
    head = text[: marks[1].start()] if len(marks) > 1 else text
    return b"mcp" in text.lower() or b"\\" in head or b"!" in head
