"""A commit of the applied files alone, on the user's branch, made the way the user's own git makes one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from skillopt_staging.errors import Busy, NeedsDecision, StagingError
from skillopt_staging.plumbing import Repository, encode, run_git
from skillopt_staging.proposals import Staged

_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
}
_LEAVE_OUT = "or leave out --commit"


def require_committable(staged: Staged) -> None:
    """Raise NeedsDecision when a commit of the proposal's files would take more along, or go nowhere.

    That is: HEAD on no branch, a merge or rebase under way, edits in those files that are not committed, a
    bare repository, an ignored file. Busy when another git holds the index. Call it before `apply`.
    """
    repo = Repository(Path(staged.repository))
    if repo.ask("config", "--bool", "core.bare") == "true":
        raise NeedsDecision(f"{repo.root} has no working tree to commit from", hint="leave out --commit")
    if not repo.ask("symbolic-ref", "--quiet", "HEAD"):
        raise NeedsDecision(f"HEAD of {repo.root} is on no branch", hint=f"switch to one, {_LEAVE_OUT}")
    for name, what in _UNDER_WAY.items():
        if Path(repo.root, repo.text("rev-parse", "--git-path", name)).exists():
            raise NeedsDecision(f"{what} is under way in {repo.root}", hint=f"end it, {_LEAVE_OUT}")
    if Path(repo.root, repo.text("rev-parse", "--git-path", "index.lock")).exists():
        raise Busy(f"another git process holds the index of {repo.root}", hint="try again when it has ended")
    paths = _list_paths(staged)
    if changed := _as_user(repo, "status", "--porcelain", "-z", "--untracked-files=no", "--", *paths):
        raise NeedsDecision(
            f"{changed.split(chr(0))[0][3:]} has edits that a commit would take along",
            hint=f"commit or stash them, {_LEAVE_OUT}",
        )
    if run_git(repo.root, "check-ignore", "-q", "--", staged.path, ok=(0, 1), as_user=True)[0] == 0:
        raise NeedsDecision(f"{staged.path} is ignored by git", hint="leave out --commit")


def commit_files(staged: Staged, message: str) -> str:
    """Commit the proposal's files as they are live, and nothing else; return the commit's id.

    Hooks run and commits are signed as the user has it configured. "" when the files are as HEAD has them.
    Raises StagingError with git's own words when it refuses; the files are then as before, not committed.
    """
    repo = Repository(Path(staged.repository))
    paths = _list_paths(staged)
    if not _as_user(repo, "status", "--porcelain", "-z", "--untracked-files=all", "--", *paths):
        return ""
    new = [path for path in paths if not repo.peek("ls-files", "-z", "--", path)]
    there = [path for path in new if (repo.root / _plain(path)).exists()]
    if there:
        _as_user(repo, "add", "--intent-to-add", "--", *there)
    known = [path for path in paths if path not in new or path in there]
    try:
        _as_user(repo, "commit", "--only", "--quiet", "-F", "-", "--", *known, data=encode(message))
    except StagingError:
        if there:
            _as_user(repo, "rm", "--cached", "--quiet", "--force", "--", *there)
        raise
    return repo.resolve("HEAD^{commit}")


def _as_user(repo: Repository, *arguments: str, data: bytes = b"") -> str:
    return run_git(repo.root, *arguments, data=data, as_user=True)[1].decode(errors="surrogateescape")


def _list_paths(staged: Staged) -> Sequence[str]:
    return [f":(top,literal){path}" for path in (staged.path, *(part.path for part in staged.parts))]


def _plain(path: str) -> str:
    return path.removeprefix(":(top,literal)")
