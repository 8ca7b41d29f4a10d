"""Files as they lie on the disk: where they really are, and opened without surprises."""

from __future__ import annotations

import os
import stat
from io import BufferedReader, FileIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from _typeshed import WriteableBuffer

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


def is_gone(path: str) -> bool:
    """Tell whether nothing is at a path. Where one may not look, or the disk fails, something may be."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return True
    except OSError:
        return False
    return False


def open_regular(
    path: Path, *, buffering: int, advance: Callable[[int, int], None] = lambda _position, _size: None
) -> BufferedReader:
    """Open a regular file. Raises OSError for anything else, which may have taken its place.

    `advance` is told the position and the size whenever bytes were fetched.
    """
    number = os.open(path, _FLAGS)
    try:
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "it is no regular file")
        return BufferedReader(_Metered(number, status.st_size, advance), buffering)
    except BaseException:
        os.close(number)
        raise


class _Metered(FileIO):
    """An open file that tells how far it was read."""

    def __init__(self, number: int, size: int, advance: Callable[[int, int], None]) -> None:
        super().__init__(number, "rb")
        self._size = size
        self._advance = advance

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        fetched = super().readinto(buffer)
        self._advance(self.tell(), self._size)
        return fetched
