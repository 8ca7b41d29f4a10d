"""The texts of a proposal, kept byte for byte in a tree of their own: what it starts from, and the change."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from skillopt_staging.errors import StagingError
from skillopt_staging.plumbing import Repository
from skillopt_staging.proposals import Staged
from skillopt_staging.trees import PLAIN, Entry, list_tree, make_tree, read_file


class FileText(msgspec.Struct, frozen=True):
    """One file of a proposal: `base` is what the change starts from, `text` the change; None: no file."""

    path: str
    live: Path
    base: bytes | None
    text: bytes | None


def keep_texts(repo: Repository, files: Sequence[FileText]) -> str:
    """Store the texts of the files, SKILL.md first; return the id of their tree."""
    entries = []
    for number, file in enumerate(files):
        for side, data in (("base", file.base), ("text", file.text)):
            if data is not None:
                entries.append(Entry(PLAIN, repo.write_blob(data), _name(side, number)))
    return make_tree(repo, entries)


def read_texts(repo: Repository, staged: Staged) -> tuple[FileText, ...]:
    """Return the files of a proposal, SKILL.md first."""
    places = [(staged.path, staged.live), *((part.path, part.live) for part in staged.parts)]
    if staged.texts:
        known = {entry.name: entry.id for entry in list_tree(repo, staged.texts)}

        def read(side: str, number: int) -> bytes | None:
            blob = known.get(_name(side, number))
            return None if blob is None else repo.read_blob(blob)

        return tuple(
            FileText(path, Path(live), read("base", number), read("text", number))
            for number, (path, live) in enumerate(places)
        )
    files = [
        FileText(
            path,
            Path(live),
            read_file(repo, staged.base, path) if staged.base else None,
            read_file(repo, staged.commit, path),
        )
        for path, live in places
    ]
    if files[0].text is None:
        raise StagingError(f"the commit {staged.commit[:12]} does not hold {staged.path}")
    return tuple(files)


def _name(side: str, number: int) -> str:
    return f"{side}.{number}" if number else side
