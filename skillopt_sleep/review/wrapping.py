"""Lines cut to a terminal's width."""

from __future__ import annotations

import re

from rich.cells import cell_len, get_character_cell_size

_LEAD = re.compile(r"\s*(?:[-*+]\s+|\d+[.)]\s+|>\s*)?")
# Makes the character before it an emoji, which may then take a second cell.
_WIDENS = "\ufe0f"
# The parts of a path that say which skill it is: skills, its name, SKILL.md.
_END = 3


def wrap(text: str, width: int, hang: int = 0) -> list[tuple[int, int]]:
    """Return where to cut one line, as (start, end) of each piece; at spaces where there are any.

    `width` is in cells; every piece but the first has `hang` cells less. No character is dropped.
    """
    width = max(width, 2)
    if text.isascii() and len(text) <= width:
        return [(0, len(text))]
    pieces: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        room = max(width - hang, 2) if pieces else width
        end = _fit(text, start, room)
        if end < len(text):
            space = text.rfind(" ", start + 1, end + 1) + 1
            # A cut right after a line's indent would leave an empty piece.
            if space > start and text[start:space].strip():
                end = space
        pieces.append((start, end))
        start = end
    return pieces or [(0, 0)]


def find_hang(text: str, width: int) -> int:
    """Return how far wrapped pieces of this line should be indented: below its text, past a list's bullet."""
    match = _LEAD.match(text)
    lead = cell_len(match.group()) if match else 0
    return lead if lead <= width // 3 else 0


def wrap_paragraphs(text: str, width: int) -> list[str]:
    """Return `text` as lines of at most `width` cells, each of its own lines wrapped and hung."""
    lines = []
    for line in text.split("\n"):
        hang = find_hang(line, width)
        for index, (start, end) in enumerate(wrap(line, width, hang)):
            lines.append(" " * hang * bool(index) + line[start:end].rstrip(" "))
    return lines


def clip(text: str, width: int) -> str:
    """Return one line cut to `width` cells, with an ellipsis where something was cut."""
    if cell_len(text) <= width:
        return text
    return text[: _fit(text, 0, max(width - 1, 0), at_least=0)] + "…"


def shorten_path(path: str, width: int) -> str:
    """Return a path of at most `width` cells: its start, "…", and its end from `skills/<name>` on.

    Folders go from the middle; where that is not enough, everything but the last `width` cells goes.
    """
    if cell_len(path) <= width:
        return path
    parts = path.split("/")
    for kept in range(len(parts) - _END - 1, -1, -1):
        short = "/".join([*parts[:kept], "…", *parts[-_END:]])
        if cell_len(short) <= width:
            return short
    start = len(path)
    room = width - 1
    while start and (room := room - cell_len(path[start - 1])) >= 0:
        start -= 1
    return "…" + path[start:]


def _fit(text: str, start: int, room: int, at_least: int = 1) -> int:
    used = 0
    for index in range(start, len(text)):
        char = text[index]
        used += 1 if char == _WIDENS else get_character_cell_size(char)
        if used > room:
            return max(index, start + at_least)
    return len(text)
