"""Tells the ledger of a call that it asks its service once more, before it does, and what it has used so far.

What a ledger has written down need not be told again by the call; without one, a call adds it up itself.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from skillopt_replay.rollouts import Usage

    Take = Callable[[Usage | None, str, Usage | None], Awaitable[None]]
    Widen = Callable[[Usage], Awaitable[None]]
    Note = Callable[[Usage | None], None]

_LISTENER: ContextVar[tuple[Take, Widen, Note] | None] = ContextVar("listener", default=None)


@contextmanager
def listening(take: Take, widen: Widen, note: Note) -> Iterator[None]:
    """Have `take` told of the attempts of what is awaited within, and the others of what is said below."""
    token = _LISTENER.set((take, widen, note))
    try:
        yield
    finally:
        _LISTENER.reset(token)


async def reserve_at_least(bound: Usage) -> None:
    """Say that the attempt which is about to begin may use this at most, in case less was reserved for it.

    What a call may use can grow between its reserve and its beginning: others show meanwhile that the model
    needs room to think. Raises CeilingReached when it would pass a ceiling; then the reserve is as it was.
    """
    listener = _LISTENER.get()
    if listener is not None:
        await listener[1](bound)


def note_spent(usage: Usage | None) -> None:
    """Say what the attempt under way has used at most, should it end here without a result.

    None takes back what was said: it is not known any more.
    """
    listener = _LISTENER.get()
    if listener is not None:
        listener[2](usage)


async def begin_another(usage: Usage | None, why: str, bound: Usage | None = None) -> bool:
    """Say that a request ended, `why` it was not the last, and that another one begins.

    `usage` is what it used, None when that is not known, and `bound` what the other one may use at most
    (None: as much as the first). Returns whether a ledger has written it down.
    Raises CeilingReached when the other one would pass a ceiling.
    """
    listener = _LISTENER.get()
    if listener is None:
        return False
    await listener[0](usage, why, bound)
    return True
