"""The settings in force: read anew when the file changes, and kept while it cannot be read."""

from __future__ import annotations

from pathlib import Path

from skillopt_sleep.config import load
from skillopt_sleep.errors import AppError
from skillopt_sleep.settings import Settings


class LiveSettings:
    """`trouble` says what is wrong with the file, "" when nothing is: no night begins before it is mended."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._mark: tuple[int, int, int] | None = (0, 0, 0)
        self.current = Settings()
        self.trouble = ""
        self.refresh()

    def refresh(self, *, force: bool = False) -> bool:
        """Read the file if it changed; return whether it did."""
        mark = _find_mark(self._file)
        if mark == self._mark and not force:
            return False
        self._mark = mark
        try:
            self.current = load(self._file)
            self.trouble = ""
        except AppError as error:
            self.trouble = error.message
        return True


def _find_mark(file: Path) -> tuple[int, int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
