"""What lies where transcripts are looked for: folders and files, counted up to a bound, none opened."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from skillopt_harvesters.sources import Source

_BOUND = 10_000


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """One client's roots that exist and that do not, and the files below; `trouble` cannot be read.

    `files` is exact unless `is_more`: then counting stopped there.
    """

    present: tuple[str, ...]
    missing: tuple[str, ...]
    files: int
    is_more: bool
    trouble: tuple[str, ...]


def survey(source: Source, env: Mapping[str, str], home: Path, *, bound: int = _BOUND) -> Survey:
    """Look at a source's roots; at most `bound` files are counted."""
    present: list[str] = []
    missing: list[str] = []
    trouble: list[str] = []
    files = 0
    for root in source.roots(env, home):
        if not root.exists():
            missing.append(str(root))
            continue
        present.append(str(root))
        for path in islice(source.discover(root, warn=trouble.append), bound + 1 - files):
            files += 1
            if not os.access(path, os.R_OK):
                trouble.append(f"cannot read {path}")
    return Survey(
        present=tuple(present),
        missing=tuple(missing),
        files=min(files, bound),
        is_more=files > bound,
        trouble=tuple(trouble),
    )
