"""Tells whether anything below a folder was touched, from what the file system itself keeps."""

from __future__ import annotations

import functools
import hashlib
import itertools
import operator
import os
import stat
import struct
import sys
from pathlib import Path

import msgspec

# On these every change sets a time that no program can choose: also one by a memory map, which some others
# do not stamp, and of ownership, names, links and attributes.
_STAMPING = frozenset({"ext3", "ext4", "xfs", "btrfs", "f2fs"})
TICK_SECONDS = 0.02  # within which two changes may have the same time
_STATE = struct.Struct("=7Q2q")
_name = operator.attrgetter("name")


class Snapshot(msgspec.Struct, frozen=True):
    """A folder's own state, a digest of all below it, the newest change in Unix time, entries, bytes."""

    folder: bytes
    below: bytes
    newest: float
    entries: int
    size: int


class _TooMany(OSError):
    pass


def take_snapshot(root: Path, most: int = sys.maxsize - 1) -> Snapshot:
    """Return what the file system says about the folder. Takes a moment: for a thread.

    Raises OSError when the folder cannot be read, or holds more than `most` entries.
    """
    # A run of every project pays for this: per entry little more than asking the file system.
    digest = hashlib.blake2b(digest_size=32)
    newest = size = number = 0
    waiting = [os.fsencode(root)]
    while waiting:
        with os.scandir(waiting.pop()) as found:
            entries = sorted(itertools.islice(found, most - number + 1), key=_name)
        number += len(entries)
        if number > most:
            raise _TooMany
        parts: list[bytes] = []
        for entry in entries:
            status = entry.stat(follow_symlinks=False)
            parts += entry.name, b"\0", _state(status)
            newest = max(newest, status.st_ctime_ns)
            size += status.st_size
            if stat.S_ISDIR(status.st_mode):
                waiting.append(entry.path)
        digest.update(b"".join(parts))
    status = root.lstat()
    newest = max(newest, status.st_ctime_ns)
    return Snapshot(_state(status), digest.digest(), newest / 1e9, number, size)


def is_untouched(root: Path, snapshot: Snapshot) -> bool:
    """Return whether nothing was changed, in a folder no change to which was younger than TICK_SECONDS."""
    try:
        return stamps_changes(root) and take_snapshot(root, most=snapshot.entries) == snapshot
    except OSError:
        return False


def after_rename(root: Path, snapshot: Snapshot) -> Snapshot:
    """Return the snapshot of a folder that was only given another name, at `root`."""
    status = root.lstat()
    newest = max(snapshot.newest, status.st_ctime_ns / 1e9)
    return msgspec.structs.replace(snapshot, folder=_state(status), newest=newest)


def stamps_changes(path: Path) -> bool:
    """Return whether the file system there is one whose times can be trusted."""
    return _file_system(path.stat().st_dev) in _STAMPING


@functools.cache
def _file_system(device: int) -> str:
    if not sys.platform.startswith("linux"):
        return ""
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        if fields[2] == wanted:
            return fields[fields.index("-") + 1]
    return ""


def _state(status: os.stat_result) -> bytes:
    return _STATE.pack(
        status.st_mode,
        status.st_ino,
        status.st_dev,
        status.st_nlink,
        status.st_uid,
        status.st_gid,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )
