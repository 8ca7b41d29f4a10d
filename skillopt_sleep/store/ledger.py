"""The ledger in the database: what a night spends is written down before and after."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Awaitable, Callable

import msgspec

from skillopt_replay.admission import Admission, Amount, find_bound, take_told
from skillopt_replay.attempts import listening
from skillopt_replay.errors import CeilingReached, ServiceRefused
from skillopt_replay.exclusive import Exclusive
from skillopt_replay.ledger import find_refusal, find_told, is_infrastructure_failure
from skillopt_replay.protocols import PricedT
from skillopt_replay.rollouts import Usage
from skillopt_sleep.clock import now
from skillopt_sleep.patience import keep, patiently
from skillopt_sleep.settings import Ceilings
from skillopt_sleep.store.database import impatient, transaction
from skillopt_sleep.store.nights import read_work, save_work
from skillopt_sleep.store.spending import (
    Spend,
    find_dearest,
    read_margin,
    read_month,
    read_month_margin,
    read_spend,
)


class SqliteLedger:
    """A Ledger over the calls of one night. Safe for concurrent tasks of one event loop.

    The ceiling of the month counts the calls of all nights and trials since it began, in local time, that of
    minutes the work of all processes on this night, one after the other. What has not told what it took, be
    it under way here or in another process, or cut off with one that was killed, counts with its reserve and
    by what it may have passed that.
    """

    def __init__(self, connection: sqlite3.Connection, night: str, ceilings: Ceilings) -> None:
        self._connection = connection
        self._night = night
        self._ceilings = ceilings
        self._began = time.monotonic() - read_work(connection, night)
        self._refused: ServiceRefused | None = None
        self._admission = Admission()
        self._under_way = Exclusive()
        self._share = ""

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
        stored = self._connection.execute(
            "select result from calls where night = ? and kind = ? and key = ? and state = 'done'",
            (self._night, kind, key),
        ).fetchone()
        if stored:
            return msgspec.msgpack.decode(stored["result"], type=result_type)
        await self._admit(kind, key, estimate)

        bound = estimate
        cut: Usage | None = None

        def note(usage: Usage | None) -> None:
            nonlocal cut
            cut = usage

        async def again(usage: Usage | None, why: str, most: Usage | None) -> None:
            nonlocal bound
            note(None)
            bound = most or bound
            await patiently(lambda: self._begin_another(kind, key, bound, usage, why))

        async def widen(most: Usage) -> None:
            nonlocal bound
            if self._admission.holds((kind, key), most):
                return
            await patiently(lambda: self._widen(kind, key, most))
            bound = most

        try:
            with listening(again, widen, note):
                result = await make()
        except BaseException as error:
            # The call may have spent before it died, so its reserve stays counted unless it could still tell
            # what it used; where the database refuses that now, it counts as one under way, as its reserve.
            with contextlib.suppress(sqlite3.OperationalError):
                self._close(kind, key, "failed", usage=cut, error=repr(error))
            raise
        else:
            failed = is_infrastructure_failure(result)

            def close() -> None:
                self._close(
                    kind,
                    key,
                    "failed" if failed else "done",
                    usage=find_told(result),
                    result=result,
                    error=getattr(result, "error", None),
                )

            await keep(close)
        finally:
            self._admission.end((kind, key))
        refused = find_refusal(kind, result)
        if refused is not None:
            self._refused = refused
            raise refused
        return result

    def spend(self) -> Spend:
        """Return what the night has used so far."""
        return read_spend(self._connection, self._night)

    def begin_share(self, name: str) -> None:
        """Begin, or go on with, the share of what comes next, such as one skill."""
        self._share = name

    def usage(self) -> Usage:
        """Return what the calls of this share have used, also when an earlier run of the night made them.

        Tokens are not told apart by kind; the cost is None when a price is not known.
        """
        row = self._connection.execute(
            "select coalesce(sum(coalesce(tokens, reserved_tokens)), 0) tokens,"
            " coalesce(sum(coalesce(usd, reserved_usd)), 0.0) usd,"
            " coalesce(min(usd is not null or reserved_usd > 0 or state <> 'done'), 1) priced"
            " from calls where night = ? and share = ?",
            (self._night, self._share),
        ).fetchone()
        return Usage(input_tokens=row["tokens"], cost_usd=row["usd"] if row["priced"] else None)

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

        async def admit() -> None:
            await self._admission.admit(
                lambda: self._reserve(kind, key, estimate),
                is_unpriced=lambda: estimate.cost_usd is None and not self.count(kind),
                refuse=self._refuse,
            )

        await patiently(admit)

    def _refuse(self) -> None:
        if self._refused is not None:
            raise self._refused

    def _begin_another(self, kind: str, key: str, estimate: Usage, usage: Usage | None, why: str) -> None:
        """Close the attempt under way, which used this (None: as much as was reserved), and begin another.

        Raises CeilingReached; then that attempt is still under way.
        """
        name, bound = self._admission.pause((kind, key))
        try:
            with impatient(self._connection), transaction(self._connection):
                self._close(kind, key, "failed", usage=usage, error=why)
                self._reserve(kind, key, estimate)
        except BaseException:
            self._admission.begin((kind, key), name, bound)
            raise

    def _widen(self, kind: str, key: str, estimate: Usage) -> None:
        """Reserve this for the attempt under way instead. Raises CeilingReached; then all is as it was."""
        name, bound = self._admission.pause((kind, key))
        try:
            with impatient(self._connection), transaction(self._connection):
                self._connection.execute(
                    "delete from calls where night = ? and kind = ? and key = ?", (self._night, kind, key)
                )
                self._reserve(kind, key, estimate)
        except BaseException:
            self._admission.begin((kind, key), name, bound)
            raise

    def _reserve(self, kind: str, key: str, estimate: Usage) -> None:
        with impatient(self._connection), transaction(self._connection):
            bound = find_bound(estimate, find_dearest(self._connection, self._night, kind))
            self._hold(bound)
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
                "insert into calls (night, share, kind, key, state, started, reserved_usd, reserved_tokens)"
                " values (?, ?, ?, ?, 'started', ?, ?, ?)",
                (self._night, self._share, kind, key, now(), bound.usd, bound.tokens),
            )
        self._admission.begin((kind, key), kind, bound)

    def _hold(self, bound: Amount) -> None:
        """Raise CeilingReached when a call with this bound might pass a ceiling."""
        limits = self._ceilings
        spent = read_spend(self._connection, self._night)
        over = read_margin(self._connection, self._night)
        if spent.calls + 1 > limits.calls:
            raise CeilingReached(
                f"the night's {limits.calls} calls are used up", hint="raise ceilings.calls to allow more"
            )
        if spent.usd + over.usd + bound.usd > limits.usd:
            raise CeilingReached(
                f"the next call may cost ${bound.usd:.2f} and ${spent.usd:.2f} of ${limits.usd:.2f}"
                f" are spent{_say_untold(over.usd)}",
                hint="raise ceilings.usd to allow more, or lower replay.usd, what one run may spend",
            )
        self._hold_month(bound.usd)
        if spent.tokens + over.tokens + bound.tokens > limits.tokens:
            raise CeilingReached(
                f"the next call may use {bound.tokens} tokens; {spent.tokens} of {limits.tokens} are used",
                hint="raise ceilings.tokens to allow more, or lower replay.tokens, what one run may use",
            )
        if self.note_work() > limits.minutes * 60:
            raise CeilingReached(
                f"the night's {limits.minutes:g} minutes are over",
                hint="raise ceilings.minutes to allow more",
            )

    def note_work(self) -> float:
        """Write down the seconds of work on this night so far, by all its processes, and return them."""
        seconds = time.monotonic() - self._began
        save_work(self._connection, self._night, seconds)
        return seconds

    def _hold_month(self, usd: float) -> None:
        limit = self._ceilings.usd_month
        if not limit:
            return
        spent, over = read_month(self._connection), read_month_margin(self._connection)
        if spent + over + usd > limit:
            raise CeilingReached(
                f"the next call may cost ${usd:.2f} and ${spent:.2f} of the month's ${limit:.2f}"
                f" are spent{_say_untold(over)}",
                hint="raise ceilings.usd_month to allow more (0 = any), or wait for the next month",
            )

    def _close(
        self,
        kind: str,
        key: str,
        state: str,
        *,
        usage: Usage | None = None,
        result: object = None,
        error: str | None = None,
    ) -> None:
        usd, tokens = take_told(usage)
        with impatient(self._connection), transaction(self._connection):
            self.note_work()
            self._connection.execute(
                "update calls set state = ?, ended = ?, usd = ?, tokens = ?, result = ?, error = ?"
                " where night = ? and kind = ? and key = ?",
                (
                    state,
                    now(),
                    usd,
                    tokens,
                    msgspec.msgpack.encode(result) if state == "done" else None,
                    error,
                    self._night,
                    kind,
                    key,
                ),
            )


def _say_untold(usd: float) -> str:
    return f", and calls that were cut off may have cost ${usd:.2f} more" if usd else ""
