"""Secrets in rows: tables with a column of passwords, SQL inserts, and the data of a Kubernetes Secret."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillopt_harvesters.redact.names import ANCHOR, Strength, classify
from skillopt_harvesters.redact.values import Look, look_at
from skillopt_harvesters.redact.view import in_order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillopt_harvesters.redact.view import Edit, View

_NAME = re.compile(r"pass|pwd|secret|token|api.?key")
_HEADING = re.compile(r"[A-Za-z_][\w.-]{0,30}(?: [\w.-]{1,20}){0,2}")
_LONGEST_LEAD = len("api-")
_RULE = re.compile(r"[\s|:+=-]*\Z")
_CELL = re.compile(r"[\s\"'`]*(?P<value>.*?)[\s\"'`]*\Z", re.DOTALL)
_SEPARATORS = ("|", "\t", ",", ";")
_LONGEST_LINE = 1000
_MANIFEST = re.compile(r"(?:^|\n)(?P<indent>[ \t]*)(?:stringData|data):[ \t]*(?:\n|\Z)")
_ENTRY = re.compile(r"(?P<indent>[ \t]*)[\w.-]{1,128}:[ \t]+(?P<value>[^\s|>][^\n]{2,4096})")
_INSERT = re.compile(
    r"INSERT\s{1,8}(?:INTO\s{1,8})?[\w.\"`\[\]]{1,128}\s{0,8}\((?P<columns>[^()]{1,1000})\)\s{0,8}VALUES\s{0,8}(?=\()",
    re.IGNORECASE,
)
_ROW = re.compile(
    r"\((?P<row>(?:'(?:[^'\\]|''|\\.){0,2000}'|\"[^\"]{0,2000}\"|[^()'\"]){0,200})\)\s{0,8},?\s{0,8}"
)
_ITEM = re.compile(
    r"\s{0,8}(?:'(?P<single>(?:[^'\\]|''|\\.){0,2000})'|\"(?P<double>[^\"]{0,2000})\"|(?P<bare>[^,'\"]{0,2000}))\s{0,8}(?:,|\Z)"
)


def find_in_tables(view: View) -> Iterator[Edit]:
    """Find the cells under headings that promise secrets, from left to right."""
    if not view.names:
        return
    found = list(_find_in_rows(view)) if "\n" in view.plain else []
    if "insert" in view.lowered:
        found += _find_in_inserts(view.plain)
    if "kind: secret" in view.lowered:
        found += _find_in_manifests(view.plain)
    if found:
        yield from in_order(found)


def _find_in_rows(view: View) -> Iterator[Edit]:
    plain, position = view.plain, 0
    for at in view.names:
        name = _find_name(view.lowered, max(position, at - _LONGEST_LEAD), at) if at >= position else None
        if name is None:
            continue
        start = plain.rfind("\n", max(0, name.start() - _LONGEST_LINE), name.start()) + 1
        end = plain.find("\n", name.end(), name.end() + _LONGEST_LINE)
        position = name.end() if end < 0 else end
        if start < name.start() - _LONGEST_LINE or end < 0:
            continue
        separator, columns = _read_headings(plain[start:end])
        if columns:
            rows = _Rows(plain, end + 1, separator, plain.count(separator, start, end), columns)
            yield from rows
            position = rows.end


def _find_name(lowered: str, start: int, at: int) -> re.Match[str] | None:
    """Return what may head a column in the anchor that begins at a place; "api key" begins before it."""
    anchor = ANCHOR.match(lowered, at)
    return _NAME.search(lowered, start, anchor.end()) if anchor else None


class _Rows:
    """The cells of secrets in the rows of a table; `end` is where the rows read so far end."""

    def __init__(
        self, plain: str, start: int, separator: str, width: int, columns: dict[int, Strength]
    ) -> None:
        self.end = start
        self._plain = plain
        self._separator = separator
        self._width = width
        self._columns = columns

    def __iter__(self) -> Iterator[Edit]:
        while self.end < len(self._plain):
            start = self.end
            stop = self._plain.find("\n", start, start + _LONGEST_LINE)
            stop = min(len(self._plain), start + _LONGEST_LINE) if stop < 0 else stop
            ruled = start < stop and _RULE.match(self._plain, start, stop)
            if not ruled and self._plain.count(self._separator, start, stop) != self._width:
                return
            if not ruled:
                yield from _find_in_row(self._plain, start, stop, self._separator, self._columns)
            self.end = stop + 1


def _read_headings(line: str) -> tuple[str, dict[int, Strength]]:
    """Return the separator and the columns of secrets when a line is a row of headings."""
    for separator in _SEPARATORS:
        if separator not in line:
            continue
        names = _read_cells(line, separator)
        if sum(map(bool, names)) < 2:
            continue
        strengths = {at: classify(name.replace(" ", "_")) for at, name in enumerate(names)}
        columns = {at: strength for at, strength in strengths.items() if strength >= Strength.MEDIUM}
        if columns:
            return separator, columns
    return "", {}


def _read_cells(line: str, separator: str) -> list[str]:
    """Return the cells of a row of headings; none of any other line."""
    names: list[str] = []
    for cell in line.split(separator):
        name = cell.strip(" \t\r\"'`*")
        if name and not _HEADING.fullmatch(name):
            return []
        names.append(name)
    return names


def _find_in_row(
    plain: str, start: int, end: int, separator: str, columns: dict[int, Strength]
) -> Iterator[Edit]:
    for at in range(max(columns) + 1):
        stop = plain.find(separator, start, end)
        stop = end if stop < 0 else stop
        cell = _CELL.match(plain, start, stop)
        if at in columns and cell and _is_secret(cell["value"], columns[at]):
            yield (*cell.span("value"), "secret")
        start = stop + 1


def _is_secret(value: str, strength: Strength) -> bool:
    least = Look.NUMBERED if strength is Strength.PASSWORD else Look.MIXED
    return len(value) >= 4 and " " not in value and look_at(value) >= least


def _find_in_manifests(plain: str) -> Iterator[Edit]:
    """Find what a Secret of Kubernetes holds: every value under its data."""
    for manifest in _MANIFEST.finditer(plain):
        start = manifest.end()
        while (entry := _ENTRY.match(plain, start)) is not None and len(entry["indent"]) > len(
            manifest["indent"]
        ):
            if look_at(entry["value"]) > Look.CODE:
                yield (*entry.span("value"), "secret")
            start = entry.end() + 1


def _find_in_inserts(plain: str) -> Iterator[Edit]:
    for insert in _INSERT.finditer(plain):
        names = [column.strip(" \n\t\"'`[]") for column in insert["columns"].split(",")]
        columns = {
            at: strength for at, name in enumerate(names) if (strength := classify(name)) >= Strength.MEDIUM
        }
        position = insert.end()
        while columns and (row := _ROW.match(plain, position)) is not None:
            yield from _find_in_items(plain, *row.span("row"), columns)
            position = row.end()


def _find_in_items(plain: str, start: int, end: int, columns: dict[int, Strength]) -> Iterator[Edit]:
    for at in range(max(columns) + 1):
        item = _ITEM.match(plain, start, end)
        if item is None:
            return
        kind = item.lastgroup or "bare"
        if at in columns and kind != "bare" and _is_secret(item[kind], columns[at]):
            yield (*item.span(kind), "secret")
        start = item.end()
