"""The ledger in the database: what a night spends is written down before and after."""

from __future__ import annotations

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


class Spend(msgspec.Struct, frozen=True, kw_only=True):
    """What a night has used.

    `reserved_usd` of it is what calls that are under way, or were cut off, may have spent at most.
    """

    calls: int
    tokens: int
    usd: float
    reserved_usd: float = 0.0


class SqliteLedger:
    """A Ledger over the calls of one night. Safe for concurrent tasks of one event loop."""

    def __init__(self, connection: sqlite3.Connection, night: str, ceilings: Ceilings) -> None:
        self._connection = connection
        self._night = night
        self._ceilings = ceilings
        self._deadline = time.monotonic() + ceilings.minutes * 60
        self._refused: ServiceRefused | None = None
        self._share: set[tuple[str, str]] = set()

    async def once(
        self,
        kind: str,
        key: str,
        estimate: Usage,
        make: Callable[[], Awaitable[PricedT]],
        result_type: type[PricedT],
    ) -> PricedT:
        """Return the stored result of this call, or make it. See `skillopt_replay.protocols.Ledger`."""
        self._share.add((kind, key))
        stored = self._connection.execute(
            "select result from calls where night = ? and kind = ? and key = ? and state = 'done'",
            (self._night, kind, key),
        ).fetchone()
        if stored:
            return msgspec.msgpack.decode(stored["result"], type=result_type)
        if self._refused is not None:
            raise self._refused
        self._reserve(kind, key, estimate)
        try:
            result = await make()
        except BaseException as error:
            # The call may have spent before it died, so its reserve stays counted.
            self._close(kind, key, "failed", error=repr(error))
            raise
        problem = getattr(result, "error", None)
        lost = is_infrastructure_failure(result)
        self._close(kind, key, "failed" if lost else "done", result=result, error=problem)
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

    def _reserve(self, kind: str, key: str, estimate: Usage) -> None:
        with transaction(self._connection):
            spent = read_spend(self._connection, self._night)
            usd = estimate.cost_usd or 0.0
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
            if spent.tokens + estimate.tokens > limits.tokens:
                wanted = estimate.tokens
                raise CeilingReached(
                    f"the next call may use {wanted} tokens; {spent.tokens} of {limits.tokens} are used",
                    hint="raise ceilings.tokens to allow more",
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

    def _close(
        self, kind: str, key: str, state: str, *, result: object = None, error: str | None = None
    ) -> None:
        usage: Usage | None = getattr(result, "usage", None)
        with transaction(self._connection):
            self._connection.execute(
                "update calls set state = ?, ended = ?, usd = ?, tokens = ?, result = ?, error = ?"
                " where night = ? and kind = ? and key = ?",
                (
                    state,
                    now(),
                    usage.cost_usd if usage else None,
                    usage.tokens if usage else None,
                    msgspec.msgpack.encode(result) if state == "done" else None,
                    error,
                    self._night,
                    kind,
                    key,
                ),
            )


def read_spend(connection: sqlite3.Connection, night: str) -> Spend:
    """Return what the night has used; an unknown price counts with its reserve."""
    row = connection.execute(
        "select count(*) calls, coalesce(sum(coalesce(tokens, reserved_tokens)), 0) tokens,"
        " coalesce(sum(coalesce(usd, reserved_usd)), 0.0) usd,"
        " coalesce(sum(case when usd is null then reserved_usd end), 0.0) reserved_usd"
        " from calls where night = ?",
        (night,),
    ).fetchone()
    return Spend(calls=row["calls"], tokens=row["tokens"], usd=row["usd"], reserved_usd=row["reserved_usd"])
