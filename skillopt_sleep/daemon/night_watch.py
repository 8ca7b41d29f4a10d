"""Beginning a night when it may, and ending it when it must."""

from __future__ import annotations

import queue
import sqlite3
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import msgspec

from skillopt_sleep.daemon.conditions import find_disturbance, find_obstacle
from skillopt_sleep.daemon.happenings import End, begin, finish, wait
from skillopt_sleep.daemon.indexing import Indexing
from skillopt_sleep.daemon.keeper import Keeper
from skillopt_sleep.daemon.machine import ThisMachine
from skillopt_sleep.daemon.messages import Message, NightEnded
from skillopt_sleep.daemon.night_process import NightProcess
from skillopt_sleep.daemon.schedule import Work, find_due, is_paused
from skillopt_sleep.daemon.settings import LiveSettings
from skillopt_sleep.errors import AppError
from skillopt_sleep.paths import Paths
from skillopt_sleep.service.definition import find_program
from skillopt_sleep.watching import Root
from skillopt_sleep.watching.freshness import list_roots

if TYPE_CHECKING:
    from skillopt_sleep.daemon.logbook import Logbook

# Worked, nothing to do, a ceiling reached: there is nothing left for tonight.
_DONE = frozenset({0, 3, 5})
_BUSY = 75
_READING = "the transcripts are being read"
_INTERRUPTED = frozenset({130, -2, -15})


