"""The ledger of a run: every paid call in one SQLite file, so that a killed run pays for none twice."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skillopt_replay.attempts import listening
from skillopt_replay.errors import CeilingReached, ServiceRefused
from skillopt_replay.ledger import find_refusal, is_infrastructure_failure
from skillopt_replay.rollouts import Usage

if TYPE_CHECKING:
    from skillopt_replay.protocols import PricedT

_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    state TEXT NOT NULL,
    usage BLOB NOT NULL,
    result BLOB
);
CREATE UNIQUE INDEX IF NOT EXISTS paid ON calls (kind, key) WHERE state = 'done';
"""


class _Lock:
    """A lock, and how many hold it or wait for it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.wanted = 0


class RunLedger:
    """Implements Ledger on a file; results stay on disk, so memory does not grow with the run.

    Ceilings hold for the file, over all processes that worked on it one after the other; None or 0 means no
    ceiling. A call without a known price counts with its estimate. What a killed process had under way
    counts with its estimate as well.
    """

    def __init__(
        self,
        path: Path,
        *,
        max_usd: float | None = None,
        max_tokens: int | None = None,
        max_calls: int | None = None,
    ) -> None:
        self._max_usd, self._max_tokens, self._max_calls = max_usd, max_tokens, max_calls
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;" + _SCHEMA)
        self._connection.execute("UPDATE calls SET state = 'failed' WHERE state = 'started'")
        self._calls, self._spent = 0, Usage()
        for (usage,) in self._connection.execute("SELECT usage FROM calls"):
            self._calls += 1
            self._spent = self._spent.plus(msgspec.json.decode(usage, type=Usage))
        self._running: dict[int, Usage] = {}
        self._locks: dict[tuple[str, str], _Lock] = {}
        self._refused: ServiceRefused | None = None

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @property
    def spent(self) -> Usage:
        """What the ended calls cost and the running ones may cost."""
        total = self._spent
        for estimate in self._running.values():
            total = total.plus(estimate)
        return total

    @property
    def calls(self) -> int:
        """How many calls were started, failed ones included."""
        return self._calls

    async def once(
        self,
        kind: str,
        key: str,
        estimate: Usage,
        make: Callable[[], Awaitable[PricedT]],
        result_type: type[PricedT],
    ) -> PricedT:
        """Return the stored result, or pay for a new one; see Ledger.

        Raises CeilingReached, ServiceRefused.
        """
        own = self._locks.setdefault((kind, key), _Lock())
        own.wanted += 1
        try:
            async with own.lock:
                return await self._once(kind, key, estimate, make, result_type)
        finally:
            own.wanted -= 1
            if not own.wanted:
                # Kept for good, the locks would be all that grows with a run.
                del self._locks[kind, key]

    async def _once(
        self,
        kind: str,
        key: str,
        estimate: Usage,
        make: Callable[[], Awaitable[PricedT]],
        result_type: type[PricedT],
    ) -> PricedT:
        row = self._connection.execute(
            "SELECT result FROM calls WHERE kind = ? AND key = ? AND state = 'done'", (kind, key)
        ).fetchone()
        if row is not None:
            return msgspec.json.decode(row[0], type=result_type)
        if self._refused is not None:
            raise self._refused
        number = self._reserve(kind, key, estimate)

        def again(usage: Usage | None, why: str) -> None:
            nonlocal number
            after = self._reserve(kind, key, estimate)
            self._close(number, "failed", _priced(usage or estimate, estimate))
            number = after

        try:
            with listening(again):
                result = await make()
        except BaseException:
            # What a call that was cut off has cost is not known.
            self._close(number, "failed", estimate)
            raise
        usage = _priced(result.usage, estimate)
        failed = is_infrastructure_failure(result)
        self._close(
            number, "failed" if failed else "done", usage, None if failed else msgspec.json.encode(result)
        )
        refused = find_refusal(kind, result)
        if refused is not None:
            self._refused = refused
            raise refused
        return result

    def _reserve(self, kind: str, key: str, estimate: Usage) -> int:
        after = self.spent.plus(estimate)
        if self._max_calls and self._calls + 1 > self._max_calls:
            raise CeilingReached(f"the ceiling of {self._max_calls} calls is reached")
        if self._max_usd and (after.cost_usd or 0.0) > self._max_usd + 1e-9:
            raise CeilingReached(
                f"the next call could bring the cost to ${after.cost_usd:.2f}, above ${self._max_usd:.2f}"
            )
        if self._max_tokens and after.tokens > self._max_tokens:
            raise CeilingReached(
                f"the next call could bring the tokens to {after.tokens}, above {self._max_tokens}"
            )
        cursor = self._connection.execute(
            "INSERT INTO calls (kind, key, state, usage) VALUES (?, ?, 'started', ?)",
            (kind, key, msgspec.json.encode(estimate)),
        )
        number = int(cursor.lastrowid or 0)
        self._calls += 1
        self._running[number] = estimate
        return number

    def _close(self, number: int, state: str, usage: Usage, result: bytes | None = None) -> None:
        del self._running[number]
        self._spent = self._spent.plus(usage)
        self._connection.execute(
            "UPDATE calls SET state = ?, usage = ?, result = ? WHERE id = ?",
            (state, msgspec.json.encode(usage), result, number),
        )


def _priced(usage: Usage, estimate: Usage) -> Usage:
    """Return the usage with a cost: the estimate's where it tells none."""
    if usage.cost_usd is not None:
        return usage
    return msgspec.structs.replace(usage, cost_usd=estimate.cost_usd)
