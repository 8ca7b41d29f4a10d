"""A marked region of a memory file (CLAUDE.md, AGENTS.md): ours inside, the user's outside."""

from __future__ import annotations

import re
from typing import NamedTuple

from skillopt_staging.errors import NeedsDecision, StagingError

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")
_MARK = re.compile(r"^<!-- skillopt:(begin|end) ([a-z0-9-]+) -->[ \t]*$")
_ANY_MARK = re.compile(_MARK.pattern, re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")


class _Found(NamedTuple):
    """Where a region lies in the lines of a document: the lines of its markers."""

    begin: int
    end: int


def read_region(document: str, name: str) -> str | None:
    """Return the text between the markers of this name, "" for an empty one, None when there is no region.

    Raises NeedsDecision when the markers are broken.
    """
    lines = _split(document)
    found = _find(lines, name)
    return None if found is None else "".join(lines[found.begin + 1 : found.end])


def write_region(document: str, name: str, text: str | None) -> str:
    """Return the document with `text` in the region of this name; None takes the region and its markers away.

    A new region goes to the end. Everything outside stays as it is, byte for byte; lines of the region end
    as the document's do. Raises StagingError for a text that holds a marker or an illegal name,
    NeedsDecision when the markers are broken.
    """
    if not _NAME.match(name):
        raise StagingError(f"{name!r} is no name for a region", hint="lower-case letters, digits and hyphens")
    end = "\r\n" if "\r\n" in document and not re.search(r"(?<!\r)\n", document) else "\n"
    lines = _split(document)
    found = _find(lines, name)
    inside = [] if text is None else _make_lines(text, name, end)
    if found is not None:
        # The end of the file stays as it is: with or without a line end.
        last = lines[found.end][len(lines[found.end].rstrip("\r\n")) :]
        if inside and not last:
            inside[-1] = inside[-1].rstrip("\r\n")
        before, after = lines[: found.begin], lines[found.end + 1 :]
        if not inside and not after and len(before) > 1 and not before[-1].strip("\r\n"):
            # The blank line that was put before a region at the end goes with it.
            before.pop()
        return "".join([*before, *inside, *after])
    if not inside:
        return document
    gap = "" if not document else end if document.endswith("\n") else end * 2
    return "".join([document, gap, *inside])


def find_changed_region(base: str, text: str) -> str | None:
    """Return the name of the one region in which two documents differ; None when they differ elsewhere.

    Broken markers are no region.
    """
    names = {mark.group(2) for mark in _ANY_MARK.finditer(f"{base}\n{text}")}
    for name in sorted(names):
        try:
            if base != text and write_region(base, name, read_region(text, name)) == text:
                return name
        except StagingError:
            continue
    return None


def _make_lines(text: str, name: str, end: str) -> list[str]:
    plain = text.replace("\r\n", "\n").strip("\n").split("\n") if text.strip() else []
    if any(_MARK.match(line) for line in plain):
        raise StagingError("the text holds a marker of a region", hint="leave out the line with skillopt:")
    begin, stop = (f"<!-- skillopt:{side} {name} -->" for side in ("begin", "end"))
    return [line + end for line in (begin, *plain, stop)]


def _find(lines: list[str], name: str) -> _Found | None:
    """Return where the region is. A marker in a block of code is an example of one."""
    marks: list[tuple[str, int]] = []
    fence = ""
    for number, line in enumerate(lines):
        opened = _FENCE.match(line)
        if fence:
            if opened and line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        if opened:
            fence = opened.group(1)
            continue
        mark = _MARK.match(line.rstrip("\r\n").removeprefix("\ufeff"))
        if mark and mark.group(2) == name:
            marks.append((mark.group(1), number))
    if not marks:
        return None
    if [side for side, _ in marks] != ["begin", "end"]:
        raise NeedsDecision(
            f"the markers of the region {name} are broken (lines {_say(marks)})",
            hint=f"leave one line <!-- skillopt:begin {name} -->, and below it one with end",
        )
    return _Found(marks[0][1], marks[1][1])


def _say(marks: list[tuple[str, int]]) -> str:
    return ", ".join(str(number + 1) for _, number in marks)


def _split(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)
