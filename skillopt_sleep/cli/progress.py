"""Progress of long commands on standard error: bars on a terminal, a line per stage elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from skillopt_sleep.cli.frame import error_console
from skillopt_sleep.events import NOTE, Event, Listener, ignore

_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))


@contextmanager
def follow(*, quiet: bool = False) -> Iterator[Listener]:
    """Give a listener that shows events until the block ends; `quiet`: one that shows nothing."""
    if quiet:
        yield ignore
        return
    console = error_console()
    if not console.is_terminal:
        yield _Lines(console.file.write)
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
                progress.console.print(event.detail, markup=False, highlight=False)
                return
            if event.stage not in bars:
                bars[event.stage] = progress.add_task(event.stage, total=None, detail="", count="")
            progress.update(
                bars[event.stage],  # type: ignore[arg-type]
                completed=event.bytes_done if event.bytes_total else event.done,
                total=event.bytes_total or event.total or None,
                count=measure(event),
                detail=event.detail[:60],
            )

        yield show


def measure(event: Event) -> str:
    """Return how far a stage is, for example "12/40, 1.5 of 3.0 MB"."""
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


class _Lines:
    """One line when a stage begins or ends, so that a log stays short."""

    def __init__(self, write: object) -> None:
        self._write = write
        self._last: tuple[str, bool] | None = None

    def __call__(self, event: Event) -> None:
        if event.stage == NOTE:
            self._write(f"{event.detail}\n")  # type: ignore[operator]
            return
        ended = bool(event.total) and event.done >= event.total
        if (event.stage, ended) == self._last:
            return
        self._last = (event.stage, ended)
        count = f" {measure(event)}" if event.total else ""
        self._write(f"{event.stage}{count} {event.detail}".rstrip() + "\n")  # type: ignore[operator]
