"""What of this system a run sees: links to folders, small files that are copied, parts of /proc."""

from __future__ import annotations

import os
from pathlib import Path

MERGED = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# Files that may be copied for each run, and how many of a folder: more is mounted.
SMALL, FEW = 1 << 20, 12
_KERNEL = ("keys", "key-users", "kcore", "kallsyms", "timer_list", "sched_debug")


def hide_kernel() -> list[str]:
    """Return the options that empty what the kernel tells of itself, its keys and its other users."""
    options = []
    for name in _KERNEL:
        if Path("/proc", name).exists():
            options += ["--ro-bind", os.devnull, f"/proc/{name}"]
    return options


def list_few(path: Path) -> list[Path] | None:
    """Return the file there, or those of the folder; None for what is better mounted."""
    try:
        found = sorted(path.iterdir()) if path.is_dir() else [path] if path.exists() else []
        few = len(found) <= FEW and all(one.is_file() and one.stat().st_size <= SMALL for one in found)
    except OSError:
        return None
    return found if few else None


def merged_links() -> list[str]:
    """Return the options for /bin, /lib and such: links into /usr on merged systems, folders on others."""
    options = []
    for folder in map(Path, MERGED):
        if folder.is_symlink():
            options += ["--symlink", str(folder.readlink()), str(folder)]
        elif folder.is_dir():
            options += ["--ro-bind", str(folder), str(folder)]
    return options
