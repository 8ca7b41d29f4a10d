"""Starts the model server as a child process, waits until it answers, and ends it."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import secrets
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec
import psutil

from skillopt_replay.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

STOP_S = 5.0
_SERVER = "skillopt_replay.models.local_server"
_SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the server runs. `context_per_slot` is in tokens; the slots share the sum of it.

    `threads` None means one for each physical core this process may use. `reuse_prefix` keeps what
    consecutive prompts of a slot have in common. `ready_s` bounds loading, `reply_s` one reply.
    """

    slots: int = 4
    context_per_slot: int = 3072
    threads: int | None = None
    reuse_prefix: bool = True
    ready_s: float = 180.0
    reply_s: float = 600.0


class Server:
    """One child process; `key` is what its clients must show."""

    def __init__(self, path: Path, name: str, settings: ServerSettings) -> None:
        self.key = secrets.token_urlsafe(24)
        self._path = path
        self._name = name
        self._settings = settings
        self._process: asyncio.subprocess.Process | None = None
        self._log: IO[bytes] | None = None
        self._words = "no message"

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def start(self) -> str:
        """Return the server's address once it answers. Raises Unavailable."""
        require_runtime()
        _require_memory(self._path)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        command = [sys.executable, "-m", _SERVER, str(self._path.resolve())]
        command += ["--alias", self._name, "--slots", str(self._settings.slots)]
        command += ["--context", str(self._settings.slots * self._settings.context_per_slot)]
        command += ["--threads", str(self._settings.threads or count_cores())]
        self._process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=self._log,
            env=_child_environment(os.environ),
            # Python looks for modules where it is started: that is some project, whose names are anybody's.
            cwd="/",
            start_new_session=True,
        )
        deadline = time.monotonic() + self._settings.ready_s
        url = await self._read_address()
        await self._wait_until_ready(url, deadline)
        return url

    async def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            if process.stdin is not None:
                process.stdin.close()
            try:
                await asyncio.wait_for(process.wait(), STOP_S)
            except asyncio.TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if self._log is not None:
            self._words = self.last_words()
            self._log.close()
            self._log = None

    def last_words(self) -> str:
        """Return the last line the server wrote to standard error."""
        if self._log is None:
            return self._words
        self._log.seek(0, os.SEEK_END)
        self._log.seek(max(self._log.tell() - 4000, 0))
        lines = self._log.read().decode("utf-8", "replace").split("\n")
        told = [line.strip() for line in lines if line.strip()]
        return told[-1][:300] if told else self._words

    async def _read_address(self) -> str:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise Unavailable("the local model's server was not started")
        line = b""
        with contextlib.suppress(ConnectionError):  # it may be gone already; then the line is empty
            process.stdin.write(self.key.encode() + b"\n")
            await process.stdin.drain()
        with contextlib.suppress(asyncio.TimeoutError):
            line = await asyncio.wait_for(process.stdout.readline(), self._settings.ready_s)
        try:
            return str(msgspec.json.decode(line)["url"])
        except (msgspec.DecodeError, KeyError, TypeError) as error:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(process.wait(), 1.0)
            code = process.returncode
            how = f"ended with code {code}" if code is not None else "did not load the model in time"
            raise Unavailable(
                f"the local model's server {how}: {self.last_words()}",
                hint=f"is {self._path} a complete GGUF file, and is there memory for it?",
            ) from error

    async def _wait_until_ready(self, url: str, deadline: float) -> None:
        import httpx2

        async with httpx2.AsyncClient(trust_env=False, timeout=5.0) as client:
            while time.monotonic() < deadline and self.alive:
                with contextlib.suppress(httpx2.TransportError):
                    if (await client.get(f"{url}/health")).status_code == 200:
                        return
                await asyncio.sleep(0.1)
        raise Unavailable(f"the local model's server did not become ready: {self.last_words()}")


def require_runtime() -> None:
    """Raise Unavailable when the inference runtime is not installed."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise Unavailable(
            "local models need the package xllamacpp", hint="pip install 'skillopt-sleep[local]'"
        )


def count_cores() -> int:
    """Return the physical cores this process may use; hyper-threads make llama.cpp slower, not faster."""
    physical = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else physical
    return max(min(physical, allowed), 1)


def _require_memory(path: Path) -> None:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise Unavailable(f"{path}: {error.strerror or error}") from error
    # The weights, a copy of most of them laid out for the processor, and the context.
    needed = int(size * 1.5) + 300_000_000
    free = psutil.virtual_memory().available
    if free < needed:
        raise Unavailable(
            f"{path.name} needs {needed / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are free",
            hint="close something, or choose a smaller model",
        )


def _child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without anything that looks like a secret: the server needs none."""
    kept = {k: v for k, v in environment.items() if not any(word in k.upper() for word in _SECRET_WORDS)}
    # Otherwise OpenMP's threads spin while they wait and take the cores from everything else.
    kept["OMP_WAIT_POLICY"] = "PASSIVE"
    return kept
