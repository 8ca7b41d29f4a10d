"""A proposal as a git branch: one commit on top of HEAD, its evidence in a note beside it."""

from __future__ import annotations

from pathlib import Path

from skillopt_staging.errors import NeedsDecision, StagingError
from skillopt_staging.files import read_live, refuse_links
from skillopt_staging.messages import branch_name, trailers
from skillopt_staging.plumbing import Repository, decode, encode, run_git
from skillopt_staging.proposals import Staged
from skillopt_staging.trees import PLAIN, Entry, find_file, make_tree, read_file, replace_file, split_path

__all__ = ["branch_name", "discard", "read", "read_note", "stage", "trailers"]

NOTES = "refs/notes/skillopt"
KEPT = "refs/skillopt/staged"


def stage(
    repository: Path,
    *,
    branch: str,
    path: str,
    text: str,
    message: str,
    note: str,
    live: Path,
    base_text: str | None = None,
) -> Staged:
    """Create `branch` with one commit on top of HEAD in which `path` holds `text`; nothing else changes.

    `note` (JSON) is attached to the commit under refs/notes/skillopt. `base_text` is the text the change
    starts from ("" for none); without it, the live file as it is now. Staging the same again returns what
    is there, so that a killed run can go on. Raises StagingError when the branch holds something else, when
    the path leads through a link, or when git refuses the repository; Busy when it is locked.
    """
    repo = Repository(repository)
    split_path(path)
    refuse_links(repo.root, path)
    base = read_live(live) if base_text is None else (encode(base_text) or None)
    decode(base or b"", str(live))
    proposed = encode(text)
    if base == proposed:
        raise StagingError(f"the proposed text is what {live} holds already")
    with repo.locked():
        existing = _existing(repo, branch)
        parent = _only_parent(repo, existing, branch) if existing else _head(repo)
        tree = _commit_tree(repo, parent, path, proposed)
        if existing and repo.resolve(f"{existing}^{{tree}}") != tree:
            raise StagingError(
                f"the branch {branch} exists and holds something else", hint=f"git branch -D {branch}"
            )
        commit = existing or repo.commit(tree, (parent,) if parent else (), message)
        texts = _keep_texts(repo, base, proposed)
        repo.update_refs(
            (f"refs/heads/{branch}", commit, existing),
            (f"{KEPT}/{branch}", texts, None),
            reason="skillopt: stage a proposal",
        )
        _attach_note(repo, commit, note)
    return Staged(
        repository=str(repo.root),
        branch=branch,
        commit=commit,
        base=parent,
        path=path,
        live=str(live),
        texts=texts,
    )


def read(staged: Staged) -> tuple[str, str]:
    """Return the text the change starts from ("" if there was none) and the proposed text."""
    base, text = read_texts(Repository(Path(staged.repository)), staged)
    return decode(base or b"", staged.live), decode(text, staged.path)


def read_note(staged: Staged) -> str:
    """Return the evidence stored beside the commit; "" when there is none."""
    repo = Repository(Path(staged.repository))
    blob = repo.ask("notes", f"--ref={NOTES}", "list", staged.commit)
    return decode(repo.read_blob(blob), "the note") if blob else ""


def discard(staged: Staged) -> None:
    """Delete the branch; the note stays. A branch that is gone already is no error.

    Raises NeedsDecision when the branch holds other commits than ours or is checked out.
    """
    repo = Repository(Path(staged.repository))
    with repo.locked():
        found = require_ours(repo, staged)
        kept = f"{KEPT}/{staged.branch}"
        changes: list[tuple[str, str, str | None]] = [(kept, "", None)] if repo.resolve(kept) else []
        if found:
            _require_not_checked_out(repo, staged.branch)
            changes.append((f"refs/heads/{staged.branch}", "", staged.commit))
        if changes:
            repo.update_refs(*changes, reason="skillopt: discard")


def read_texts(repo: Repository, staged: Staged) -> tuple[bytes | None, bytes]:
    """Return the bytes the change starts from (None if there was no file) and the proposed bytes."""
    if staged.texts:
        return read_file(repo, staged.texts, "base"), repo.read_blob(f"{staged.texts}:text")
    base = read_file(repo, staged.base, staged.path) if staged.base else None
    text = read_file(repo, staged.commit, staged.path)
    if text is None:
        raise StagingError(f"the commit {staged.commit[:12]} does not hold {staged.path}")
    return base, text


def require_ours(repo: Repository, staged: Staged) -> bool:
    """Tell whether the branch is there. Raises NeedsDecision when it holds other commits than ours."""
    found = repo.resolve(f"refs/heads/{staged.branch}")
    if found and found != staged.commit:
        raise NeedsDecision(
            f"the branch {staged.branch} has other commits than the proposal's",
            hint=f"merge it with git, or: git branch -f {staged.branch} {staged.commit[:12]}",
        )
    return bool(found)


def _existing(repo: Repository, branch: str) -> str:
    """Return the commit the branch is at; "" when it may be created."""
    ref = f"refs/heads/{branch}"
    if "\0" in branch or branch.startswith("-") or run_git(repo.root, "check-ref-format", ref, ok=(0, 1))[0]:
        raise StagingError(f"{branch!r} is no name for a branch")
    found = repo.resolve(ref)
    if not found:
        _require_not_checked_out(repo, branch)
    return found


def _head(repo: Repository) -> str:
    """Return the commit HEAD stands on; "" when the repository has none yet."""
    commit = repo.resolve("HEAD^{commit}")
    if not commit and (repo.resolve("HEAD") or not repo.ask("symbolic-ref", "--quiet", "HEAD")):
        raise StagingError(f"HEAD of {repo.root} is damaged", hint="see what git fsck says")
    return commit


def _only_parent(repo: Repository, commit: str, branch: str) -> str:
    parents = repo.text("rev-list", "--parents", "--max-count=1", commit).split()[1:]
    if len(parents) > 1:
        raise StagingError(f"the branch {branch} exists and holds a merge", hint=f"git branch -D {branch}")
    return parents[0] if parents else ""


def _commit_tree(repo: Repository, parent: str, path: str, proposed: bytes) -> str:
    tree = repo.resolve(f"{parent}^{{tree}}") if parent else ""
    old = find_file(repo, tree, path)
    data = proposed
    if b"\r\n" in data and _stores_lf(repo, old, path):
        data = data.replace(b"\r\n", b"\n")
    return replace_file(repo, tree, path, repo.write_blob(data))


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


def _keep_texts(repo: Repository, base: bytes | None, proposed: bytes) -> str:
    entries = [] if base is None else [Entry(PLAIN, repo.write_blob(base), "base")]
    return make_tree(repo, [*entries, Entry(PLAIN, repo.write_blob(proposed), "text")])


def _attach_note(repo: Repository, commit: str, note: str) -> None:
    blob = repo.write_blob(encode(note))
    # -C takes the blob as it is; -m and -F would tidy it.
    repo.run("notes", f"--ref={NOTES}", "add", "-f", "-C", blob, commit, env=repo.identity())


def _require_not_checked_out(repo: Repository, branch: str) -> None:
    listing = repo.text("worktree", "list", "--porcelain").split("\n")
    if f"branch refs/heads/{branch}" in listing:
        raise NeedsDecision(
            f"the branch {branch} is checked out in a worktree", hint="switch that worktree to another branch"
        )
