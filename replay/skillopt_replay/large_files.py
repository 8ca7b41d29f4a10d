"""Files kept by Git LFS: their content, where the project's own store has it."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import tempfile
from pathlib import Path

from skillopt_replay.git import run_git, say_name

MAX_BYTES = 1_000_000_000
_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:ext-.*\n)*oid sha256:([0-9a-f]{64})\nsize (\d+)\n\Z"
)
_LONGEST_POINTER = 1024
_PIECE = 1 << 20


async def fill_large_files(folder: Path, git_dir: Path) -> list[str]:
    """Put the stored content in place of the pointers, unseen by git; return notes about the rest."""
    listed = await run_git(folder, "ls-files", "-z", "--", ":(attr:filter=lfs)", keep_bytes=20_000_000)
    paths = [path for path in listed.split("\0") if path]
    if not paths:
        return []
    filled, missing = await asyncio.to_thread(_fill, folder, git_dir / "lfs" / "objects", paths)
    if filled:
        lines = "\0".join(filled).encode("utf-8", "surrogateescape")
        await run_git(folder, "update-index", "-z", "--skip-worktree", "--stdin", stdin=lines)
    if not missing:
        return []
    more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
    named = ", ".join(map(say_name, missing[:3])) + more
    return [f"large files left as pointers, their content is not in the project's store: {named}"]


def _fill(folder: Path, store: Path, paths: list[str]) -> tuple[list[str], list[str]]:
    filled: list[str] = []
    missing: list[str] = []
    left = MAX_BYTES
    for name in paths:
        path = folder / name
        found = _read_pointer(path)
        if found is None:
            continue
        oid, size = found
        content = store / oid[:2] / oid[2:4] / oid
        if size > left or not content.is_file() or content.stat().st_size != size:
            missing.append(name)
            continue
        if not _copy(content, path, oid):
            missing.append(name)
            continue
        left -= size
        filled.append(name)
    return filled, missing


def _copy(content: Path, path: Path, oid: str) -> bool:
    """Put the content in place of the pointer; return False, and leave that, if it is not what `oid` says.

    A store is a project's own: it may hold links to whatever the user can read.
    """
    # A new file, since the content may be stored read-only, and never a link to the user's own.
    handle, new = tempfile.mkstemp(dir=path.parent)
    try:
        digest = hashlib.sha256()
        with os.fdopen(handle, "wb") as copy, content.open("rb") as stored:
            while piece := stored.read(_PIECE):
                digest.update(piece)
                copy.write(piece)
        if digest.hexdigest() != oid:
            return False
        Path(new).chmod(path.stat().st_mode & 0o777)
        Path(new).replace(path)
        return True
    finally:
        Path(new).unlink(missing_ok=True)


def _read_pointer(path: Path) -> tuple[str, int] | None:
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _LONGEST_POINTER:
        return None
    match = _POINTER.match(path.read_bytes())
    return (match[1].decode(), int(match[2])) if match else None
