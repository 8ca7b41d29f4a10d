"""Trees with one file changed, built object by object: no index, whatever the size of the repository."""

from __future__ import annotations

import os
import re

import msgspec

from skillopt_staging.errors import StagingError
from skillopt_staging.plumbing import Repository

PLAIN = "100644"
_FILES = {PLAIN, "100755", "100664"}
_KINDS = {"040000": "a folder", "120000": "a symbolic link", "160000": "a submodule"}
# Names git refuses in an index because some file system would read them as its own folder.
_GIT_FOLDER = re.compile(r"\.git[ .]*|git~1", re.IGNORECASE)


class Entry(msgspec.Struct, frozen=True):
    """One line of a tree: `mode` as git prints it, `id` of the blob, tree or commit, `name` of the file."""

    mode: str
    id: str
    name: str

    @property
    def kind(self) -> str:
        """Return tree, commit or blob."""
        return {"040000": "tree", "160000": "commit"}.get(self.mode, "blob")


def split_path(path: str) -> tuple[str, ...]:
    """Return the parts of a path inside a repository. Raises StagingError when it could lead out of it."""
    parts = tuple(path.split("/"))
    if any(part in {"", ".", ".."} or "\0" in part or _GIT_FOLDER.fullmatch(part) for part in parts):
        raise StagingError(
            f"{path!r} is no path inside a repository", hint="give it relative to the top level, without .."
        )
    return parts


def list_tree(repo: Repository, tree: str) -> list[Entry]:
    """Return the entries of one tree, not of those below it."""
    entries = []
    for line in os.fsdecode(repo.run("ls-tree", "-z", "--full-tree", tree)).split("\0")[:-1]:
        head, _, name = line.partition("\t")
        mode, _, oid = head.split(" ")
        entries.append(Entry(mode, oid, name))
    return entries


def find_file(repo: Repository, tree: str, path: str) -> Entry | None:
    """Return the file at `path`; None when there is none. Raises StagingError for links and submodules."""
    here = tree
    parts = split_path(path)
    for depth, part in enumerate(parts, start=1):
        entry = next((item for item in list_tree(repo, here) if item.name == part), None) if here else None
        if entry is None:
            return None
        _require(entry, "/".join(parts[:depth]), folder=depth < len(parts))
        here = entry.id
    return entry


def read_file(repo: Repository, tree: str, path: str) -> bytes | None:
    """Return the bytes of the file at `path` in a tree; None when there is none."""
    entry = find_file(repo, tree, path)
    return None if entry is None else repo.read_blob(entry.id)


def replace_file(repo: Repository, tree: str, path: str, blob: str) -> str:
    """Return the id of `tree` with `path` holding `blob`; "" removes the file. `tree` "" is the empty one.

    Modes of what is there are kept. Raises StagingError when the path leads through a link or a submodule.
    """
    changed = _replace(repo, tree, split_path(path), blob, ())
    return changed or make_tree(repo, [])


def make_tree(repo: Repository, entries: list[Entry]) -> str:
    """Store a tree and return its id. Blobs may be missing here, as they are in a partial clone."""
    lines = [f"{entry.mode} {entry.kind} {entry.id}\t{entry.name}\0" for entry in entries]
    return repo.text("mktree", "-z", "--missing", data=os.fsencode("".join(lines)))


def _replace(repo: Repository, tree: str, parts: tuple[str, ...], blob: str, above: tuple[str, ...]) -> str:
    entries = list_tree(repo, tree) if tree else []
    name, *rest = parts
    old = next((entry for entry in entries if entry.name == name), None)
    if old:
        _require(old, "/".join((*above, name)), folder=bool(rest))
    others = [entry for entry in entries if entry.name != name]
    if rest:
        inner = _replace(repo, old.id if old else "", tuple(rest), blob, (*above, name))
        new = Entry("040000", inner, name)
    else:
        new = Entry(old.mode if old else PLAIN, blob, name)
    if new.id:
        others.append(new)
    return make_tree(repo, others) if others else ""


def _require(entry: Entry, path: str, *, folder: bool) -> None:
    if folder and entry.mode == "040000":
        return
    if not folder and entry.mode in _FILES:
        return
    found = _KINDS.get(entry.mode, "a file")
    raise StagingError(
        f"{path} is {found} in the repository, not {'a folder' if folder else 'a file'}",
        hint="name the place of the real file",
    )
