"""Sockets that lie in files: who sees such a file gets to what listens there, whatever his network is."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LIST = Path("/proc/net/unix")
_PATH = 7  # the field of a line, which may hold spaces


def find_sockets(folders: Iterable[Path]) -> list[Path]:
    """Return the sockets of this machine's programs below the folders, links resolved.

    One that was opened by a name relative to a folder is found where one of the programs still stands in it:
    the system tells no more of it than that name.
    """
    try:
        lines = _LIST.read_bytes().splitlines()[1:]
    except OSError:
        return []  # a kernel without such sockets
    names = {fields[_PATH] for line in lines if len(fields := line.split(maxsplit=_PATH)) > _PATH}
    shown = tuple(os.fsencode(folder) + b"/" for folder in folders)
    places: dict[bytes, bytes] = {}
    found = set()
    standing: set[bytes] | None = None
    for name in names:
        if name.startswith(b"@"):
            continue  # of the network's, and in no folder
        if name.startswith(b"/"):
            candidates = [name]
        else:
            standing = _list_standing(shown) if standing is None else standing
            candidates = [folder + b"/" + name for folder in standing]
        for candidate in candidates:
            folder, _, file = candidate.rpartition(b"/")
            if folder not in places:
                places[folder] = os.path.realpath(folder or b"/")
            path = os.path.join(places[folder], file)  # noqa: PTH118 - names that are no text
            if path.startswith(shown) and _is_socket(path):
                found.add(Path(os.fsdecode(path)))
    return sorted(found)


def _list_standing(shown: tuple[bytes, ...]) -> set[bytes]:
    """Return in which of the shown folders, or folders below, programs of this machine stand."""
    found = set()
    for entry in os.listdir(b"/proc"):  # noqa: PTH208
        if entry.isdigit():
            with contextlib.suppress(OSError):
                found.add(os.readlink(b"/proc/%b/cwd" % entry))  # noqa: PTH115
    return {folder for folder in found if (folder + b"/").startswith(shown)}


def _is_socket(path: bytes) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return False
