"""Short names that follow from what they name."""

from __future__ import annotations

import hashlib


def digest(*parts: str) -> str:
    """Return twelve hex digits that stand for the parts."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:12]