class NightWatch:
    """The night, whether one works or not. `waiting` says why the one that is due does not begin.

    `outcome` is what became of the last one that was due, "" while none was.
    """

    def __init__(
        self,
        paths: Paths,
        env: Mapping[str, str],
        connection: sqlite3.Connection,
        settings: LiveSettings,
        keeper: Keeper,
        indexing: Indexing | None,
        log: Logbook,
        post: Callable[[Message], None],
    ) -> None:
        self._paths = paths
        self._env = env
        self._settings = settings
        self._keeper = keeper
        self._indexing = indexing
        self._log = log
        self._post = post
        self._machine = ThisMachine(paths, connection, self._list_roots)
        self._night: NightProcess | None = None
        self._ending: tuple[End, str] | None = None
        self.waiting = ""
        self.outcome = ""
        # Nothing is due.
        self.exit_code = 3

    @property
    def is_working(self) -> bool:
        return self._night is not None

    def note_activity(self, now: datetime) -> None:
        """Remember that somebody's session was seen to go on."""
        self._machine.note_activity(now)

    def tick(self, now: datetime) -> None:
        """Begin the night that is due if nothing is in its way, or end the one that works if it must."""
        if self._night is None:
            self._consider(now)
        elif self._ending is None:
            ending = self._find_ending(now)
            if ending is not None:
                self._ending = ending
                self._log.info("night-ends", reason=ending[1] or ending[0].value)
                self._night.stop()

    def look(self) -> None:
        """See that what should have ended has."""
        if self._night is not None:
            self._night.look()

    def end(self, message: NightEnded, now: datetime) -> None:
        """Note how the night ended."""
        night, ending = self._night, self._ending
        if night is None:
            return
        night.clear()
        self._let_read()
        end, reason = _judge(message, ending)
        self.exit_code = message.code if end is End.DONE else 1 if end is End.FAILED else _BUSY
        self.outcome = f"a night ended ({end.value}, exit code {message.code}){reason and f': {reason}'}"
        self._log.info("night-ended", end=end.value, code=message.code, reason=reason)
        self._night = self._ending = None
        schedule = finish(self._keeper.schedule, end, now, reason)
        if end is End.DONE and message.code == 0:
            schedule = msgspec.structs.replace(schedule, announce="new")
        self._keeper.change(schedule)

    def stop_all(self, messages: queue.SimpleQueue[Message], seconds: float, why: str) -> None:
        """End the night for good, in so many seconds at the most, and note how it ended."""
        night = self._night
        if night is None:
            return
        self._ending = self._ending or (End.DISTURBED, f"the service was stopped: {why}")
        night.stop()
        deadline = time.monotonic() + seconds
        ended = _wait_for_end(messages, deadline - 1.0)
        if ended is None:
            night.kill()
            ended = _wait_for_end(messages, deadline)
        try:
            self.end(ended or NightEnded(-9, ""), datetime.now(timezone.utc))
        except (sqlite3.Error, AppError) as error:
            self._log.error("trouble", error=str(error))

    def _consider(self, now: datetime) -> None:
        schedule = self._keeper.schedule
        due = find_due(schedule, self._settings.current.service, now)
        reason = self._find_reason(due, now) if due else ""
        if due and not reason and self._indexing is not None and not self._indexing.rest():
            reason = _READING
        if reason != self.waiting and due:
            self._log.info("night-due", window=due.window, waits=reason or "no more")
        self.waiting = reason
        if due is None:
            return
        if reason:
            self.exit_code = _BUSY
            self.outcome = f"a night is due and waits: {reason}"
            self._keeper.change(wait(schedule, due, reason))
        else:
            self._begin(due, now)

    def _begin(self, due: Work, now: datetime) -> None:
        try:
            self._keeper.change(begin(self._keeper.schedule, due, now))
        except BaseException:
            self._let_read()
            raise
        try:
            self._night = NightProcess(
                find_program(["run", "--json", "--leash"]), self._env, self._paths.data, self._post
            )
        except OSError as error:
            self._let_read()
            said = f"a night cannot be started: {error}"
            self._log.error("night-ended", reason=said)
            self._keeper.change(finish(self._keeper.schedule, End.FAILED, now, said))
            self.exit_code, self.outcome = 1, said
            return
        self._log.info(
            "night-began",
            window=due.window,
            pid=self._night.pid,
            kind="asked for" if due.forced else "made up for" if due.catch_up else "on time",
        )

    def _find_reason(self, due: Work, now: datetime) -> str:
        if self._settings.trouble:
            return f"the settings cannot be read: {self._settings.trouble}"
        if due.forced:
            return ""
        if is_paused(self._keeper.schedule, now):
            return "nights are paused"
        rules = self._settings.current.service
        return find_obstacle(rules, self._machine, now, catch_up=due.catch_up)

    def _find_ending(self, now: datetime) -> tuple[End, str] | None:
        schedule = self._keeper.schedule
        work = schedule.working
        if work is None:
            return End.DISTURBED, "nobody knows of it any more"
        if is_paused(schedule, now):
            return End.DISTURBED, "nights are paused"
        if work.forced:
            return None
        if schedule.settled is not None and schedule.settled >= work.start:
            return End.DISTURBED, "it is to be left out"
        if work.until is not None and now >= work.until:
            return End.WINDOW_OVER, "its window ended"
        rules = self._settings.current.service
        reason = find_disturbance(rules, self._machine, now, work.since or now)
        return (End.DISTURBED, reason) if reason else None

    def _let_read(self) -> None:
        if self._indexing is not None:
            self._indexing.go_on()

    def _list_roots(self) -> tuple[Root, ...]:
        try:
            return list_roots(self._paths, self._env)()
        except AppError:
            return ()


def _judge(message: NightEnded, ending: tuple[End, str] | None) -> tuple[End, str]:
    if message.code in _DONE:
        return End.DONE, ""
    if ending is not None:
        return ending
    if message.code == _BUSY:
        return End.BUSY, message.said or "another run works"
    if message.code in _INTERRUPTED:
        return End.DISTURBED, "somebody interrupted it"
    if message.code < 0:
        return End.FAILED, f"it was killed by signal {-message.code}"
    return End.FAILED, message.said or "it failed; its report says why"


def _wait_for_end(messages: queue.SimpleQueue[Message], deadline: float) -> NightEnded | None:
    while (left := deadline - time.monotonic()) > 0:
        try:
            message = messages.get(timeout=left)
        except queue.Empty:
            return None
        if isinstance(message, NightEnded):
            return message
    return None
