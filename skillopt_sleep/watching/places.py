"""What there is to watch: which folders, where a missing one would appear, and which to look at instead."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import TypeAlias

import msgspec

# Others can change files on these without the system here being told.
_REMOTE = frozenset(
    "9p afpfs afs beegfs ceph cifs davfs fakeowner gfs2 glusterfs gpfs grpcfuse lustre macfuse ncpfs nfs nfs3"
    " nfs4 ocfs2 osxfuse prl_fs smb smb2 smb3 smbfs vboxsf virtiofs vmhgfs webdav".split()
)
_LOCAL_FUSE = frozenset("fuse.bindfs fuse.cryfs fuse.encfs fuse.gocryptfs fuse.mergerfs fuse.unionfs".split())
_LEVELS = 2
# More folders than this, and that many for each that matters, are not worth their watches.
_MANY = 256
_CROWD = 8

Listing: TypeAlias = Callable[[], Iterable[tuple[Path, object]]]


class Root(msgspec.Struct, frozen=True):
    """A folder, or a single file, that may be missing.

    `files` lists what matters in it: files, each with something that changes whenever it does.
    """

    path: Path
    files: Listing


class Door(msgspec.Struct, frozen=True):
    """A folder in which names are watched: whether they come or go, and of `files` also their content."""

    folder: str
    names: tuple[str, ...]
    files: tuple[str, ...] = ()


class Plan(msgspec.Struct, frozen=True):
    """What to watch, as real paths: `trees` with all that lies below them, and `doors`.

    `remote` are roots nobody tells about, with their file system, and `crowded` those that hold so much
    else that they are better looked at.
    """

    trees: tuple[str, ...]
    doors: tuple[Door, ...]
    remote: tuple[tuple[str, str], ...]
    crowded: tuple[str, ...]


def make_plan(roots: Iterable[Root]) -> Plan:
    """Look at the disk and say what to watch for these roots, whether they exist or not."""
    mounts = _list_mounts()
    names: dict[str, set[str]] = {}
    files: dict[str, set[str]] = {}
    remote: dict[str, str] = {}
    crowded: list[str] = []
    trees: list[str] = []
    for root in roots:
        typed = os.path.abspath(root.path)  # noqa: PTH100 - ".." is taken as the client takes it
        real = os.path.realpath(typed)
        system = find_remote(real, mounts)
        if system:
            remote[typed] = system
            continue
        for path in dict.fromkeys((typed, real)):
            for folder, name in _find_doors(Path(path)):
                if not find_remote(folder, mounts):
                    names.setdefault(folder, set()).add(name)
        if os.path.isfile(real):  # noqa: PTH113
            folder, name = os.path.split(real)
            files.setdefault(folder, set()).add(name)
        elif _is_crowded(root, real):
            crowded.append(typed)
        elif os.path.isdir(real):  # noqa: PTH112
            trees.append(real)
    wide = _widen(trees)
    return Plan(
        trees=wide,
        # Two watches on one folder would share the events that the later one asks for.
        doors=tuple(
            Door(folder, tuple(sorted(names[folder])), tuple(sorted(files.get(folder, ()))))
            for folder in sorted(names)
            if not _is_covered(folder, set(wide))
        ),
        remote=tuple(sorted(remote.items())),
        crowded=tuple(sorted(crowded)),
    )


def take_print(roots: Iterable[Root]) -> bytes:
    """Return a fingerprint of what matters in the roots; it changes when any of it does."""
    print_ = hashlib.blake2b(digest_size=16)
    for root in roots:
        try:
            for path, mark in root.files():
                print_.update(f"{path}\0{mark}\0".encode("utf-8", "surrogatepass"))
        except OSError as error:
            print_.update(f"{root.path}\0{error.errno}\0".encode("utf-8", "surrogatepass"))
    return print_.digest()


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
    found = 0
    for child, parent in pairwise((path, *path.parents)):
        if parent.is_dir():
            yield os.path.realpath(parent), child.name
            found += 1
            if found == _LEVELS or not path.exists():
                return


def _is_crowded(root: Root, real: str) -> bool:
    """Tell whether a folder has many others below it, and few of them with files that matter."""
    if not _has_more_than(_MANY, real):
        return False
    try:
        mattering = {path.parent for path, _ in root.files()}
    except OSError:
        return True
    return _has_more_than(max(_MANY, _CROWD * len(mattering)), real)


def _has_more_than(number: int, tree: str) -> bool:
    return next(islice(_walk(tree, []), number, None), None) is not None


def _widen(trees: list[str]) -> tuple[str, ...]:
    """Add the folders that links inside lead to, and drop what lies in another tree."""
    pending = list(trees)
    wide: set[str] = set()
    while pending:
        tree = pending.pop()
        if not _is_covered(tree, wide):
            wide.add(tree)
            for _ in _walk(tree, pending):
                pass
    return tuple(sorted(tree for tree in wide if not _is_covered(tree, wide - {tree})))


def _is_covered(path: str, trees: set[str]) -> bool:
    return path in trees or any(str(parent) in trees for parent in Path(path).parents)


def _walk(tree: str, links: list[str]) -> Iterator[str]:
    """Yield the folders below one, itself included; add the real folders that links lead to to `links`."""
    pending = [tree]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    elif entry.is_symlink() and entry.is_dir():
                        links.append(os.path.realpath(entry.path))
        except OSError:
            continue  # the harvest tells about what cannot be read
        yield folder
