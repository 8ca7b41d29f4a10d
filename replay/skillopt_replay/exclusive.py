"""One at a time of those that ask for the same, and nothing kept of what nobody asks for any more."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Hashable


class Exclusive:
    """A lock for each name, while anybody holds it or waits for it. For the tasks of one event loop."""

    def __init__(self) -> None:
        self._locks: dict[Hashable, tuple[asyncio.Lock, int]] = {}

    def __len__(self) -> int:
        return len(self._locks)

    @asynccontextmanager
    async def hold(self, name: Hashable) -> AsyncIterator[None]:
        """Wait until nobody else holds this name, and hold it within."""
        lock, wanted = self._locks.get(name) or (asyncio.Lock(), 0)
        self._locks[name] = lock, wanted + 1
        try:
            async with lock:
                yield
        finally:
            wanted = self._locks[name][1] - 1
            if wanted:
                self._locks[name] = lock, wanted
            else:
                # Kept for good, the locks would be all that grows with a night.
                del self._locks[name]
