"""Sockets that lie in files: who sees such a file gets to what listens there, whatever his network is."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LIST = Path("/proc/net/unix")
_PATH = 7  # the field of a line, which may hold spaces


def find_sockets(folders: Iterable[Path]) -> list[Path]:
    """Return the sockets of this machine's programs below the folders, links resolved.

    The system tells no more of one than the name that it was opened by: it is found in the folder of that
    name, whatever it is called now, and by a relative one where one of the programs still stands in there.
    """
    try:
        lines = _LIST.read_bytes().splitlines()[1:]
    except OSError:
        return []  # a kernel without such sockets
    names = {fields[_PATH] for line in lines if len(fields := line.split(maxsplit=_PATH)) > _PATH}
    shown = tuple(os.fsencode(folder) + b"/" for folder in folders)
    holding = set()
    standing: set[bytes] | None = None
    for name in names:
        if name.startswith(b"@"):
            continue  # of the network's, and in no folder
        folder = name.rpartition(b"/")[0]
        if name.startswith(b"/"):
            holding.add(folder or b"/")
        else:
            standing = _list_standing(shown) if standing is None else standing
            holding.update(one + b"/" + folder for one in standing)
    places = {os.path.realpath(folder) for folder in holding}
    found = [path for place in places if (place + b"/").startswith(shown) for path in _list_sockets(place)]
    return sorted(map(Path, map(os.fsdecode, found)))


def _list_standing(shown: tuple[bytes, ...]) -> set[bytes]:
    """Return in which of the shown folders, or folders below, programs of this machine stand."""
    found = set()
    for entry in os.listdir(b"/proc"):  # noqa: PTH208
        if entry.isdigit():
            with contextlib.suppress(OSError):
                found.add(os.readlink(b"/proc/%b/cwd" % entry))  # noqa: PTH115
    return {folder for folder in found if (folder + b"/").startswith(shown)}


def _list_sockets(folder: bytes) -> Iterator[bytes]:
    # All of them: many a program gives its socket a name for a moment, and the right one then.
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            # Of these the folder tells; to ask for each file of a large one takes long.
            is_usual = entry.is_symlink() or entry.is_file() or entry.is_dir()
            if not is_usual and stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode):
                yield entry.path
