"""Where the parts of a Markdown body are: lines, headings, list items, and islands that stay whole.

An island is a fenced code block, an HTML comment or a protected region. Offsets count characters from the
start of the body; an end is exclusive.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_FENCE_OPEN = re.compile(r"[ \t]*(?:(?:[-*+>]|\d{1,9}[.)])[ \t]+)*(?P<mark>`{3,}|~{3,})(?P<info>.*)\Z")
_MARKER = re.compile(r"<!--\s*(SLOW_UPDATE|APPENDIX)_(START|END)\s*-->", re.IGNORECASE)
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*\Z")
ITEM = re.compile(r"(?P<indent>[ \t]*)(?P<marker>[-*+]|\d{1,9}[.)])[ \t]+(?P<text>\S.*)\Z")


class Line(NamedTuple):
    """One line: `text` has no line ending, `end` is where its text ends, `after` where the next begins."""

    start: int
    end: int
    after: int
    text: str

    @property
    def blank(self) -> bool:
        return not self.text.strip()


class Island(NamedTuple):
    """`kind` is code, comment or protected; an island that is not `closed` runs to the end of the body."""

    start: int
    end: int
    kind: str
    closed: bool

    def overlaps(self, start: int, end: int) -> bool:
        return self.start < end and start < self.end

    def holds(self, start: int, end: int) -> bool:
        return self.start <= start and end <= self.end


class Marker(NamedTuple):
    """A marker of a protected region: `kind` is SLOW_UPDATE or APPENDIX."""

    start: int
    end: int
    kind: str
    opens: bool


class Heading(NamedTuple):
    line: Line
    level: int
    title: str


def split_lines(body: str) -> list[Line]:
    """Return the lines of the body; only a line feed ends a line, as in Markdown and git."""
    lines = []
    start = 0
    while start < len(body):
        feed = body.find("\n", start)
        after = len(body) if feed < 0 else feed + 1
        text = body[start : after if feed < 0 else feed].removesuffix("\r")
        lines.append(Line(start, start + len(text), after, text))
        start = after
    return lines


def find_islands(body: str) -> list[Island]:
    """Return code blocks, comments and protected regions in the order of their starts."""
    return sorted(_find_code_and_comments(body) + find_protected(body))


def find_protected(body: str) -> list[Island]:
    """Return the regions between marker pairs, markers included.

    A start without an end protects everything after it; an end without a start protects itself.
    """
    regions: list[Island] = []
    opened: dict[str, int] = {}
    for marker in find_markers(body):
        if marker.opens:
            opened.setdefault(marker.kind, marker.start)
        else:
            start = opened.pop(marker.kind, marker.start)
            regions.append(Island(start, marker.end, "protected", closed=True))
    regions += [Island(start, len(body), "protected", closed=False) for start in opened.values()]
    return sorted(regions)


def find_markers(body: str) -> list[Marker]:
    """Return every region marker of the body, in whatever state the regions are."""
    return [
        Marker(match.start(), match.end(), match.group(1).upper(), match.group(2).upper() == "START")
        for match in _MARKER.finditer(body)
    ]


def find_code(body: str) -> list[Island]:
    """Return the fenced code blocks."""
    return [island for island in _find_code_and_comments(body) if island.kind == "code"]


def _find_code_and_comments(body: str) -> list[Island]:
    islands: list[Island] = []
    lines = split_lines(body)
    index = 0
    position = 0
    while index < len(lines):
        line = lines[index]
        if line.after <= position:
            index += 1
            continue
        fence = _FENCE_OPEN.match(line.text) if position <= line.start else None
        if fence and not (fence["mark"][0] == "`" and "`" in fence["info"]):
            island = _close_fence(lines, index, fence["mark"], len(body))
        else:
            found = _find_comment(body, max(position, line.start), line)
            if found is None:
                index += 1
                continue
            island = found
        islands.append(island)
        position = island.end
    return islands


def _close_fence(lines: list[Line], index: int, mark: str, size: int) -> Island:
    closing = re.compile(rf"[ \t>]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*\Z")
    for line in lines[index + 1 :]:
        if closing.match(line.text):
            return Island(lines[index].start, line.after, "code", closed=True)
    return Island(lines[index].start, size, "code", closed=False)


def _find_comment(body: str, start: int, line: Line) -> Island | None:
    opening = body.find("<!--", start, line.end)
    if opening < 0:
        return None
    closing = body.find("-->", opening + 4)
    if closing >= 0:
        return Island(opening, closing + 3, "comment", closed=True)
    if not body[line.start : opening].strip():
        return Island(opening, len(body), "comment", closed=False)
    return None


def find_headings(body: str) -> list[Heading]:
    """Return the headings that a reader sees: none of an island."""
    islands = find_islands(body)
    found = []
    for line in split_lines(body):
        match = _HEADING.match(line.text)
        if match and not any(island.overlaps(line.start, line.after) for island in islands):
            found.append(Heading(line, len(match.group(1)), (match.group(2) or "").strip()))
    return found


def find_block_end(body: str, offset: int) -> int:
    """Return where the block around the offset ends: a list item, paragraph, table, heading or island."""
    islands = find_islands(body)
    around = [i.end for i in islands if i.kind == "code" and i.start <= offset < i.end]
    if around:
        return max(around)
    lines = split_lines(body)
    index = next((i for i, line in enumerate(lines) if offset < line.after), len(lines) - 1)
    first = lines[index]
    end = first.after
    item = ITEM.match(first.text)
    indent = len(item["indent"]) if item else None
    if not (first.blank or _HEADING.match(first.text)):
        for line in lines[index + 1 :]:
            if line.blank or _HEADING.match(line.text) or _starts_another(line, indent, islands):
                break
            end = line.after
    for island in islands:
        if island.start < end < island.end:
            end = island.end
    return end


def _starts_another(line: Line, indent: int | None, islands: list[Island]) -> bool:
    nested = indent is not None and len(line.text) - len(line.text.lstrip()) > indent
    if nested:
        return False
    return bool(ITEM.match(line.text)) or any(i.start == line.start for i in islands)


def split_items(body: str) -> list[str]:
    """Return the text of each list item, paragraph and code block, one entry each."""
    items: list[list[str]] = []
    fresh = True
    for line in split_lines(body):
        if line.blank or _HEADING.match(line.text):
            fresh = True
            continue
        item = ITEM.match(line.text)
        if fresh or item:
            items.append([])
        items[-1].append(item["text"] if item else line.text.strip())
        fresh = False
    return [" ".join(lines) for lines in items]


def fold(text: str) -> str:
    """Return the text as duplicates are compared: one case, one space, no bullet, emphasis or full stop."""
    item = ITEM.match(text.strip())
    bare = (item["text"] if item and "\n" not in text.strip() else text).replace("**", "").replace("`", "")
    return " ".join(bare.casefold().split()).strip(" .;:,!")
