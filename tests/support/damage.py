"""Ways in which a disk, a crash or another program damages a file of records."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

ODD = st.sampled_from(
    [None, "", "text", 7, 1.5, True, [], {}, [None], {"a": None}, ["x"], 10**30, "\ud83d", "\x00"]
)


@st.composite
def damaged(draw: Any, lines: list[bytes], place: int) -> bytes:
    """Return the file with the record at `place` damaged; all others are as they were."""
    line = lines[place]
    how = draw(st.sampled_from(["flip", "drop", "twice", "glue", "tear", "nul", "odd", "blank", "utf8"]))
    if how == "flip":
        at = draw(st.integers(0, len(line) - 1))
        byte = draw(st.integers(0, 255).filter(lambda value: value != 10))
        new = line[:at] + bytes([byte]) + line[at + 1 :] + b"\n"
    elif how == "drop":
        new = b""
    elif how == "twice":
        new = line + b"\n" + line + b"\n"
    elif how == "glue":
        new = line + b" "
    elif how == "tear":
        new = line[: draw(st.integers(0, len(line) - 1))] + draw(st.sampled_from([b"", b"\n"]))
    elif how == "nul":
        new = b"\x00" * draw(st.integers(1, 4096)) + line + b"\x00\r\n"
    elif how == "odd":
        new = json.dumps(_with_odd_value(draw, json.loads(line))).encode() + b"\n"
    elif how == "blank":
        new = b"\xef\xbb\xbf \t\n\n" + line + b"\n"
    else:
        at = draw(st.integers(0, len(line) - 1))
        new = line[:at] + b"\xff\xfe\xed\xa0\x80" + line[at:] + b"\n"
    rest = [other + b"\n" for other in lines]
    return b"".join([*rest[:place], new, *rest[place + 1 :]])


def _with_odd_value(draw: Any, record: Any) -> Any:
    """Replace a value somewhere in a record."""
    places = []

    def walk(value: Any) -> None:
        for key in (
            list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
        ):
            places.append((value, key))
            walk(value[key])

    walk(record)
    container, key = draw(st.sampled_from(places))
    container[key] = draw(ODD)
    return record
