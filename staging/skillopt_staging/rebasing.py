"""Proposals that grew old: carried over to what HEAD and the live files are now, or found to be past help."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

import msgspec

from skillopt_staging.branches import is_checked_out, write_refs
from skillopt_staging.commits import find_head, make_commit_tree
from skillopt_staging.errors import Conflict, NeedsDecision
from skillopt_staging.files import read_live, refuse_links
from skillopt_staging.merge import same_content
from skillopt_staging.plans import merge_in
from skillopt_staging.plumbing import Repository
from skillopt_staging.proposals import Staged
from skillopt_staging.texts import FileText, read_texts


class Standing(str, Enum):
    """How a proposal stands to what is there now.

    CURRENT: nothing moved under it, or the branch is in the user's hands. MOVED: it was carried over, with
    the texts it was made of. MERGED: it was carried over, and its text is another one now. LIVE: the live
    files hold it already. STALE: what it changes was changed by the user.
    """

    CURRENT = "current"
    MOVED = "moved"
    MERGED = "merged"
    LIVE = "live"
    STALE = "stale"


class Rebased(msgspec.Struct, frozen=True):
    """The proposal as it lies now, and why it is past help ("" when it is not)."""

    staged: Staged
    standing: Standing
    reason: str = ""


def rebase(staged: Staged, *, message: str, note: str) -> Rebased:
    """Carry the proposal's branch over to HEAD, with its change merged into the live files as they are now.

    Branch, texts and note move in one step; only the branch of ours is touched. Nothing is done for a
    branch that is gone, has other commits or is checked out. Raises Busy when the repository is held.
    """
    repo = Repository(Path(staged.repository))
    with repo.locked():
        ref = f"refs/heads/{staged.branch}"
        if repo.resolve(ref) != staged.commit or is_checked_out(repo, staged.branch):
            return Rebased(staged, Standing.CURRENT)
        files = read_texts(repo, staged)
        try:
            merged = [_carry_over(repo, file) for file in files]
        except (Conflict, NeedsDecision) as error:
            return Rebased(staged, Standing.STALE, error.message)
        if all(file.base == file.text for file in merged):
            return Rebased(staged, Standing.LIVE)
        head = find_head(repo)
        if head == staged.base and all(new.base == old.base for new, old in zip(merged, files, strict=True)):
            return Rebased(staged, Standing.CURRENT)
        tree = make_commit_tree(repo, head, merged)
        commit = repo.commit(tree, (head,) if head else (), message)
        moved = write_refs(repo, staged.branch, commit, head, merged, note=note, known=staged.commit)
        same = all(
            same_content(new.text or b"", old.text or b"") for new, old in zip(merged, files, strict=True)
        )
        return Rebased(moved, Standing.MOVED if same else Standing.MERGED)


def _carry_over(repo: Repository, file: FileText) -> FileText:
    refuse_links(repo.root, file.path)
    now = read_live(file.live)
    return FileText(file.path, file.live, now, merge_in(file, now, file.text))
