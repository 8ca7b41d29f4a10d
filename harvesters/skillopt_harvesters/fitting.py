"""Values that are not quite of the type they should be, as other programs write them."""

from __future__ import annotations

import re
from typing import Any

import msgspec

# So is a count written by what knows no whole numbers, or keeps all values as text.
_is_whole = re.compile(r"\s*([+-]?\d{1,18})(?:\.0*)?\s*", re.ASCII).fullmatch


def fit(value: Any, wanted: Any) -> Any:
    """Return a decoded value as the wanted type; `1.0` and `"1"` are whole numbers where one is wanted.

    Raises msgspec.ValidationError when it does not fit.
    """
    try:
        return msgspec.convert(value, wanted)
    except msgspec.ValidationError:
        number = to_whole(value)
        if number is None:
            raise
        return msgspec.convert(number, wanted)


def to_whole(value: Any) -> int | None:
    """Return the whole number a number or a text stands for; None when it stands for none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return int(value) if value == value // 1 else None
    found = _is_whole(value) if isinstance(value, str) else None
    return int(found[1]) if found else None
