"""Files as they lie on the disk: where they really are, and opened without surprises."""

from __future__ import annotations

import os
import stat
from io import BufferedReader, FileIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# A pipe that took the place of a file must not block, and nothing that is opened may become our terminal.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)


def resolve(path: str, folders: dict[str, str]) -> str:
    """Return the real path. `folders` remembers those of folders, which many files share."""
    if os.path.islink(path):  # noqa: PTH114 - many files, no Path object each
        return os.path.realpath(path)
    folder, name = os.path.split(path)
    real = folders.get(folder)
    if real is None:
        real = folders[folder] = os.path.realpath(folder)
    return os.path.join(real, name)  # noqa: PTH118


def open_regular(path: Path, *, buffering: int) -> BufferedReader:
    """Open a regular file. Raises OSError for anything else, which may have taken its place."""
    number = os.open(path, _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise OSError(0, "it is no regular file")
        return BufferedReader(FileIO(number), buffering)
    except BaseException:
        os.close(number)
        raise
