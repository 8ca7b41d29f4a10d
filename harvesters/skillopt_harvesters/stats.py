"""What a harvest counts, and the warnings it gives."""

from __future__ import annotations

import msgspec

_MAX_WARNINGS = 200


class HarvestStats(msgspec.Struct, kw_only=True):
    """Counts of one harvest, growing while it runs. `sessions` and `turns` are those of changed sessions.

    `skipped` counts what could not be used and was not counted by an earlier harvest: records, and files
    that could not be read. `gone` names the files that have a cursor and are no longer there (the client
    deletes old transcripts). Of the files that changed, `files_found` and `bytes_found` say what there is to
    read, which is known when all folders have been looked through, and `files_done` and `bytes_done` how
    much of that is.
    """

    files_seen: int = 0
    files_found: int = 0
    files_done: int = 0
    bytes_found: int = 0
    bytes_done: int = 0
    files_read: int = 0
    bytes_read: int = 0
    sessions: int = 0
    turns: int = 0
    skipped: int = 0
    warnings: list[str] = msgspec.field(default_factory=list)
    unsaid: int = 0
    gone: list[str] = msgspec.field(default_factory=list)

    def warn(self, text: str) -> None:
        """Add a warning; beyond the first 200 they are counted."""
        if len(self.warnings) < _MAX_WARNINGS:
            self.warnings.append(text)
        else:
            self.unsaid += 1

    @property
    def told(self) -> tuple[str, ...]:
        """The warnings, and how many more there were."""
        more = (f"and {self.unsaid} more warning{'s' * (self.unsaid > 1)}",) if self.unsaid else ()
        return (*self.warnings, *more)
