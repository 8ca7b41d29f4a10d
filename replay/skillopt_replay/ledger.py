"""A ledger in memory: ceilings, no double payment, and a record of every call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from skillopt_replay.account import Account
from skillopt_replay.attempts import listening
from skillopt_replay.errors import ServiceRefused
from skillopt_replay.exclusive import Exclusive
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
        self._account = Account(max_usd=max_usd, max_tokens=max_tokens, max_calls=max_calls)
        self._entries: list[Entry] = []
        self._results: dict[tuple[str, str], object] = {}
        self._under_way = Exclusive()
        self._refused: ServiceRefused | None = None

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every call in the order it started."""
        return tuple(self._entries)

    @property
    def spent(self) -> Usage:
        """What the ended calls cost and the running ones may cost."""
        return self._account.spent

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
        async with self._under_way.hold(name):
            if name in self._results:
                return _typed(self._results[name], result_type)
            number = await self._account.admit(kind, estimate, self._refuse)
            index = self._note(kind, key, estimate)

            cut: Usage | None = None

            def note(usage: Usage | None) -> None:
                nonlocal cut
                cut = usage

            async def again(usage: Usage | None, why: str, bound: Usage | None) -> None:
                nonlocal index, number
                note(None)
                number, spent = self._account.begin_another(number, usage, bound)
                self._close(index, "failed", spent)
                index = self._note(kind, key, bound or estimate)

            async def widen(bound: Usage) -> None:
                nonlocal number
                number = self._account.widen(number, bound)
                reserved = self._account.find_estimate(number)
                self._entries[index] = msgspec.structs.replace(self._entries[index], estimate=reserved)

            try:
                with listening(again, widen, note):
                    result = await make()
            except BaseException:
                # What a call that was cut off has cost is not known, unless it could still tell.
                self._close(index, "failed", self._account.close(number, cut))
                raise
            failed = is_infrastructure_failure(result)
            refused = find_refusal(kind, result)
            if not failed:
                self._results[name] = result
            if refused is not None:
                self._refused = refused
            spent = self._account.close(number, find_told(result))
            self._close(index, "failed" if failed else "done", spent)
            if refused is not None:
                raise refused
            return result

    def _refuse(self) -> None:
        if self._refused is not None:
            raise self._refused

    def _note(self, kind: str, key: str, estimate: Usage) -> int:
        self._entries.append(Entry(kind=kind, key=key, state="started", estimate=estimate))
        return len(self._entries) - 1

    def _close(self, index: int, state: Literal["done", "failed"], usage: Usage) -> None:
        self._entries[index] = msgspec.structs.replace(self._entries[index], state=state, usage=usage)


def is_infrastructure_failure(result: object) -> bool:
    """Return whether a Rollout or Completion is missing data rather than a result."""
    if isinstance(result, Rollout):
        return result.outcome is Outcome.INFRASTRUCTURE
    return getattr(result, "error", None) is not None


def find_told(result: PricedT) -> Usage | None:
    """Return what a call told that it used, None where that is not known."""
    if isinstance(result, Rollout):
        return None if result.untold else result.usage
    usage = result.usage
    # What was never sent, or was refused, says that it cost nothing.
    return None if is_infrastructure_failure(result) and usage == Usage() else usage


_WHO = {
    "rollout": "the target",
    "optimizer": "the optimizer",
    "judge": "the judge",
    "titler": "the titler",
}
_REMEDIES = {
    Fault.SIGN_IN: "sign in again, or set a key that is accepted",
    Fault.MODEL: "name a model that this account may use",
    Fault.MONEY: "top up the account, or use another one",
    Fault.ABSENT: "start the server",
    Fault.REPLACED: "start this again, and the Dask workers that runs go to: runs of another version count"
    " apart",
}


def find_refusal(kind: str, result: object) -> ServiceRefused | None:
    """Return the error to stop with when a call's result shows that no later one can succeed."""
    fault = getattr(result, "fault", None)
    if not is_infrastructure_failure(result) or not isinstance(fault, Fault) or not fault.permanent:
        return None
    said = getattr(result, "error", None) or "no reason given"
    how = "cannot be reached" if fault is Fault.ABSENT else f"is refused ({fault.value})"
    message = f"{_WHO.get(kind, kind)} {how}: {said}"
    return ServiceRefused(message, kind=kind, fault=fault, hint=_REMEDIES[fault])


def _typed(result: object, result_type: type[PricedT]) -> PricedT:
    if not isinstance(result, result_type):
        raise TypeError(f"stored is a {type(result).__name__}, asked for is a {result_type.__name__}")
    return result
