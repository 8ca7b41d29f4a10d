"""Three-way merges of a skill: what the proposal changed, put onto what is live now."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec

from skillopt_staging.errors import StagingError
from skillopt_staging.plumbing import run_git
from skillopt_staging.regions import find_changed_region, read_region, write_region
from skillopt_staging.styles import plain, restyle

MAX_BYTES = 16 * 1024 * 1024
_MOST_CONFLICTS = 127  # git merge-file counts no further


class Merge(msgspec.Struct, frozen=True):
    """The outcome: `data` in the live file's own line ends, or None and the text `marked` with conflicts."""

    data: bytes | None
    marked: bytes = b""
    conflicts: int = 0


def merge(base: bytes, live: bytes, proposed: bytes) -> Merge:
    """Put the changes from `base` to `proposed` onto `live`.

    Line ends, byte order mark and the missing end of the last line are the live file's, and never a
    difference by themselves. Bytes that are no UTF-8 pass unchanged. A binary file (with a NUL byte) is
    merged only when one side left it alone. Raises StagingError for files beyond 16 MiB.
    """
    if max(map(len, (base, live, proposed))) > MAX_BYTES:
        raise StagingError("the file is larger than 16 MiB", hint="a skill is a short text")
    old, ours, theirs = plain(base), plain(live), plain(proposed)
    if theirs in (old, ours):
        return Merge(live)
    if old == ours:
        return Merge(restyle(theirs, live or proposed))
    if b"\0" in old + ours + theirs:
        return Merge(None, conflicts=1)
    merged = _merge_region(old, ours, theirs)
    if merged is not None:
        return Merge(restyle(merged, live))
    conflicts, text = _merge_lines(old, ours, theirs)
    return Merge(None, text, conflicts) if conflicts else Merge(restyle(text, live))


def _merge_region(base: bytes, live: bytes, proposed: bytes) -> bytes | None:
    """Return `live` with what changed in the one region of ours; None when something else changed as well.

    Lines of the user's right beside a region are no part of it, which a merge by lines would not know.
    """
    if b"<!-- skillopt:" not in base + proposed:
        return None
    old, ours, theirs = (side.decode(errors="surrogateescape") for side in (base, live, proposed))
    name = find_changed_region(old, theirs)
    if name is None:
        return None
    try:
        if read_region(ours, name) != read_region(old, name):
            return None
        return write_region(ours, name, read_region(theirs, name)).encode(errors="surrogateescape")
    except StagingError:
        return None


def same_content(one: bytes, other: bytes) -> bool:
    """Tell whether two files differ at most in line ends, byte order mark or the last line's end."""
    return plain(one) == plain(other)


def _merge_lines(base: bytes, live: bytes, proposed: bytes) -> tuple[int, bytes]:
    try:
        with tempfile.TemporaryDirectory(prefix="skillopt-merge-") as name:
            folder = Path(name)
            for side, data in (("live", live), ("base", base), ("proposed", proposed)):
                (folder / side).write_bytes(data)
            labels = [part for side in ("live", "before", "proposed") for part in ("-L", side)]
            return run_git(
                folder,
                *("merge-file", "-p", "-q", "--diff3", *labels, "live", "base", "proposed"),
                ok=tuple(range(_MOST_CONFLICTS + 1)),
            )
    except OSError as error:
        raise StagingError(
            f"cannot merge in {tempfile.gettempdir()}: {error.strerror or error}", hint="is the disk full?"
        ) from error
