"""Keeping the index fresh: a harvest whenever the watcher says so, the lock held only meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skillopt_sleep.clients import choose_sources, find_home, read_roots
from skillopt_sleep.clock import now
from skillopt_sleep.config import load
from skillopt_sleep.errors import AppError, Busy
from skillopt_sleep.events import Listener, ignore
from skillopt_sleep.lock import hold
from skillopt_sleep.night.harvesting import HarvestReport, update_index
from skillopt_sleep.paths import Paths
from skillopt_sleep.store.counts import count_sessions
from skillopt_sleep.store.database import connect, explained
from skillopt_sleep.watching.places import Root
from skillopt_sleep.watching.watcher import Batch, Watcher

if TYPE_CHECKING:
    from skillopt_harvesters.sources import Source

_RETRY_S = 5.0
_RETRY_MAX_S = 60.0


class Update(msgspec.Struct, frozen=True, kw_only=True):
    """One look at the transcripts: what it read, or why it was put off (and will be made up for).

    `at` is ISO 8601 in UTC, `known` the number of sessions in the index.
    """

    at: str
    batch: Batch
    report: HarvestReport | None = None
    known: int = 0
    put_off: str = ""


def list_roots(
    paths: Paths, env: Mapping[str, str], clients: Collection[str] = ()
) -> Callable[[], tuple[Root, ...]]:
    """Return what tells a watcher the roots of the clients, by the settings as they are when asked.

    Raises AppError when the settings cannot be read; once they could be, those stay in force meanwhile.
    """
    settings = load(paths.config).harvest

    def look() -> tuple[Root, ...]:
        nonlocal settings
        home = find_home(env)
        with suppress(AppError):
            settings = load(paths.config).harvest
        sources = choose_sources(clients or settings.clients, read_roots(settings.roots, home))
        return tuple(
            Root(path, partial(_list_files, source, path))
            for source in sources
            for path in source.roots(env, home)
        )

    return look


def _list_files(source: Source, root: Path) -> Iterator[tuple[Path, object]]:
    for path in source.discover(root):
        with suppress(OSError):
            yield path, source.stat(path)


def keep_fresh(
    watcher: Watcher,
    paths: Paths,
    env: Mapping[str, str],
    *,
    what: str = "harvest",
    clients: Collection[str] = (),
    listen: Listener = ignore,
) -> Iterator[Update]:
    """Harvest at every batch of a started watcher, and yield what came of it, until the watcher is stopped.

    `what` is how others are told who holds the lock. When another run holds it, or something fails, that
    is yielded and the look is made up for later. Raises AppError when the very first look fails for
    another reason: the same would happen for ever.
    """
    wait_s = _RETRY_S
    is_first = True
    for batch in watcher.batches():
        try:
            report, known = _look(paths, env, what, clients, listen)
        except AppError as error:
            if is_first and not isinstance(error, Busy):
                raise
            watcher.ask_again(wait_s)
            wait_s = min(wait_s * 2, _RETRY_MAX_S)
            yield Update(at=now(), batch=batch, put_off=error.message)
            continue
        wait_s, is_first = _RETRY_S, False
        watcher.tell_news(found=bool(report.files_read))
        yield Update(at=now(), batch=batch, report=report, known=known)


def _look(
    paths: Paths, env: Mapping[str, str], what: str, clients: Collection[str], listen: Listener
) -> tuple[HarvestReport, int]:
    settings = load(paths.config).harvest
    with closing(connect(paths.database)) as connection, explained(paths.database), hold(paths, what):
        report = update_index(
            connection,
            env,
            snapshots=paths.snapshots,
            listen=listen,
            clients=clients or settings.clients,
            roots=read_roots(settings.roots, find_home(env)),
        )
        return report, sum(count_sessions(connection).values())
