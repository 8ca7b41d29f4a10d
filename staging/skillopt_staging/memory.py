"""Memory files: which one a client reads in a project or for the user, and what it makes of its size."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from skillopt_staging.errors import NoRepository, StagingError
from skillopt_staging.lint import Warned
from skillopt_staging.targets import Target, find_repository

# In the order a client looks; the first one that is there is read, the first of all is where a new one goes.
_PROJECT_FILES = {
    "claude": ("CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md"),
    "codex": ("AGENTS.md",),
    "copilot": (".github/copilot-instructions.md", "AGENTS.md", "CLAUDE.md"),
}
_USER_FILES = {
    "claude": ("CLAUDE_CONFIG_DIR", ".claude", "CLAUDE.md"),
    "codex": ("CODEX_HOME", ".codex", "AGENTS.md"),
    "copilot": ("COPILOT_HOME", ".copilot", "copilot-instructions.md"),
}
# Codex cuts what it joins from the top level down to the working folder off here, in bytes.
MAX_CODEX = 32 * 1024
# Two pages, as Copilot advises: about this many characters.
MAX_COPILOT = 8_000


def project_memory(project: Path, client: str = "claude") -> Target:
    """Return the memory file a client reads in a project, or where it would be if it is new.

    Claude Code reads AGENTS.md only where there is no CLAUDE.md. Links are followed inside the repository.
    Raises NoRepository when the project is in none, StagingError when the file lies outside of it.
    """
    top = find_repository(project)
    if top is None:
        raise NoRepository(f"{project} is not in a git repository", hint="run git init there")
    names = _PROJECT_FILES[_known(client)]
    name = next((name for name in names if os.path.lexists(top / name)), names[0])
    real, root = Path(os.path.realpath(top / name)), Path(os.path.realpath(top))
    if not real.is_relative_to(root):
        raise StagingError(
            f"{name} leads to {real}, outside of {top}", hint="treat it as a file of the user's"
        )
    path = real.relative_to(root).as_posix()
    return Target(top, path, top / path)


def user_memory(
    client: str = "claude", *, env: Mapping[str, str] | None = None, home: Path | None = None
) -> Path:
    """Return the user's own memory file of a client."""
    variables = os.environ if env is None else env
    variable, folder, name = _USER_FILES[_known(client)]
    root = Path.home() if home is None else home
    return Path(variables.get(variable) or root / folder) / name


def lint_memory(text: str, *, client: str, others: Sequence[int] = ()) -> tuple[Warned, ...]:
    """Return what a client makes of a memory file: `others` are the bytes of those it joins with this one."""
    size = len(text.encode()) + sum(others)
    if client == "codex" and size > MAX_CODEX:
        return (
            Warned(
                "memory-bytes",
                f"Codex reads {MAX_CODEX:,} bytes of all AGENTS.md files together; these have {size:,}",
            ),
        )
    if client == "copilot" and len(text) > MAX_COPILOT:
        return (
            Warned("memory-pages", f"it has {len(text):,} characters; Copilot advises two pages at most"),
        )
    return ()


def _known(client: str) -> str:
    if client not in _PROJECT_FILES:
        raise StagingError(
            f"no memory file of {client!r} is known", hint=f"known: {', '.join(_PROJECT_FILES)}"
        )
    return client
