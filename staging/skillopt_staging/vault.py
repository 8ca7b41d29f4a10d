"""The vault: a git repository of our own that mirrors skills which lie in no repository."""

from __future__ import annotations

import os
from pathlib import Path

from skillopt_staging.errors import StagingError
from skillopt_staging.files import read_live
from skillopt_staging.plumbing import EMAIL, NAME, Repository, lock, run_git
from skillopt_staging.trees import find_file, replace_file, split_path

MAIN = "refs/heads/main"
_MARK = "skillopt.vault"
_SETTINGS = {
    # Nothing is ever checked out in the vault, and git says so instead of listing every file as deleted.
    "core.bare": "true",
    "core.hooksPath": os.devnull,
    "core.autocrlf": "false",
    "core.logAllRefUpdates": "true",
    "commit.gpgSign": "false",
    "user.name": NAME,
    "user.email": EMAIL,
    # The last one: it says that all of the above is in place.
    _MARK: "true",
}


class Vault:
    """The vault in folder `root`, made at first use. Any git tool can look at it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def mirror(self, live: Path, path: str) -> str:
        """Commit on main what `live` holds now under `path`, if it differs; return main's commit.

        Call it before staging, so that a proposal starts from what the user has. "" when there is nothing
        to mirror yet. Raises Busy when another run works on the vault.
        """
        split_path(path)
        repo = self.open()
        with repo.locked():
            data = read_live(live)
            known = repo.resolve(MAIN)
            return record(repo, path, data, f"Outside edit of {path} noticed" if known else f"Mirror {path}")

    def open(self) -> Repository:
        """Return the vault's repository, made if it is not there. Raises StagingError when it cannot be."""
        folder = self.root / ".git"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StagingError(f"cannot make the vault {self.root}: {error.strerror}") from error
        with lock(folder):
            # Read as a file: until it is whole, git would take a repository further up for the vault.
            mark = ("config", "--file", str(folder / "config"), _MARK)
            if run_git(self.root, *mark, ok=(0, 1))[1] != b"true\n":
                _initialise(self.root)
        return Repository(self.root)


def is_vault(repo: Repository) -> bool:
    """Tell whether this repository is a vault, where apply commits, or a user's own, where it never does."""
    return repo.ask("config", "--local", _MARK) == "true"


def record(repo: Repository, path: str, data: bytes | None, message: str, merged: str = "") -> str:
    """Commit on the vault's main that `path` holds `data` (None: is gone); return main's commit.

    `merged` is a second parent, the proposal that `data` came from. Needs the vault's lock. Nothing is
    committed when main holds `data` already.
    """
    head = repo.resolve(MAIN)
    tree = repo.resolve(f"{head}^{{tree}}") if head else ""
    old = find_file(repo, tree, path)
    blob = "" if data is None else repo.write_blob(data)
    if (old.id if old else "") == blob:
        return head
    parents = tuple(parent for parent in (head, merged) if parent)
    commit = repo.commit(replace_file(repo, tree, path, blob), parents, message)
    repo.update_refs((MAIN, commit, head), reason="skillopt: record what is live")
    return commit


def _initialise(root: Path) -> None:
    # An empty template keeps out the hooks a user's own template would bring.
    run_git(root, "init", "--quiet", "--template=")
    run_git(root, "symbolic-ref", "HEAD", MAIN)
    for name, value in _SETTINGS.items():
        run_git(root, "config", "--local", name, value)
