"""The daemon itself: one thread that decides, told by others what happens."""

from __future__ import annotations

import queue
import sqlite3
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from skillopt_sleep.clock import now as stamp
from skillopt_sleep.clock import parse as parse_time
from skillopt_sleep.daemon.clockwork import TICK_S, Clockwork
from skillopt_sleep.daemon.happenings import account, note_done, note_start, note_stop
from skillopt_sleep.daemon.indexing import Indexing
from skillopt_sleep.daemon.keeper import Keeper
from skillopt_sleep.daemon.messages import (
    Indexed,
    Look,
    Message,
    NightEnded,
    Notice,
    Reload,
    Stop,
    Tick,
    Trouble,
)
from skillopt_sleep.daemon.morning import Morning
from skillopt_sleep.daemon.night_watch import NightWatch
from skillopt_sleep.daemon.orders import obey
from skillopt_sleep.daemon.schedule import foresee, is_paused, mend_clock
from skillopt_sleep.daemon.settings import LiveSettings
from skillopt_sleep.errors import AppError
from skillopt_sleep.paths import Paths
from skillopt_sleep.period import as_local
from skillopt_sleep.store.nights import find_last_done
from skillopt_sleep.store.service import Telling, has_commands, read_commands, save_telling, take_commands

if TYPE_CHECKING:
    from skillopt_sleep.daemon.logbook import Logbook
    from skillopt_sleep.daemon.notifying import Notifier

# A termination must not wait for somebody else's hold on the database.
_BUSY_MS = 2000
_BY_NOW_S = 7.0


