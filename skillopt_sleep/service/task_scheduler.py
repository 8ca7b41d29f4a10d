"""The Windows Task Scheduler: a task of the user's own."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from skillopt_sleep.service.definition import Service
from skillopt_sleep.service.programs import Told, call
from skillopt_sleep.service.task_xml import write_task

TASK = "SkillOpt-Sleep"


class TaskScheduler:
    """A task made of an XML file in our own folder, driven by `schtasks`."""

    name = "Task Scheduler"

    def __init__(self, env: Mapping[str, str], folder: Path) -> None:
        self.file = folder / "service.xml"
        domain, user = env.get("USERDOMAIN", ""), env.get("USERNAME", "")
        self._user = f"{domain}\\{user}" if domain else user

    def write(self, service: Service) -> dict[Path, bytes]:
        return {self.file: write_task(service, self._user)}

    def enable(self, mode: str, *, changed: bool) -> None:
        if changed:
            call("schtasks", "/Create", "/TN", TASK, "/XML", str(self.file), "/F")
        self.start(mode)

    def disable(self, mode: str) -> None:
        if self.describe(mode) != "not installed":
            self.stop(mode)
            call("schtasks", "/Delete", "/TN", TASK, "/F")

    def forget(self) -> None:
        """Leave nothing behind: a deleted task is gone."""

    def start(self, mode: str) -> None:
        call("schtasks", "/Run", "/TN", TASK)

    def stop(self, mode: str) -> None:
        if self.describe(mode) == "running":
            call("schtasks", "/End", "/TN", TASK)

    def describe(self, mode: str) -> str:
        try:
            told = call("schtasks", "/Query", "/TN", TASK, "/FO", "CSV", "/NH")
        except Told:
            return "not installed"
        rows = [row for row in csv.reader(told.splitlines()) if row]
        return rows[0][-1].lower() if rows else "unknown"

    def advise(self, mode: str) -> tuple[str, ...]:
        return ("the task starts when you log on and runs while you are logged on",)

    def log_command(self, lines: int, *, follow: bool) -> tuple[str, ...] | None:
        return None
