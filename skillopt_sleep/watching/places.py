"""What there is to watch: which folders, where a missing one would appear, and which to poll."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import msgspec

# Others can change files on these without the system here being told.
_REMOTE = frozenset(
    "9p afpfs afs beegfs ceph cifs davfs fakeowner gfs2 glusterfs gpfs grpcfuse lustre macfuse ncpfs nfs nfs3"
    " nfs4 ocfs2 osxfuse prl_fs smb smb2 smb3 smbfs vboxsf virtiofs vmhgfs webdav".split()
)
_LOCAL_FUSE = frozenset("fuse.bindfs fuse.cryfs fuse.encfs fuse.gocryptfs fuse.mergerfs fuse.unionfs".split())
_LEVELS = 2


class Plan(msgspec.Struct, frozen=True):
    """What to watch, as real paths.

    `trees` are watched with all that lies below them; of `doors` only whether one of the names in them
    comes or goes. `remote` are roots nobody tells about, with their file system.
    """

    trees: tuple[str, ...]
    doors: tuple[tuple[str, tuple[str, ...]], ...]
    remote: tuple[tuple[str, str], ...]


def make_plan(roots: Iterable[Path]) -> Plan:
    """Look at the disk and say what to watch for these roots, whether they exist or not."""
    mounts = _list_mounts()
    doors: dict[str, set[str]] = {}
    remote: dict[str, str] = {}
    trees: list[str] = []
    for root in roots:
        typed = os.path.abspath(root)  # noqa: PTH100 - ".." is taken as the client takes it
        real = os.path.realpath(typed)
        system = find_remote(real, mounts)
        if system:
            remote[typed] = system
            continue
        for path in dict.fromkeys((typed, real)):
            for door, name in _find_doors(Path(path)):
                if not find_remote(door, mounts):
                    doors.setdefault(door, set()).add(name)
        if os.path.isdir(real):  # noqa: PTH112
            trees.append(real)
    wide = _widen(trees)
    return Plan(
        trees=wide,
        # Two watches on one folder would share the events that the later one asks for.
        doors=tuple(
            (door, tuple(sorted(names)))
            for door, names in sorted(doors.items())
            if not _is_covered(door, set(wide))
        ),
        remote=tuple(sorted(remote.items())),
    )


def find_remote(path: str, mounts: dict[str, str] | None = None) -> str:
    """Return the file system of a real path when others may change it unnoticed, else ""."""
    known = _list_mounts() if mounts is None else mounts
    for folder in (path, *map(str, Path(path).parents)):
        if folder in known:
            system = known[folder]
            is_remote = system in _REMOTE or (system.startswith("fuse.") and system not in _LOCAL_FUSE)
            return system if is_remote else ""
    return ""


def _list_mounts() -> dict[str, str]:
    import psutil

    try:
        return {part.mountpoint: part.fstype.lower() for part in psutil.disk_partitions(all=True)}
    except (OSError, RuntimeError):
        return {}


def _find_doors(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the nearest folders above a path that exist, with the name in each that leads to it."""
    levels = [path, *path.parents]
    found = 0
    for child, parent in pairwise(levels):
        if found < _LEVELS and parent.is_dir():
            found += 1
            yield os.path.realpath(parent), child.name


def _widen(trees: list[str]) -> tuple[str, ...]:
    """Add the folders that links inside lead to, and drop what lies in another tree."""
    pending = list(trees)
    wide: set[str] = set()
    while pending:
        tree = pending.pop()
        if not _is_covered(tree, wide):
            wide.add(tree)
            pending.extend(_find_links(tree))
    return tuple(sorted(tree for tree in wide if not _is_covered(tree, wide - {tree})))


def _is_covered(path: str, trees: set[str]) -> bool:
    return path in trees or any(str(parent) in trees for parent in Path(path).parents)


def _find_links(tree: str) -> Iterator[str]:
    """Yield the real folders that links below a folder lead to."""
    pending = [tree]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    elif entry.is_symlink() and entry.is_dir():
                        yield os.path.realpath(entry.path)
        except OSError:
            continue  # the harvest tells about what cannot be read
