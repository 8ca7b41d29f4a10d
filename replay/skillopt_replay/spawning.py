"""Starts a child by asyncio, where there is no launchpad to start it from."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, cast

from skillopt_replay.hearing import Ears, open_sealed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from skillopt_replay.hearing import Hearer


class Spawned(asyncio.SubprocessProtocol):
    """A child: its process id, and its exit code once it has one. What it tells goes on to `hearer`."""

    def __init__(self, hearer: Hearer) -> None:
        self._hearer = hearer
        self._transport: asyncio.SubprocessTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)

    @property
    def pid(self) -> int:
        return self._transport.get_pid()

    @property
    def returncode(self) -> int | None:
        return self._transport.get_returncode()

    def feed(self, data: bytes) -> None:
        """Write it to the standard input, and close that."""
        pipe = self._transport.get_pipe_transport(0)
        if isinstance(pipe, asyncio.WriteTransport):
            if data:
                pipe.write(data)
            pipe.close()

    def close(self) -> None:
        """Let go of all that is open."""
        self._transport.close()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._hearer.pipe_data_received(fd, data)

    def process_exited(self) -> None:
        self._hearer.process_exited()

    def connection_lost(self, exc: Exception | None) -> None:
        self._hearer.connection_lost(exc)


class Sealed(Spawned):
    """A child whose outputs are read from sockets, which asyncio does not make for one."""

    def __init__(self, hearer: Hearer, outputs: tuple[int, int]) -> None:
        super().__init__(hearer)
        self._ears = Ears(outputs, hearer, self._conclude)
        self._is_lost = False

    def close(self) -> None:
        super().close()
        self.deafen()

    def deafen(self) -> None:
        self._ears.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_lost = True
        self._conclude()

    def _conclude(self) -> None:
        if self._is_lost and self._ears.are_closed:
            self._hearer.connection_lost(None)


async def spawn(
    command: Sequence[str], *, cwd: Path, env: Mapping[str, str], hearer: Hearer, is_sealed: bool
) -> Spawned:
    """Start a child in a session of its own; `is_sealed` as in `process.run`. Raises OSError."""
    loop = asyncio.get_running_loop()
    if not is_sealed:
        _, spawned = await loop.subprocess_exec(
            lambda: Spawned(hearer), *command, cwd=cwd, env=dict(env), start_new_session=True
        )
        return spawned
    (out, to_out), (err, to_err) = open_sealed(), open_sealed()
    sealed = Sealed(hearer, (out, err))
    try:
        await loop.subprocess_exec(
            lambda: sealed, *command, cwd=cwd, env=dict(env), stdout=to_out, stderr=to_err,
            start_new_session=True,
        )  # fmt: skip
    except BaseException:
        sealed.deafen()
        raise
    finally:
        os.close(to_out)
        os.close(to_err)
    return sealed
