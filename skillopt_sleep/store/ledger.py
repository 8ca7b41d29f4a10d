"""The ledger in the database: what a night spends is written down before and after."""

from __future__ import annotations

import asyncio
import math
import sqlite3
import time
from collections.abc import Awaitable, Callable

import msgspec

from skillopt_replay.errors import CeilingReached, ServiceRefused
from skillopt_replay.ledger import find_refusal, is_infrastructure_failure
from skillopt_replay.protocols import PricedT
from skillopt_replay.rollouts import Usage
from skillopt_sleep.clock import now
from skillopt_sleep.config import Ceilings
from skillopt_sleep.store.database import transaction
from skillopt_sleep.store.spending import Spend, read_month, read_spend

_MOST_TOKENS = 1 << 40  # more than any call can use


class SqliteLedger:
    """A Ledger over the calls of one night. Safe for concurrent tasks of one event loop.

    The ceiling of the month counts the calls of all nights and trials since it began, in local time.
    """

    def __init__(self, connection: sqlite3.Connection, night: str, ceilings: Ceilings) -> None:
        self._connection = connection
        self._night = night
        self._ceilings = ceilings
        self._deadline = time.monotonic() + ceilings.minutes * 60
        self._refused: ServiceRefused | None = None
        self._running = 0
        self._ended = asyncio.Event()
        self._under_way: dict[tuple[str, str], asyncio.Lock] = {}
        self._share: set[tuple[str, str]] = set()

    async def once(
        self,
        kind: str,
        key: str,
        estimate: Usage,
        make: Callable[[], Awaitable[PricedT]],
        result_type: type[PricedT],
    ) -> PricedT:
        """Return the stored result of this call, or make it. See `skillopt_replay.protocols.Ledger`.

        Of two that ask for the same call at once, the second waits for what the first one gets. `make` must
        not ask for another: that one could wait for its end.
        """
        self._share.add((kind, key))
        async with self._under_way.setdefault((kind, key), asyncio.Lock()):
            return await self._once(kind, key, estimate, make, result_type)

    async def _once(
        self,
        kind: str,
        key: str,
        estimate: Usage,
        make: Callable[[], Awaitable[PricedT]],
        result_type: type[PricedT],
    ) -> PricedT:
        stored = self._connection.execute(
            "select result from calls where night = ? and kind = ? and key = ? and state = 'done'",
            (self._night, kind, key),
        ).fetchone()
        if stored:
            return msgspec.msgpack.decode(stored["result"], type=result_type)
        await self._admit(kind, key, estimate)
        try:
            result = await make()
        except BaseException as error:
            # The call may have spent before it died, so its reserve stays counted.
            self._close(kind, key, "failed", error=repr(error))
            raise
        else:
            problem = getattr(result, "error", None)
            state = "failed" if is_infrastructure_failure(result) else "done"
            self._close(kind, key, state, result=result, error=problem, priced=estimate.cost_usd is not None)
        finally:
            self._running -= 1
            self._ended.set()
            self._ended = asyncio.Event()
        refused = find_refusal(kind, result)
        if refused is not None:
            self._refused = refused
            raise refused
        return result

    def spend(self) -> Spend:
        """Return what the night has used so far."""
        return read_spend(self._connection, self._night)

    def begin_share(self) -> None:
        """Begin the share of what comes next, such as one skill."""
        self._share.clear()

    def usage(self) -> Usage:
        """Return what the calls of this share have used, also when an earlier run of the night made them.

        Tokens are not told apart by kind; the cost is None when a price is not known.
        """
        tokens, usd, known = 0, 0.0, True
        for row in self._connection.execute(
            "select kind, key, coalesce(tokens, reserved_tokens) tokens, coalesce(usd, reserved_usd) usd,"
            " usd is not null or reserved_usd > 0 or state <> 'done' priced from calls where night = ?",
            (self._night,),
        ):
            # An attempt that failed keeps its row under the key with a number behind it.
            if not {(row["kind"], row["key"]), (row["kind"], row["key"].rpartition("#")[0])}.isdisjoint(
                self._share
            ):
                tokens, usd = tokens + row["tokens"], usd + row["usd"]
                known = known and bool(row["priced"])
        return Usage(input_tokens=tokens, cost_usd=usd if known else None)

    def count(self, kind: str) -> int:
        """Return how many calls of this kind ended well."""
        row = self._connection.execute(
            "select count(*) from calls where night = ? and kind = ? and state = 'done'", (self._night, kind)
        ).fetchone()
        return int(row[0])

    async def _admit(self, kind: str, key: str, estimate: Usage) -> None:
        """Reserve the estimate, waiting while it is only in doubt what the calls under way will cost.

        Raises CeilingReached and ServiceRefused.
        """
        while True:
            if self._refused is not None:
                raise self._refused
            # Of calls without a known price the first goes alone: what it tells is kept for the others.
            alone = estimate.cost_usd is None and not self.count(kind)
            if not (alone and self._running):
                try:
                    self._reserve(kind, key, estimate)
                except CeilingReached:
                    if not self._running:
                        raise
                else:
                    self._running += 1
                    return
            await self._ended.wait()

    def _reserve(self, kind: str, key: str, estimate: Usage) -> None:
        with transaction(self._connection):
            spent = read_spend(self._connection, self._night)
            # A client may pass its own bound by a request; what one did tonight, the next may do as well.
            usd = max(estimate.cost_usd or 0.0, self._dearest(kind))
            limits = self._ceilings
            if spent.calls + 1 > limits.calls:
                raise CeilingReached(
                    f"the night's {limits.calls} calls are used up", hint="raise ceilings.calls to allow more"
                )
            if spent.usd + usd > limits.usd:
                raise CeilingReached(
                    f"the next call may cost ${usd:.2f} and ${spent.usd:.2f} of ${limits.usd:.2f} are spent",
                    hint="raise ceilings.usd to allow more, or lower replay.usd, what one run may spend",
                )
            self._hold_month(usd)
            if spent.tokens + estimate.tokens > limits.tokens:
                wanted = estimate.tokens
                raise CeilingReached(
                    f"the next call may use {wanted} tokens; {spent.tokens} of {limits.tokens} are used",
                    hint="raise ceilings.tokens to allow more, or lower replay.tokens, what one run may use",
                )
            if time.monotonic() > self._deadline:
                raise CeilingReached(
                    f"the night's {limits.minutes:g} minutes are over",
                    hint="raise ceilings.minutes to allow more",
                )
            # A failed or lost attempt at the same call keeps its row: it was paid for.
            attempts = self._connection.execute(
                "select count(*) from calls where night = ? and kind = ? and (key = ? or key like ? || '#%')",
                (self._night, kind, key, key),
            ).fetchone()[0]
            if attempts:
                self._connection.execute(
                    "update calls set key = key || '#' || ? where night = ? and kind = ? and key = ?",
                    (attempts, self._night, kind, key),
                )
            self._connection.execute(
                "insert into calls (night, kind, key, state, started, reserved_usd, reserved_tokens)"
                " values (?, ?, ?, 'started', ?, ?, ?)",
                (self._night, kind, key, now(), usd, estimate.tokens),
            )

    def _dearest(self, kind: str) -> float:
        row = self._connection.execute(
            "select coalesce(max(usd), 0.0) from calls where night = ? and kind = ?", (self._night, kind)
        ).fetchone()
        return float(row[0])

    def _hold_month(self, usd: float) -> None:
        limit = self._ceilings.usd_month
        if not limit:
            return
        spent = read_month(self._connection)
        if spent + usd > limit:
            raise CeilingReached(
                f"the next call may cost ${usd:.2f} and ${spent:.2f} of the month's ${limit:.2f} are spent",
                hint="raise ceilings.usd_month to allow more (0 = any), or wait for the next month",
            )

    def _close(
        self,
        kind: str,
        key: str,
        state: str,
        *,
        result: object = None,
        error: str | None = None,
        priced: bool = True,
    ) -> None:
        usd, tokens = _told(getattr(result, "usage", None))
        with transaction(self._connection):
            self._connection.execute(
                "update calls set state = ?, ended = ?, usd = ?, tokens = ?, result = ?, error = ?,"
                " reserved_usd = case when ? then reserved_usd else 0.0 end"
                " where night = ? and kind = ? and key = ?",
                (
                    state,
                    now(),
                    usd,
                    tokens,
                    msgspec.msgpack.encode(result) if state == "done" else None,
                    error,
                    priced,
                    self._night,
                    kind,
                    key,
                ),
            )


def _told(usage: Usage | None) -> tuple[float | None, int | None]:
    """Return dollars and tokens as they were told, None for what no call can cost: then its reserve counts.

    A run can write into what its client tells us.
    """
    if usage is None:
        return None, None
    usd = usage.cost_usd
    if usd is not None and not 0.0 <= usd < math.inf:
        usd = None
    counts = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    return usd, sum(counts) if all(0 <= count < _MOST_TOKENS for count in counts) else None
