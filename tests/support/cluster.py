"""A Dask cluster on loopback: scheduler and workers are processes of their own."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
_SCHEDULER = ("dask_scheduler", "--host", "127.0.0.1")


class Cluster:
    """A scheduler and workers as processes of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._children: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []
        file = folder / "scheduler.json"
        self._scheduler = self._start(*_SCHEDULER, "--port", "0", "--scheduler-file", str(file))
        self.address = self._wait_for(file)

    def _start(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        env = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ["PYTHONPATH"]]),
            "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s",
        }
        with (self._folder / f"{program}-{len(self._children)}.log").open("wb") as log:
            child = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{program}", *arguments, "--no-dashboard"],
                cwd=self._folder, env=env, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self._children.append(child)
        return child

    def _wait_for(self, file: Path) -> str:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with contextlib.suppress(FileNotFoundError, ValueError, AttributeError):
                return re.search(r"tcp://[\d.]+:\d+", file.read_text()).group()
            time.sleep(0.05)
        logs = "\n".join(path.read_text() for path in self._folder.glob("*.log"))
        raise TimeoutError(f"the scheduler did not start:\n{logs}")

    def add_worker(self) -> subprocess.Popen[bytes]:
        worker = self._start(
            "dask_worker", self.address, "--host", "127.0.0.1", "--nthreads", "2", "--no-nanny",
            "--local-directory", str(self._folder / "worker"),
        )  # fmt: skip
        self.workers.append(worker)
        return worker

    def kill_scheduler(self) -> None:
        self._scheduler.kill()
        self._scheduler.wait()

    def start_scheduler_again(self) -> None:
        self._scheduler = self._start(*_SCHEDULER, "--port", self.address.rpartition(":")[2])

    def joined(self) -> int:
        """Return how many workers the scheduler has taken in, those that left since included."""
        return sum("Registered" in path.read_text() for path in self._folder.glob("*.log"))

    def stop(self) -> None:
        # A worker whose scheduler is gone waits for it.
        for child in reversed(self._children):
            child.terminate()
            try:
                child.wait(20)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
