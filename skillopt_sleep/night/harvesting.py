"""Bringing the index up to date with the transcripts on disk."""

from __future__ import annotations

import msgspec


class HarvestReport(msgspec.Struct, frozen=True, kw_only=True):
    """What one harvest read; `sessions` and `turns` count what is new or was read again."""

    files_seen: int
    files_read: int
    bytes_read: int
    sessions: int
    turns: int
    skipped: int
    warnings: tuple[str, ...]
    seconds: float
