"""A proposal as a git branch: one commit on top of HEAD, its evidence in a note beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from skillopt_staging.commits import find_head, make_commit_tree
from skillopt_staging.errors import NeedsDecision, StagingError
from skillopt_staging.files import read_live, refuse_links
from skillopt_staging.front_matter import find_field
from skillopt_staging.messages import branch_name, trailers
from skillopt_staging.plumbing import Repository, decode, encode, run_git
from skillopt_staging.proposals import Part, Staged
from skillopt_staging.texts import FileText, keep_texts, read_texts
from skillopt_staging.trees import split_path

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
    beside: Mapping[str, str | None] | None = None,
    beside_base: Mapping[str, str | None] | None = None,
) -> Staged:
    """Create `branch` with one commit on top of HEAD in which `path` holds `text`; nothing else changes.

    `note` (JSON) is attached to the commit under refs/notes/skillopt. `base_text` is the text the change
    starts from ("" for none); without it, the live file as it is now. `beside` are further files of the
    skill, by their path from the folder of `path`; None takes one away. `beside_base` are the texts those
    start from (None: no file), each without one from the live file as it is now. Staging the same again
    returns what is there, so that a killed run can go on. Raises StagingError when the branch holds
    something else, when a path leads through a link, or when git refuses the repository; Busy when it is
    locked.
    """
    repo = Repository(repository)
    _require_place(repo, path)
    base = read_live(live) if base_text is None else (encode(base_text) or None)
    files = [_make_file(path, live, base, text)]
    _refuse_renaming(files[0])
    for name, content in (beside or {}).items():
        split_path(name)
        folder, other = path.rpartition("/")[0], live.parent / name
        place = f"{folder}/{name}" if folder else name
        _require_place(repo, place)
        if beside_base and name in beside_base:
            known = beside_base[name]
            base = None if known is None else encode(known)
        else:
            base = read_live(other)
        files.append(_make_file(place, other, base, content))
    if all(file.base == file.text for file in files):
        raise StagingError(f"the proposed text is what {live} holds already")
    with repo.locked():
        existing = _existing(repo, branch)
        parent = _only_parent(repo, existing, branch) if existing else find_head(repo)
        tree = make_commit_tree(repo, parent, files)
        if existing and repo.resolve(f"{existing}^{{tree}}") != tree:
            raise StagingError(
                f"the branch {branch} exists and holds something else", hint=f"git branch -D {branch}"
            )
        commit = existing or repo.commit(tree, (parent,) if parent else (), message)
        return write_refs(repo, branch, commit, parent, files, note=note, known=existing)


def write_refs(
    repo: Repository,
    branch: str,
    commit: str,
    parent: str,
    files: list[FileText],
    *,
    note: str,
    known: str,
) -> Staged:
    """Point the branch at the commit, keep the texts and the note; return the record. Needs the lock.

    `known` is where the branch must be now, "" for nowhere.
    """
    texts = keep_texts(repo, files)
    repo.update_refs(
        (f"refs/heads/{branch}", commit, known),
        (f"{KEPT}/{branch}", texts, None),
        reason="skillopt: stage a proposal",
    )
    _attach_note(repo, commit, note)
    first, *others = files
    return Staged(
        repository=str(repo.root),
        branch=branch,
        commit=commit,
        base=parent,
        path=first.path,
        live=str(first.live),
        texts=texts,
        parts=tuple(Part(file.path, str(file.live)) for file in others),
    )


def read(staged: Staged) -> tuple[str, str]:
    """Return the text the change starts from ("" if there was none) and the proposed text."""
    first = read_texts(Repository(Path(staged.repository)), staged)[0]
    return decode(first.base or b"", staged.live), decode(first.text or b"", staged.path)


def read_others(staged: Staged) -> tuple[tuple[str | None, str | None], ...]:
    """Return the same of each further file, in the order of `staged.parts`; None stands for no file."""
    others = read_texts(Repository(Path(staged.repository)), staged)[1:]
    return tuple((_decode_file(file.base, file.path), _decode_file(file.text, file.path)) for file in others)


def _decode_file(data: bytes | None, path: str) -> str | None:
    return None if data is None else decode(data, path)


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


def _only_parent(repo: Repository, commit: str, branch: str) -> str:
    parents = repo.text("rev-list", "--parents", "--max-count=1", commit).split()[1:]
    if len(parents) > 1:
        raise StagingError(f"the branch {branch} exists and holds a merge", hint=f"git branch -D {branch}")
    return parents[0] if parents else ""


def _require_place(repo: Repository, path: str) -> None:
    split_path(path)
    refuse_links(repo.root, path)


def _make_file(path: str, live: Path, base: bytes | None, text: str | None) -> FileText:
    decode(base or b"", str(live))
    return FileText(path, live, base, None if text is None else encode(text))


def _refuse_renaming(file: FileText) -> None:
    before, after = (find_field(decode(data or b"", file.path), "name") for data in (file.base, file.text))
    if before is not None and before != after:
        raise StagingError(
            f"the proposal renames the skill {before!r}", hint="a skill's name stays: clients find it by that"
        )


def _attach_note(repo: Repository, commit: str, note: str) -> None:
    blob = repo.write_blob(encode(note))
    # -C takes the blob as it is; -m and -F would tidy it.
    repo.run("notes", f"--ref={NOTES}", "add", "-f", "-C", blob, commit, env=repo.identity())


def is_checked_out(repo: Repository, branch: str) -> bool:
    """Tell whether some worktree has the branch checked out."""
    return f"branch refs/heads/{branch}" in repo.text("worktree", "list", "--porcelain").split("\n")


def _require_not_checked_out(repo: Repository, branch: str) -> None:
    if is_checked_out(repo, branch):
        raise NeedsDecision(
            f"the branch {branch} is checked out in a worktree", hint="switch that worktree to another branch"
        )
