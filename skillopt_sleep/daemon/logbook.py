"""The daemon's log: events with their fields, into the journal under systemd, else into files that rotate."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Mapping
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from skillopt_sleep.clock import now
from skillopt_sleep.errors import AppError
from skillopt_sleep.paths import Paths, make_private

_BYTES = 1_000_000
_FILES = 4
_PRIORITIES = {logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3}
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:+@%$,")


def log_file(paths: Paths) -> Path:
    """Return where the log lies where no journal takes it."""
    return paths.log / "daemon.log"


if TYPE_CHECKING:
    _Stream = logging.StreamHandler[TextIO]
else:
    _Stream = logging.StreamHandler


class Logbook:
    """Writes one line an event. A log that cannot be written costs its lines, and nothing else."""

    def __init__(self, paths: Paths, env: Mapping[str, str], *, console: bool = False) -> None:
        """Open it: the journal where standard error leads there, or a console when asked; and else a file."""
        in_journal = _leads_to_journal(env)
        self._stamped = not in_journal
        self._handler: logging.Handler = _Lines(sys.stderr)
        if in_journal or console:
            return
        try:
            self._handler = _open_file(log_file(paths))
        except (OSError, AppError) as error:
            self.warn("log", error=error, goes_to="standard error")

    def info(self, event: str, **fields: object) -> None:
        self._write(logging.INFO, event, fields)

    def warn(self, event: str, **fields: object) -> None:
        self._write(logging.WARNING, event, fields)

    def error(self, event: str, **fields: object) -> None:
        self._write(logging.ERROR, event, fields)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._handler.close()

    def _write(self, level: int, event: str, fields: Mapping[str, object]) -> None:
        # The journal stamps lines itself, and takes the priority from the beginning of the line.
        head = (
            f"{now()} {logging.getLevelName(level).lower()} " if self._stamped else f"<{_PRIORITIES[level]}>"
        )
        told = " ".join([event, *(f"{name}={_quote(value)}" for name, value in fields.items())])
        record = logging.LogRecord("daemon", level, "", 0, head + told, None, None)
        self._handler.handle(record)


class _Lines(_Stream):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the library's name
        pass


class _Files(RotatingFileHandler):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the library's name
        pass


def _open_file(file: Path) -> logging.Handler:
    make_private(file.parent)
    os.close(os.open(file, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600))
    return _Files(file, maxBytes=_BYTES, backupCount=_FILES, encoding="utf-8", errors="replace")


def _leads_to_journal(env: Mapping[str, str]) -> bool:
    device, _, inode = env.get("JOURNAL_STREAM", "").partition(":")
    try:
        found = os.fstat(sys.stderr.fileno())
    except (OSError, ValueError, AttributeError):
        return False
    return (device, inode) == (str(found.st_dev), str(found.st_ino))


def _quote(value: object) -> str:
    text = str(value)
    if text and _PLAIN.issuperset(text):
        return text
    shown = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text.replace("\n", " "))
    escaped = shown.replace('"', "'")
    return f'"{escaped}"'
