"""What a proposal's commit holds: HEAD's tree with the proposed files in it, as git would store them."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt_staging.errors import StagingError
from skillopt_staging.plumbing import Repository
from skillopt_staging.texts import FileText
from skillopt_staging.trees import Entry, find_file, replace_file


def find_head(repo: Repository) -> str:
    """Return the commit HEAD stands on; "" when the repository has none yet."""
    commit = repo.resolve("HEAD^{commit}")
    if not commit and (repo.resolve("HEAD") or not repo.ask("symbolic-ref", "--quiet", "HEAD")):
        raise StagingError(f"HEAD of {repo.root} is damaged", hint="see what git fsck says")
    return commit


def make_commit_tree(repo: Repository, parent: str, files: Sequence[FileText]) -> str:
    """Return the tree of `parent` ("" for none) with the proposed texts in it."""
    tree = repo.resolve(f"{parent}^{{tree}}") if parent else ""
    for file in files:
        old = find_file(repo, tree, file.path)
        data = file.text
        if data is None:
            tree = replace_file(repo, tree, file.path, "") if old else tree
            continue
        if b"\r\n" in data and _stores_lf(repo, old, file.path):
            data = data.replace(b"\r\n", b"\n")
        tree = replace_file(repo, tree, file.path, repo.write_blob(data))
    return tree


def _stores_lf(repo: Repository, old: Entry | None, path: str) -> bool:
    """Tell whether git would store this path with LF, whatever the working tree has."""
    if old:
        stored = repo.read_blob(old.id)
        return b"\n" in stored and b"\r\n" not in stored
    if repo.ask("config", "core.autocrlf") in {"true", "input"}:
        return True
    fields = repo.text("check-attr", "-z", "text", "eol", "--", path).split("\0")
    text, eol = fields[2], fields[5]
    return text in {"set", "auto"} or (text != "unset" and eol in {"lf", "crlf"})
