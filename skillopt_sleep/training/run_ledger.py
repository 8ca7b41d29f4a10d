"""The ledger of a run: every paid call in one SQLite file, so that a killed run pays for none twice."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skillopt_replay.account import Account
from skillopt_replay.attempts import listening
from skillopt_replay.errors import ServiceRefused
from skillopt_replay.exclusive import Exclusive
from skillopt_replay.ledger import find_refusal, find_told, is_infrastructure_failure
from skillopt_replay.rollouts import Usage
from skillopt_sleep.patience import keep, patiently
from skillopt_sleep.training.contract import TrainingError

if TYPE_CHECKING:
    from skillopt_replay.protocols import PricedT

_IMPATIENT_MS = 500  # once it is open: who waits for a call can do that in a better way
_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    state TEXT NOT NULL,
    usage BLOB NOT NULL,
    told BLOB,
    result BLOB
);
CREATE UNIQUE INDEX IF NOT EXISTS paid ON calls (kind, key) WHERE state = 'done';
"""


class RunLedger:
    """Implements Ledger on a file; results stay on disk, so memory does not grow with the run.

    Ceilings hold for the file, over all processes that worked on it one after the other; None or 0 means no
    ceiling. A call without a known price counts with its estimate. What a killed process had under way, or
    was cut off, is "lost": it counts with its estimate as well, and by what it may have passed that.
    """

    def __init__(
        self,
        path: Path,
        *,
        max_usd: float | None = None,
        max_tokens: int | None = None,
        max_calls: int | None = None,
    ) -> None:
        self._account = Account(max_usd=max_usd, max_tokens=max_tokens, max_calls=max_calls)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._connection = sqlite3.connect(path, isolation_level=None)
        with self._explained():
            self._connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;" + _SCHEMA)
            self._upgrade()
            self._connection.execute("UPDATE calls SET state = 'lost' WHERE state = 'started'")
            self._connection.execute(f"PRAGMA busy_timeout = {_IMPATIENT_MS}")
        for kind, usage, told in self._connection.execute("SELECT kind, usage, told FROM calls"):
            self._account.add(kind, _decode(usage), _decode(told) if told else None)
        self._under_way = Exclusive()
        self._refused: ServiceRefused | None = None

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @property
    def spent(self) -> Usage:
        """What the ended calls cost and the running ones may cost."""
        return self._account.spent

    @property
    def calls(self) -> int:
        """How many calls were started, failed ones included."""
        return self._account.calls

    async def once(
        self,
        kind: str,
        key: str,
        estimate: Usage,
        make: Callable[[], Awaitable[PricedT]],
        result_type: type[PricedT],
    ) -> PricedT:
        """Return the stored result, or pay for a new one; see Ledger.

        Raises CeilingReached, ServiceRefused, and TrainingError when the file cannot be written.
        """
        async with self._under_way.hold((kind, key)):
            return await self._once(kind, key, estimate, make, result_type)

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
        number = await self._account.admit(kind, estimate, self._refuse)
        try:
            row_id = await self._begin(kind, key, self._account.find_estimate(number))
        except BaseException:
            # It is never made; those that wait for what it takes would wait for ever.
            self._account.close(number, Usage(cost_usd=0.0))
            raise

        cut: Usage | None = None

        def note(usage: Usage | None) -> None:
            nonlocal cut
            cut = usage

        async def again(usage: Usage | None, why: str, bound: Usage | None) -> None:
            nonlocal number, row_id
            note(None)
            number, spent = self._account.begin_another(number, usage, bound)
            state = "failed" if usage else "lost"
            with self._explained():
                await patiently(lambda: self._close(row_id, state, spent, usage))
            row_id = await self._begin(kind, key, self._account.find_estimate(number))

        async def widen(bound: Usage) -> None:
            nonlocal number
            before, number = number, self._account.widen(number, bound)
            if number != before:
                with self._explained():
                    await patiently(lambda: self._reserve(row_id, self._account.find_estimate(number)))

        try:
            with listening(again, widen, note):
                result = await make()
        except BaseException:
            # What a call that was cut off has cost is not known, unless it could still tell; nor is it of
            # one that stays "started".
            spent = self._account.close(number, cut)
            with contextlib.suppress(sqlite3.OperationalError):
                self._close(row_id, "lost" if cut is None else "failed", spent, cut)
            raise
        failed = is_infrastructure_failure(result)
        refused = find_refusal(kind, result)
        if refused is not None:
            self._refused = refused
        told = find_told(result)
        spent = self._account.close(number, told)
        state = "done" if not failed else "lost" if told is None else "failed"
        stored = None if failed else msgspec.json.encode(result)
        with self._explained():
            await keep(lambda: self._close(row_id, state, spent, told, stored))
        if refused is not None:
            raise refused
        return result

    def _refuse(self) -> None:
        if self._refused is not None:
            raise self._refused

    async def _begin(self, kind: str, key: str, estimate: Usage) -> int:
        row_id = 0

        def write() -> None:
            nonlocal row_id
            cursor = self._connection.execute(
                "INSERT INTO calls (kind, key, state, usage) VALUES (?, ?, 'started', ?)",
                (kind, key, msgspec.json.encode(estimate)),
            )
            row_id = int(cursor.lastrowid or 0)

        with self._explained():
            await patiently(write)
        return row_id

    def _reserve(self, row_id: int, estimate: Usage) -> None:
        change = "UPDATE calls SET usage = ? WHERE id = ?"
        self._connection.execute(change, (msgspec.json.encode(estimate), row_id))

    def _close(
        self, row_id: int, state: str, usage: Usage, told: Usage | None, result: bytes | None = None
    ) -> None:
        self._connection.execute(
            "UPDATE calls SET state = ?, usage = ?, told = ?, result = ? WHERE id = ?",
            (state, msgspec.json.encode(usage), told and msgspec.json.encode(told), result, row_id),
        )

    def _upgrade(self) -> None:
        """In a file of an earlier version nothing says what calls told: it was what they count with."""
        if any(column[1] == "told" for column in self._connection.execute("PRAGMA table_info(calls)")):
            return
        self._connection.executescript(
            "BEGIN IMMEDIATE; ALTER TABLE calls ADD COLUMN told BLOB;"
            " UPDATE calls SET told = usage WHERE state IN ('done', 'failed'); COMMIT;"
        )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn SQLite's errors (a damaged file, a full disk) into a TrainingError."""
        try:
            yield
        except sqlite3.Error as error:
            raise TrainingError(
                f"cannot use the ledger {self._path}: {error}",
                hint="free some disk space and start the same command again: what was finished is kept. When"
                " the file is damaged for good, move it away: what was paid for is forgotten",
            ) from error


def _decode(usage: bytes) -> Usage:
    return msgspec.json.decode(usage, type=Usage)