class Daemon:
    """Keeps the index fresh and works nights, until it is told to stop.

    With `once` it only asks whether a night is due, works it, and ends. `post` may be called from any thread
    and from signal handlers.
    """

    def __init__(
        self,
        paths: Paths,
        env: Mapping[str, str],
        connection: sqlite3.Connection,
        log: Logbook,
        notifier: Notifier,
        *,
        once: bool = False,
    ) -> None:
        connection.execute(f"pragma busy_timeout = {_BUSY_MS}")
        self._connection = connection
        self._log = log
        self._notifier = notifier
        self._once = once
        self._messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._settings = LiveSettings(paths.config)
        self._keeper = Keeper(connection, _now())
        self._indexing = None if once else Indexing(paths, env, self.post)
        self._watch = NightWatch(
            paths, env, connection, self._settings, self._keeper, self._indexing, log, self.post
        )
        self._morning = Morning(connection, self._settings, self._keeper, log)
        self._calm_at = 0.0
        self._alive_at = 0.0
        self._error = ""
        self._told: Telling | None = None

    def post(self, message: Message) -> None:
        """Tell the daemon something."""
        self._messages.put(message)

    @property
    def outcome(self) -> str:
        """Say what came of the night, or why none was worked."""
        doing = f", {self._told.doing}" if self._told else ""
        return self._error or self._watch.outcome or f"no night is due{doing}"

    def run(self) -> int:
        """Work until stopped; return the exit code."""
        schedule, delay_s = note_start(self._keeper.schedule, _now())
        self._keeper.change(schedule)
        self._calm_at = time.monotonic() + delay_s
        self._notifier.ready()
        self._log.info("started", waits_s=f"{delay_s:.0f}", once=self._once)
        # What was asked while nobody was there comes first.
        self.post(Look())
        clockwork = Clockwork(lambda: self.post(Tick()), lambda: self.post(Look()))
        clockwork.start()
        why = "done"
        try:
            while True:
                try:
                    message = self._messages.get(timeout=2 * TICK_S)
                except queue.Empty:
                    # Nobody calls: the clock was set back.
                    clockwork.set_right()
                    message = Tick()
                if isinstance(message, Stop):
                    why = message.why
                    break
                self._handle(message)
                if self._once and self._is_through(message):
                    break
        finally:
            clockwork.stop()
            self._end(why)
        if self._once:
            return 1 if self._error else self._watch.exit_code
        return 0

    def _is_through(self, message: Message) -> bool:
        asked = isinstance(message, (Tick, NightEnded)) and time.monotonic() >= self._calm_at
        return asked and not self._watch.is_working

    def _handle(self, message: Message) -> None:
        """Act on a message; what the disk or the database refuses is told once, and tried again later."""
        if self._notifier.every_s and time.monotonic() >= self._alive_at:
            self._notifier.alive()
            self._alive_at = time.monotonic() + self._notifier.every_s / 2
        if time.monotonic() < self._calm_at:
            return
        try:
            if self._indexing is not None:
                self._indexing.start()
            self._act(message)
        except (AppError, sqlite3.Error, OSError) as error:
            said = error.message if isinstance(error, AppError) else f"{type(error).__name__}: {error}"
            if said != self._error:
                self._log.error("trouble", error=said)
                self._notifier.status(f"in trouble: {said}")
            self._error = said
            return
        if isinstance(message, Tick) and self._error:
            self._error = ""
            self._log.info("trouble-over")

    def _act(self, message: Message) -> None:
        if isinstance(message, Tick):
            self._tick()
        elif isinstance(message, Look):
            self._look()
        elif isinstance(message, Indexed):
            self._note_indexed(message)
        elif isinstance(message, NightEnded):
            self._watch.end(message, _now())
            self._morning.send()
            self._tell(_now())
        elif isinstance(message, Trouble):
            self._log.warn("index-put-off", reason=message.message)
        elif isinstance(message, Notice):
            self._log.info("notice", said=message.message)
        elif isinstance(message, Reload):
            self._settings.refresh(force=True)
            self._begin_anew()
            self._tick()

    def _tick(self) -> None:
        if hasattr(time, "tzset"):
            time.tzset()  # the zone may be another one than when we started
        if self._settings.refresh():
            self._begin_anew()
        now = _now()
        rules = self._settings.current.service
        was_working = self._watch.is_working
        if was_working:
            # First, as a full disk must not keep a night going.
            self._watch.tick(now)
        schedule = mend_clock(self._keeper.schedule, now)
        ended = find_last_done(self._connection)
        if ended is not None:
            schedule = note_done(schedule, parse_time(ended))
        schedule, outcomes = account(schedule, rules, now)
        self._keeper.change(schedule, outcomes)
        for outcome in outcomes:
            self._log.info("window-over", window=outcome.window, state=outcome.state, reason=outcome.reason)
        if not was_working:
            self._watch.tick(now)
        self._morning.tell(now)
        self._tell(now)

    def _look(self) -> None:
        self._watch.look()
        if not has_commands(self._connection):
            return
        commands = read_commands(self._connection)
        for command in commands:
            rules = self._settings.current.service
            schedule, said = obey(self._keeper.schedule, rules, command.name, command.argument, _now())
            self._keeper.change(schedule)
            self._log.info("order", name=command.name, done=said)
        self._tick()
        # Last, so that whoever asked finds it done.
        take_commands(self._connection, commands[-1].id)

    def _note_indexed(self, message: Indexed) -> None:
        update = message.update
        if self._watch.waiting:
            # The reading may have been what it waited for.
            self.post(Tick())
        if update.report is None:
            self._log.info("index-put-off", reason=update.put_off)
            return
        report = update.report
        if report.sessions and update.batch.reason == "change":
            self._watch.note_activity(_now())
        if report.files_read:
            self._log.info(
                "indexed",
                reason=update.batch.reason,
                files=report.files_read,
                sessions=report.sessions,
                known=update.known,
            )

    def _begin_anew(self) -> None:
        if self._settings.trouble:
            self._log.error("settings", error=self._settings.trouble)
        else:
            self._log.info("settings", said="read anew")
        self._notifier.reloading()
        if self._indexing is not None:
            self._indexing.renew()

    def _tell(self, now: datetime) -> None:
        schedule = self._keeper.schedule
        if self._watch.is_working:
            doing = "working a night"
        elif is_paused(schedule, now):
            doing = "paused"
        elif self._watch.waiting:
            doing = f"a night is due and waits: {self._watch.waiting}"
        else:
            at = foresee(schedule, self._settings.current.service, now)
            doing = f"next night {as_local(at.strftime('%Y-%m-%dT%H:%M:%SZ'))}"
        self._notifier.status(doing)
        if self._told is None or self._told.doing != doing:
            self._told = Telling(doing=doing, since=stamp(), waiting=self._watch.waiting)
            save_telling(self._connection, self._told)

    def _end(self, why: str) -> None:
        """Save everything and leave nothing running, within ten seconds."""
        self._notifier.stopping()
        if self._watch.is_working:
            self._watch.stop_all(self._messages, _BY_NOW_S, why)
        if self._indexing is not None:
            self._indexing.stop(1.0)
        try:
            self._keeper.change(note_stop(self._keeper.schedule))
            save_telling(self._connection, Telling(doing="stopped", since=stamp()))
        except sqlite3.Error as error:
            self._log.error("trouble", error=str(error))
        self._log.info("stopped", why=why)


def _now() -> datetime:
    return datetime.now(timezone.utc)
