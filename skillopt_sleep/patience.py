"""Waiting for a database that another program holds, or whose disk is full, without holding up anything else.

Calls that are under way were paid for, and are to be kept to their limits meanwhile: so nothing is waited for
in SQLite itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

# In seconds, before what was paid for is given up.
_WAITS_S = (0.5, 1, 2, 4, 8, 15, 30, 60)


async def patiently(act: Callable[[], Awaitable[None] | None]) -> None:
    """Do it, once more after a while where the database refuses it; raises what it raised last."""
    for wait in (*_WAITS_S, None):
        try:
            doing = act()
            if doing is not None:
                await doing
        except sqlite3.OperationalError:
            if wait is None:
                raise
            await asyncio.sleep(wait)
        else:
            return


async def keep(act: Callable[[], None]) -> None:
    """Write down what was paid for, patiently; when cancelled meanwhile, once more at once."""
    try:
        await patiently(act)
    except asyncio.CancelledError:
        # What cannot be written now either goes on counting as one that was cut off.
        with contextlib.suppress(sqlite3.OperationalError):
            act()
        raise
