"""Whether a program is still the one that was found: its runs count for that one's version, and no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Replaced(Exception):
    """A program is another one now, in words."""


class Staying:
    """Remembers files as they are when it is made, by their sizes and the times of their last writing."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = {file: _look_at(file) for file in files}

    def require(self) -> None:
        """Raise Replaced when one of the files is another one now, or is gone."""
        for file, before in self._files.items():
            if _look_at(file) != before:
                raise Replaced(f"{file} was replaced or removed while its runs were under way")


def _look_at(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns
