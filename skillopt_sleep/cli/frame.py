"""What all commands share: errors to exit codes, JSON or text out, the open database."""

from __future__ import annotations

import errno
import functools
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeVar

import msgspec
import typer

from skillopt_sleep.clock import now
from skillopt_sleep.errors import AppError, Explained
from skillopt_sleep.invocation import split_commands
from skillopt_sleep.paths import Paths, locate, make_private

if TYPE_CHECKING:
    import sqlite3
    from types import FrameType

    from rich.console import Console

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]

NOTHING_TO_DO = 3
NEEDS_DECISION = 4
STOPPED = 5
INTERRUPTED = 130
_MOST_LINES = 40
_OF_THE_MACHINE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM}


def explain(function: Callable[P, R]) -> Callable[P, R]:
    """Turn errors into a message, a hint and an exit code. A bug leaves its traceback in the log folder."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except typer.Exit:
            raise
        except KeyboardInterrupt:
            _tell("interrupted; what was finished is kept")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            _drop_unread()
            raise typer.Exit(1) from None
        except Exception as error:  # noqa: BLE001 - the last place that can tell the user
            if isinstance(error, Explained):
                say_error(error)
                raise typer.Exit(error.exit_code) from None
            if isinstance(error, OSError) and error.errno in _OF_THE_MACHINE:
                _tell(f"error: {error.filename or 'the disk'}: {error.strerror}")
                _tell("  hint: make room, or mend the permissions, and start it again")
                _drop_unread()
                raise typer.Exit(1) from None
            _tell(f"error: {type(error).__name__}: {error}")
            _tell(f"  this is a bug in SkillOpt-Sleep; the details are in {write_crash()}")
            raise typer.Exit(1) from None

    return wrapped


def say_error(error: Explained) -> None:
    """Print an error with its hint, and the places where both sides changed the same lines."""
    _tell(f"error: {error.message}")
    marked = getattr(error, "marked", "")
    for line in _cut_conflicts(marked):
        _tell(f"  {line}")
    if error.hint:
        said, commands = split_commands(error.hint)
        _tell(f"  hint: {said}")
        for command in commands:
            _tell(f"    {command}")


def _cut_conflicts(marked: str) -> list[str]:
    """Return the conflicts of a text with markers, each with the number of the line it begins at."""
    shown: list[str] = []
    inside = False
    for number, line in enumerate(marked.splitlines(), start=1):
        if line.startswith("<<<<<<< "):
            inside = True
            shown.append(f"line {number}:")
        if inside:
            shown.append(line)
        if line.startswith(">>>>>>> "):
            inside = False
    left_out = len(shown) - _MOST_LINES
    return [*shown[:_MOST_LINES], f"... and {left_out} lines more"] if left_out > 0 else shown


def show(value: Any, *, as_json: bool, render: Callable[[], str], markdown: Callable[[], str] = str) -> None:
    """Print `value` as JSON; or what `markdown` and `render` return, the first one set out on a terminal."""
    from skillopt_sleep.review.visible import show as make_visible

    if as_json:
        text = _write_json(value)
    else:
        # Prompts and skills are other people's text; a terminal obeys control characters in it.
        written, text = (make_visible(part(), tab="\t") for part in (markdown, render))
        if sys.stdout.isatty() and written:
            from skillopt_sleep.cli.markdown import print_markdown

            print_markdown(written)
        else:
            text = written + text
    sys.stdout.write(text if text.endswith("\n") or not text else text + "\n")
    sys.stdout.flush()


def show_each(values: Iterable[T], *, as_json: bool, render: Callable[[T], str]) -> int:
    """Print values one at a time, however many: as one JSON array, or a line each. Returns how many."""
    from skillopt_sleep.review.visible import show as make_visible

    number = 0
    for number, value in enumerate(values, start=1):
        if as_json:
            text = _write_json(value).replace("\n", "\n  ")
            sys.stdout.write(f"{'[' if number == 1 else ','}\n  {text}")
        else:
            sys.stdout.write(make_visible(render(value), tab="\t") + "\n")
    if as_json:
        sys.stdout.write("\n]\n" if number else "[]\n")
    sys.stdout.flush()
    return number


def _write_json(value: Any) -> str:
    from skillopt_sleep.review.visible import escape_json

    return escape_json(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def complete(work: Coroutine[Any, Any, T]) -> T:
    """Run asynchronous work to its end, and return what it does. Its library is loaded only then."""
    import asyncio

    return asyncio.run(work)


@contextmanager
def database() -> Iterator[tuple[Paths, sqlite3.Connection]]:
    """Open the database; give the paths in force and the connection."""
    from skillopt_sleep.store.database import connect, explained

    paths = locate()
    connection = connect(paths.database)
    try:
        with explained(paths.database):
            yield paths, connection
    finally:
        connection.close()


@contextmanager
def stoppable() -> Iterator[None]:
    """Let a termination or a closed terminal end the block as Ctrl-C does: children are ended first.

    A signal that is ignored already (nohup) stays so.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: object) -> None:
        # Started with Ctrl-C ignored, as background jobs of a shell are, raising it would do nothing.
        if signal.getsignal(signal.SIGINT) in {signal.SIG_IGN, None}:
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    ending = (signal.SIGTERM, signal.SIGHUP)
    with handling([one for one in ending if signal.getsignal(one) == signal.SIG_DFL], interrupt):
        yield


@contextmanager
def handling(
    signals: Iterable[signal.Signals], handler: Callable[[int, FrameType | None], None]
) -> Iterator[None]:
    """Let a handler have these signals for the block. For the main thread only."""
    before = {one: signal.signal(one, handler) for one in signals}
    try:
        yield
    finally:
        for one, earlier in before.items():
            signal.signal(one, earlier)


def error_console() -> Console:
    """Return a console on standard error, for progress; it heeds NO_COLOR."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False)


def _drop_unread() -> None:
    """Let go of output that nobody reads any more, or no disk takes: it would only raise again at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _tell(line: str) -> None:
    from skillopt_sleep.review.visible import show as make_visible

    # An error can hold what a run or a service said.
    sys.stderr.write(make_visible(line, tab="\t") + "\n")


def write_crash() -> str:
    """Write the traceback of the error at hand into the log folder, and return where it lies."""
    try:
        path = make_private(locate().log) / f"crash-{now().replace(':', '')}.log"
        path.write_text(traceback.format_exc(), encoding="utf-8")
    except (OSError, AppError):
        traceback.print_exc()
        return "the lines above"
    return str(path)
