"""Cuts calls off while their client is at work."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path

import pytest

from skillopt_replay.ledger import MemoryLedger
from skillopt_replay.protocols import Completion
from skillopt_replay.rollouts import Usage


async def cut_off(call: Awaitable[object], waiting: Path) -> None:
    """Cancel a call in good order once its client has made the file `waiting`, and all it told is read."""
    task = asyncio.ensure_future(call)
    while not waiting.exists():
        await asyncio.sleep(0.01)
        assert not task.done(), task.result()
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def ask_once_more(ledger: MemoryLedger, most: Usage) -> None:
    """Have the ledger begin another call of the optimizer that may use so much; it uses hardly anything."""

    async def answer() -> Completion:
        return Completion(text="", model="m", usage=Usage(input_tokens=1, cost_usd=0.0), seconds=0.0)

    await ledger.once("optimizer", "another", most, answer, Completion)
