"""Progress of long commands on standard error: bars on a terminal, a line per stage elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from skillopt_sleep.cli.frame import error_console
from skillopt_sleep.events import Event, Listener, ignore


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
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
        console=console,
    ) as progress:
        bars: dict[str, int] = {}

        def show(event: Event) -> None:
            if event.stage not in bars:
                bars[event.stage] = progress.add_task(event.stage, total=None, detail="")
            progress.update(
                bars[event.stage],  # type: ignore[arg-type]
                completed=event.done,
                total=event.total or None,
                detail=event.detail[:60],
            )

        yield show


class _Lines:
    """One line when a stage begins or ends, so that a log stays short."""

    def __init__(self, write: object) -> None:
        self._write = write
        self._last: tuple[str, bool] | None = None

    def __call__(self, event: Event) -> None:
        ended = bool(event.total) and event.done >= event.total
        if (event.stage, ended) == self._last:
            return
        self._last = (event.stage, ended)
        count = f" {event.done}/{event.total}" if event.total else ""
        self._write(f"{event.stage}{count} {event.detail}".rstrip() + "\n")  # type: ignore[operator]
