"""Make recorded transcripts fit to be published: short, without the machine, on the story's clock."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from typing import Any

LONGEST = 80
_KEPT = 30
_LISTED = 2
_DROPPED = frozenset({"api-request", "api-request-shape", "api-request-blob"})
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def clean(
    lines: Sequence[str],
    *,
    turns: Sequence[tuple[int, datetime]],
    names: Mapping[str, str],
) -> list[str]:
    """Return the lines of one session, cleaned, each a JSON object.

    `turns` says for each turn how many lines the file had when the turn was over, and when the turn began in
    the story; the lines after the last turn belong to it. `names` are texts to replace, the longest first.
    Records that repeat whole requests are dropped; client text in attachments and injected messages is cut
    when longer than `LONGEST` characters, and so are long
    lists in attachments. Order, keys and ids stay.
    """
    records = [json.loads(_rename(line, names)) for line in lines]
    cleaned = []
    first = 0
    for number, (end, start) in enumerate(turns):
        part = records[first : len(records) if number + 1 == len(turns) else end]
        first = end
        begin = _begin(part)
        delta, days = start - begin, (start.date() - begin.date()).days
        for record in part:
            if record["type"] not in _DROPPED:
                moved = _shift(_cut_client_text(record), delta, days)
                cleaned.append(json.dumps(moved, ensure_ascii=False, separators=(",", ":")))
    return cleaned


def _rename(line: str, names: Mapping[str, str]) -> str:
    for name in sorted(names, key=len, reverse=True):
        line = line.replace(name, names[name])
    return line


def _begin(records: Sequence[Mapping[str, Any]]) -> datetime:
    stamps = [record["timestamp"] for record in records if record["type"] == "user"]
    return _read(stamps[0])


def _cut_client_text(record: dict[str, Any]) -> dict[str, Any]:
    if record["type"] == "attachment":
        attachment = dict(record["attachment"])
        if attachment["type"] == "prompt_snapshot":
            attachment["systemPrompt"] = [_cut("".join(attachment.get("systemPrompt", [])))]
            if "tools" in attachment:
                attachment["tools"] = [{"name": tool.get("name")} for tool in attachment["tools"]]
        for key, value in attachment.items():
            if isinstance(value, list) and len(value) > _LISTED and key not in {"names", "tools"}:
                attachment[key] = [*value[:_LISTED], f"…[{len(value) - _LISTED} more cut]"]
        own = {"context": attachment.pop("context")} if "context" in attachment else {}
        rest = {key: value for key, value in record.items() if key != "attachment"}
        return {**_map_texts(rest, _cut), "attachment": {**_map_texts(attachment, _cut), **own}}
    if record["type"] == "user" and record.get("isMeta"):
        return _map_texts(record, _cut)
    return record


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[:_KEPT]}…[{len(text) - _KEPT} characters of client text cut]"


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_map_texts(item, change) for item in value]
    if isinstance(value, dict):
        return {key: _map_texts(item, change) for key, item in value.items()}
    return value


def _shift(value: Any, delta: timedelta, days: int, key: str = "") -> Any:
    """Move every time of a record: ISO stamps, milliseconds since 1970, and the date told to the model."""
    if isinstance(value, str):
        if _STAMP.fullmatch(value):
            return _write(_read(value) + delta)
        if key in {"date", "content"}:
            return re.sub(r"\b20\d\d-\d\d-\d\d\b", lambda day: _shift_day(day[0], days), value)
        return value
    if isinstance(value, int) and key in {"sentAtMs", "startTime"}:
        return value + round(delta / timedelta(milliseconds=1))
    if isinstance(value, list):
        return [_shift(item, delta, days, key) for item in value]
    if isinstance(value, dict):
        if value.get("role") in {"assistant", "user"}:  # what was said stays said
            return value
        return {name: _shift(item, delta, days, name) for name, item in value.items()}
    return value


def _shift_day(day: str, days: int) -> str:
    return f"{date.fromisoformat(day) + timedelta(days=days):%Y-%m-%d}"


def _read(stamp: str) -> datetime:
    return datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)


def _write(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"
