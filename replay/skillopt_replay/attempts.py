"""Tells the ledger of a call that it asks its service once more, before it does.

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

_TAKE: ContextVar[Take | None] = ContextVar("take", default=None)


@contextmanager
def listening(take: Take) -> Iterator[None]:
    """Have `take` told of the attempts of what is awaited within."""
    token = _TAKE.set(take)
    try:
        yield
    finally:
        _TAKE.reset(token)


async def begin_another(usage: Usage | None, why: str, bound: Usage | None = None) -> bool:
    """Say that a request ended, `why` it was not the last, and that another one begins.

    `usage` is what it used, None when that is not known, and `bound` what the other one may use at most
    (None: as much as the first). Returns whether a ledger has written it down.
    Raises CeilingReached when the other one would pass a ceiling.
    """
    take = _TAKE.get()
    if take is None:
        return False
    await take(usage, why, bound)
    return True
