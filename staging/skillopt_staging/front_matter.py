"""The front matter of a SKILL.md as the text it is, so that a change of it shows to the byte."""

from __future__ import annotations

import re
from collections.abc import Collection

_FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"""["']?([^\s#"':-][^"':]*)["']?[ \t]*:(?:\s|\Z)""")


def split_front_matter(text: str) -> tuple[str | None, str]:
    """Return what is between the two --- lines (None when there are none) and the body after them."""
    match = _FRONT.match(text)
    return (match.group(1), text[match.end() :]) if match else (None, text)


def find_field(text: str, field: str) -> str | None:
    """Return what a top-level field of the front matter holds on its line, as written; None without it."""
    front = split_front_matter(text)[0]
    for line in (front or "").split("\n"):
        match = _FIELD.match(line.removesuffix("\r"))
        if match and match.group(1).strip() == field:
            return line.removesuffix("\r")[match.end() :].strip().strip("\"'")
    return None


def same_front_matter(a: str, b: str, *, allow: Collection[str] = ()) -> bool:
    """Tell whether two documents have the same front matter, byte for byte, but for the fields in `allow`.

    A field is a top-level key with the lines indented below it; comments and blank lines belong to the field
    above them. Order counts. Two documents without front matter are the same.
    """
    return _parts(a, allow) == _parts(b, allow)


def _parts(text: str, allow: Collection[str]) -> list[str] | None:
    match = _FRONT.match(text)
    if not match:
        return None
    front = match.group(1)
    fence_before, fence_after = text[: match.start(1)], text[match.end(1) : match.end()]
    kept: list[str] = [fence_before]
    skipping = False
    for line in front.split("\n")[:-1]:
        field = _FIELD.match(line)
        if field:
            skipping = field.group(1).strip() in allow
        if not skipping:
            kept.append(line)
    return [*kept, fence_after]
