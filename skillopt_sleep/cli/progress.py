"""Progress of long commands on standard error: bars on a terminal, a line per stage elsewhere."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from skillopt_sleep.cli.frame import error_console
from skillopt_sleep.events import NOTE, Event, Listener, ignore
from skillopt_sleep.invocation import split_commands

_WAITING = ("skillopt_replay.models.service", "skillopt_replay.throttle")
_BETWEEN_WAITS_S = 15.0
_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))


@contextmanager
def follow(*, quiet: bool = False) -> Iterator[Listener]:
    """Give a listener that shows events until the block ends; `quiet`: one that shows nothing."""
    if quiet:
        yield ignore
        return
    console = error_console()
    if not console.is_terminal:
        lines = _Lines(console.file.write)
        with _telling_waits(lines):
            yield lines
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[count]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
        console=console,
    ) as progress:
        bars: dict[str, int] = {}

        def show(event: Event) -> None:
            if event.stage == NOTE:
                for line in _spell_note(event.detail):
                    progress.console.print(
                        line, markup=False, highlight=False, soft_wrap=line.startswith(" ")
                    )
                return
            if event.stage not in bars:
                bars[event.stage] = progress.add_task(event.stage, total=None, detail="", count="")
            if progress.tasks[bars[event.stage]].finished:
                # It begins another round; the clock of a bar that was full once stands still.
                progress.reset(bars[event.stage])  # type: ignore[arg-type]
            progress.update(
                bars[event.stage],  # type: ignore[arg-type]
                completed=event.bytes_done if event.bytes_total else event.done,
                total=event.bytes_total or event.total or None,
                count=measure(event),
                detail=event.detail[:60],
            )

        with _telling_waits(show):
            yield show


@contextmanager
def _telling_waits(listen: Listener) -> Iterator[None]:
    """Tell what is waited for before it is tried again, as otherwise nothing happens for a minute or more."""
    handler = _Waits(listen)
    levels = {log: log.level for log in map(logging.getLogger, _WAITING)}
    for log in levels:
        log.addHandler(handler)
        log.setLevel(logging.INFO)
    try:
        yield
    finally:
        for log, level in levels.items():
            log.removeHandler(handler)
            log.setLevel(level)


class _Waits(logging.Handler):
    """Many requests wait at a time: one of them is told now and then."""

    def __init__(self, listen: Listener) -> None:
        super().__init__(logging.INFO)
        self._listen = listen
        self._told = -_BETWEEN_WAITS_S

    def emit(self, record: logging.LogRecord) -> None:
        if time.monotonic() - self._told < _BETWEEN_WAITS_S:
            return
        self._told = time.monotonic()
        from skillopt_sleep.review.visible import show_line

        # The server's words are in it.
        self._listen(Event(stage=NOTE, detail=show_line(record.getMessage())))


def measure(event: Event) -> str:
    """Return how far a stage is, for example "12/40, 1.5 of 3.0 MB"; "" while nobody knows."""
    if not (event.done or event.total or event.bytes_total):
        return ""
    count = f"{event.done}/{event.total or '?'}"
    if not event.bytes_total:
        return count
    size, unit = _unit_of(event.bytes_total)
    return f"{count}, {event.bytes_done / size:.1f} of {event.bytes_total / size:.1f} {unit}"


def say_bytes(number: int) -> str:
    """Return a size, for example "20.2 kB"."""
    size, unit = _unit_of(number)
    return f"{number / size:.1f} {unit}" if size > 1 else f"{number} {unit}"


def _unit_of(number: int) -> tuple[float, str]:
    return next((unit for unit in _UNITS if number >= unit[0]), _UNITS[-1])


def _spell_note(text: str) -> list[str]:
    said, commands = split_commands(text)
    return [said, *(f"  {command}" for command in commands)]


class _Lines:
    """One line when a stage begins or ends, so that a log stays short."""

    def __init__(self, write: object) -> None:
        self._write = write
        self._last: tuple[str, bool] | None = None
        self._said = ""

    def __call__(self, event: Event) -> None:
        if event.stage == NOTE:
            self._write("".join(f"{line}\n" for line in _spell_note(event.detail)))  # type: ignore[operator]
            return
        ended = bool(event.total) and event.done >= event.total
        # Where nothing is counted, what it says is all there is to tell one line from another.
        said = "" if event.total else event.detail
        if (event.stage, ended) == self._last and said in {"", self._said}:
            return
        self._last, self._said = (event.stage, ended), said
        count = f" {measure(event)}" if event.total else ""
        self._write(f"{event.stage}{count} {event.detail}".rstrip() + "\n")  # type: ignore[operator]
