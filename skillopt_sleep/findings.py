"""What one check-up found."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from skillopt_sleep.errors import Explained


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One check-up. `needed` findings that are not `ok` keep a night from running."""

    name: str
    ok: bool
    detail: str
    hint: str = ""
    needed: bool = False


def explained(name: str, check: Callable[[], str], *, needed: bool = True) -> Finding:
    """Return what `check` says, or the error it raises, as a finding."""
    try:
        return Finding(name=name, ok=True, detail=check(), needed=needed)
    except Exception as error:
        if not isinstance(error, Explained):
            raise
        return Finding(name=name, ok=False, detail=error.message, hint=error.hint, needed=needed)
