"""Telling about a night: the webhook when it has ended, the desktop when it is morning."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from skillopt_sleep.daemon.announcing import make_brief, notify_desktop, post_webhook, say
from skillopt_sleep.daemon.keeper import Keeper
from skillopt_sleep.daemon.settings import LiveSettings
from skillopt_sleep.hours import parse_hours

if TYPE_CHECKING:
    from skillopt_sleep.daemon.logbook import Logbook

NEW, SENT = "new", "sent"


class Morning:
    """What is to be told stays in the schedule until it was."""

    def __init__(
        self, connection: sqlite3.Connection, settings: LiveSettings, keeper: Keeper, log: Logbook
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._keeper = keeper
        self._log = log

    def send(self) -> None:
        """Send the figures of a night that has just ended to the webhook, if there is one."""
        if self._keeper.schedule.announce != NEW:
            return
        self._keep(SENT)
        url = self._settings.current.service.webhook
        brief = make_brief(self._connection)
        if url and brief is not None:
            post_webhook(url, brief, lambda said: self._log.warn("webhook", error=said))

    def tell(self, now: datetime) -> None:
        """Notify the desktop once the window is over."""
        rules = self._settings.current.service
        if self._keeper.schedule.announce != SENT or parse_hours(rules.window).holds(now):
            return
        self._keep("")
        brief = make_brief(self._connection)
        if rules.notify and brief is not None:
            trouble = notify_desktop(say(brief))
            if trouble:
                self._log.warn("notification", error=trouble)

    def _keep(self, state: str) -> None:
        self._keeper.change(msgspec.structs.replace(self._keeper.schedule, announce=state))
