"""What `harvest --watch` shows: one line kept up to date on a terminal, a line per harvest elsewhere."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import msgspec

from skillopt_sleep.cli.frame import handling, stoppable
from skillopt_sleep.cli.progress import measure
from skillopt_sleep.clock import now
from skillopt_sleep.events import Event
from skillopt_sleep.paths import locate
from skillopt_sleep.period import as_local
from skillopt_sleep.review.visible import escape_json, show_line
from skillopt_sleep.review.wording import count

if TYPE_CHECKING:
    from skillopt_sleep.watching import Update, Watcher

_REDRAW_S = 0.1
_CLEAR = "\r\x1b[2K"


class Display(Protocol):
    """Shows what a watch does."""

    def update(self, update: Update) -> None: ...

    def progress(self, event: Event) -> None: ...

    def notice(self, sentence: str) -> None: ...


def watch_transcripts(clients: tuple[str, ...], *, poll_s: float | None, quiet: bool, as_json: bool) -> None:
    """Keep the index fresh until Ctrl-C or a termination, which is how a watch is meant to end."""
    from skillopt_sleep.watching import Timing, Watcher, keep_fresh
    from skillopt_sleep.watching.freshness import list_roots

    paths = locate()
    timing = Timing(poll_s=poll_s) if poll_s else Timing()
    with _choose(quiet=quiet, as_json=as_json) as display, stoppable():
        try:
            roots = list_roots(paths, os.environ, clients)
            watcher = Watcher(roots, timing=timing, poll=poll_s is not None, notice=display.notice)
            with ended_by_signals(watcher), watcher:
                for update in keep_fresh(
                    watcher,
                    paths,
                    os.environ,
                    what="harvest --watch",
                    clients=clients,
                    listen=display.progress,
                ):
                    display.update(update)
        except KeyboardInterrupt:
            return


@contextmanager
def ended_by_signals(watcher: Watcher) -> Iterator[None]:
    """Let a signal stop the watcher, and interrupt the harvest under way.

    Python drops an interrupt raised in a finaliser or a callback of the collector, and one raised between
    taking a lock and guarding it would leave the watcher's threads waiting: the stop outlives the first, and
    while the watcher waits nothing is raised.
    """

    def end(_number: int, _frame: object) -> None:
        watcher.stop()
        if watcher.is_looking:
            raise KeyboardInterrupt

    ending = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    if threading.current_thread() is not threading.main_thread():
        ending = []
    with handling([one for one in ending if signal.getsignal(one) != signal.SIG_IGN], end):
        yield


@contextmanager
def _choose(*, quiet: bool, as_json: bool) -> Iterator[Display]:
    if as_json:
        yield _JsonLines()
    elif quiet:
        yield _Silence()
    elif sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        line = _StatusLine()
        try:
            yield line
        finally:
            line.end()
    else:
        yield _Lines()


class _Silence:
    """Tells only warnings, each once while it stays, on standard error."""

    def __init__(self) -> None:
        self._warned: tuple[str, ...] = ()

    def update(self, update: Update) -> None:
        if update.report is not None:
            for warning in update.report.warnings:
                if warning not in self._warned:
                    sys.stderr.write(show_line(f"warning: {warning}") + "\n")
            self._warned = update.report.warnings

    def progress(self, event: Event) -> None:
        pass

    def notice(self, sentence: str) -> None:
        sys.stderr.write(show_line(f"note: {sentence}") + "\n")


class _Lines(_Silence):
    """A line for every harvest that found something."""

    def __init__(self) -> None:
        super().__init__()
        self._news = _News()

    def update(self, update: Update) -> None:
        super().update(update)
        if self._news.is_new(update):
            _write(show_line(_word(update)) + "\n")


class _JsonLines:
    """One JSON object in a line for every harvest that read something, and for the first one."""

    def __init__(self) -> None:
        self._news = _News(reads_count=True)

    def update(self, update: Update) -> None:
        if not self._news.is_new(update):
            return
        if update.report is None:
            self._print({"event": "waiting", "at": update.at, "reason": update.put_off})
        else:
            told = msgspec.to_builtins(update.report)
            self._print({"event": "harvest", "at": update.at, **told, "known": update.known})

    def progress(self, event: Event) -> None:
        pass

    def notice(self, sentence: str) -> None:
        self._print({"event": "notice", "at": now(), "reason": sentence})

    def _print(self, value: object) -> None:
        sys.stdout.write(escape_json(msgspec.json.encode(value).decode()) + "\n")
        sys.stdout.flush()


class _StatusLine:
    """One line of the terminal, written over and over."""

    def __init__(self) -> None:
        self._news = _News()
        self._told = ""
        self._drawn = 0.0

    def update(self, update: Update) -> None:
        if self._news.is_new(update) or not self._told:
            self._told = show_line(_word(update))
        self._draw(self._told)

    def progress(self, event: Event) -> None:
        if event.total and time.monotonic() - self._drawn > _REDRAW_S:
            self._draw(f"reading {measure(event)}")

    def notice(self, sentence: str) -> None:
        _write(f"{_CLEAR}note: {show_line(sentence)}\n")
        self._draw(self._told)

    def end(self) -> None:
        _write(f"{_CLEAR}{self._told}\n")

    def _draw(self, text: str) -> None:
        # A line that wraps could not be written over.
        _write(_CLEAR + text[: shutil.get_terminal_size().columns - 1])
        self._drawn = time.monotonic()


class _News:
    """Tells whether an update is worth a line. Warnings that stay are told once.

    With `reads_count` the first harvest is, and every one that opened a file.
    """

    def __init__(self, *, reads_count: bool = False) -> None:
        self._reads_count = reads_count
        self._is_first = True
        self._warned: tuple[str, ...] = ()
        self._put_off = ""

    def is_new(self, update: Update) -> bool:
        report = update.report
        put_off, self._put_off = self._put_off, update.put_off
        if report is None:
            return update.put_off != put_off
        warned, self._warned = self._warned, report.warnings
        counts, self._is_first = self._reads_count and (self._is_first or report.files_read > 0), False
        return bool(put_off) or counts or report.sessions > 0 or report.warnings != warned


def _word(update: Update) -> str:
    at = as_local(update.at)
    report = update.report
    if report is None:
        return f"{at}: waiting: {update.put_off}"
    found = "nothing new"
    if report.sessions:
        found = f"{count(report.sessions, 'session')} new or changed ({count(report.turns, 'prompt')} in all)"
    warned = f", {count(len(report.warnings), 'warning')}" if report.warnings else ""
    return f"{at}: {found}, {update.known} known{warned}"


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
