"""A ledger in memory: ceilings, no double payment, and a record of every call."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal

import msgspec

from skillopt_replay.attempts import listening
from skillopt_replay.errors import CeilingReached, ServiceRefused
from skillopt_replay.rollouts import Fault, Outcome, Rollout, Usage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from skillopt_replay.protocols import PricedT


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One call. `usage` is what it cost once it ended; a raised or infrastructure failure is `failed`."""

    kind: str
    key: str
    state: Literal["started", "done", "failed"]
    estimate: Usage
    usage: Usage = Usage()


class MemoryLedger:
    """Implements Ledger for tests and for one process; None means no ceiling.

    A call without a known price counts with its estimate, so that silence about money is never free.
    """

    def __init__(
        self, *, max_usd: float | None = None, max_tokens: int | None = None, max_calls: int | None = None
    ) -> None:
        self._max_usd = max_usd
        self._max_tokens = max_tokens
        self._max_calls = max_calls
        self._entries: list[Entry] = []
        self._ended = Usage()
        self._running: dict[int, Usage] = {}
        self._results: dict[tuple[str, str], object] = {}
        self._locks: dict[tuple[str, str], asyncio.Lock] = {}
        self._refused: ServiceRefused | None = None

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every call in the order it started."""
        return tuple(self._entries)

    @property
    def spent(self) -> Usage:
        """What the ended calls cost and the running ones may cost."""
        total = self._ended
        for estimate in self._running.values():
            total = total.plus(estimate)
        return total

    async def once(
        self,
        kind: str,
        key: str,
        estimate: Usage,
        make: Callable[[], Awaitable[PricedT]],
        result_type: type[PricedT],
    ) -> PricedT:
        """Return the stored result, or pay for a new one; see Ledger.

        Raises CeilingReached, ServiceRefused, TypeError.
        """
        name = (kind, key)
        lock = self._locks.setdefault(name, asyncio.Lock())
        async with lock:
            if name in self._results:
                return _typed(self._results[name], result_type)
            if self._refused is not None:
                raise self._refused
            index = self._reserve(kind, key, estimate)

            def again(usage: Usage | None, why: str) -> None:
                nonlocal index
                after = self._reserve(kind, key, estimate)
                self._close(index, "failed", estimate if usage is None else _priced(usage, estimate))
                index = after

            try:
                with listening(again):
                    result = await make()
            except BaseException:
                # What a call that was cut off has cost is not known.
                self._close(index, "failed", estimate)
                raise
            failed = is_infrastructure_failure(result)
            self._close(index, "failed" if failed else "done", _priced(result.usage, estimate))
            if not failed:
                self._results[name] = result
            refused = find_refusal(kind, result)
            if refused is not None:
                self._refused = refused
                raise refused
            return result

    def _reserve(self, kind: str, key: str, estimate: Usage) -> int:
        after = self.spent.plus(estimate)
        if self._max_calls is not None and len(self._entries) + 1 > self._max_calls:
            raise CeilingReached(f"the ceiling of {self._max_calls} calls is reached")
        if self._max_usd is not None and (after.cost_usd or 0.0) > self._max_usd + 1e-9:
            raise CeilingReached(
                f"the next call could bring the cost to ${after.cost_usd:.2f}, above ${self._max_usd:.2f}"
            )
        if self._max_tokens is not None and after.tokens > self._max_tokens:
            raise CeilingReached(
                f"the next call could bring the tokens to {after.tokens}, above {self._max_tokens}"
            )
        self._entries.append(Entry(kind=kind, key=key, state="started", estimate=estimate))
        self._running[len(self._entries) - 1] = estimate
        return len(self._entries) - 1

    def _close(self, index: int, state: Literal["done", "failed"], usage: Usage) -> None:
        del self._running[index]
        self._ended = self._ended.plus(usage)
        self._entries[index] = msgspec.structs.replace(self._entries[index], state=state, usage=usage)


def is_infrastructure_failure(result: object) -> bool:
    """Return whether a Rollout or Completion is missing data rather than a result."""
    if isinstance(result, Rollout):
        return result.outcome is Outcome.INFRASTRUCTURE
    return getattr(result, "error", None) is not None


_WHO = {"rollout": "the target", "optimizer": "the optimizer", "judge": "the judge"}
_REMEDIES = {
    Fault.SIGN_IN: "sign in again, or set a key that is accepted",
    Fault.MODEL: "name a model that this account may use",
    Fault.MONEY: "top up the account, or use another one",
}


def find_refusal(kind: str, result: object) -> ServiceRefused | None:
    """Return the error to stop with when a call's result shows that no later one can succeed."""
    fault = getattr(result, "fault", None)
    if not is_infrastructure_failure(result) or not isinstance(fault, Fault) or not fault.permanent:
        return None
    said = getattr(result, "error", None) or "no reason given"
    message = f"{_WHO.get(kind, kind)} is refused ({fault.value}): {said}"
    return ServiceRefused(message, kind=kind, fault=fault, hint=_REMEDIES[fault])


def _priced(usage: Usage, estimate: Usage) -> Usage:
    if usage.cost_usd is not None:
        return usage
    return msgspec.structs.replace(usage, cost_usd=estimate.cost_usd)


def _typed(result: object, result_type: type[PricedT]) -> PricedT:
    if not isinstance(result, result_type):
        raise TypeError(f"stored is a {type(result).__name__}, asked for is a {result_type.__name__}")
    return result
