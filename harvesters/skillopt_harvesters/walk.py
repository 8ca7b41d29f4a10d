"""Finding transcript files below a root, whatever the disk looks like."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def walk_files(
    root: Path, suffixes: tuple[str, ...], *, warn: Callable[[str], None] | None = None
) -> Iterator[Path]:
    """Yield the regular files below `root` whose name ends in a suffix, in a stable order.

    Links to folders are followed, each folder once, so loops end. What cannot be read is left out and told
    to `warn`; a missing root yields nothing.
    """
    visited: set[tuple[int, int]] = set()
    pending = [os.fspath(root)]
    while pending:
        folder = pending.pop()
        try:
            here = os.stat(folder)  # noqa: PTH116 - scandir names, no Path per entry
            if (here.st_dev, here.st_ino) in visited:
                continue
            visited.add((here.st_dev, here.st_ino))
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            if warn and not (isinstance(error, FileNotFoundError) and folder == os.fspath(root)):
                warn(f"cannot read {folder}: {error.strerror}")
            continue
        below = []
        for entry in entries:
            try:
                if entry.is_dir():
                    below.append(entry.path)
                elif entry.name.endswith(suffixes) and entry.is_file():
                    yield Path(entry.path)
            except OSError as error:
                if warn:
                    warn(f"cannot read {entry.path}: {error.strerror}")
        pending.extend(reversed(below))
