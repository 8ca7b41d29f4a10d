"""Where the files of a task come from: which repository, which commit of it."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skillopt_replay.errors import ReplayError
from skillopt_replay.git import ask_git

if TYPE_CHECKING:
    from skillopt_replay.tasks import Task

_COMMIT = re.compile(r"[0-9a-fA-F]{7,64}\Z")
_REMEMBERED = 1_000


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """`source` is the task's own folder, None for a task without one; `note` says what is taken from it.

    Under git `common` is the folder that holds the objects, `git_dir` the one that holds HEAD, `inside` the
    way from the repository's root to `source`, and `commit` None in a repository without any.
    """

    source: Path | None
    note: str = ""
    git_dir: Path | None = None
    common: Path | None = None
    inside: Path = Path()
    commit: str | None = None

    @property
    def places(self) -> tuple[Path, ...]:
        """The folders that hold the project as it is now, and its history."""
        if self.source is None:
            return ()
        if self.git_dir is None or self.common is None:
            return (self.source,)
        top = self.source.parents[len(self.inside.parts) - 1] if self.inside.parts else self.source
        return (top, self.git_dir, self.common)

    @property
    def is_fixed(self) -> bool:
        """Whether it gives the same files at any time."""
        return self.source is None or self.git_dir is not None


class Origins:
    """Finds origins, and asks git again only when the repository's HEAD has moved."""

    def __init__(self) -> None:
        self._known: dict[tuple[str | None, str | None, str | None], tuple[Origin, object]] = {}

    async def find(self, task: Task) -> Origin:
        """Return the task's origin; see `locate`."""
        key = (task.project, task.commit, task.started)
        origin, state = self._known.get(key, (None, None))
        if origin is not None and origin.is_fixed and _look(origin) == state:
            return origin
        origin = await locate(task)
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[key] = origin, _look(origin)
        return origin


async def locate(task: Task) -> Origin:
    """Return where the task's files come from.

    When the task's commit is not known or gone, the last one before the task started is taken, else the
    newest. Raises ReplayError when the project is gone.
    """
    if not task.project:
        return Origin(source=None, note="no project: an empty folder")
    source = _resolve(task.project)
    if not source.is_dir():
        raise ReplayError(f"the project {source} is gone")
    found = await ask_git(source, "rev-parse", "--show-toplevel", "--git-dir", "--git-common-dir")
    if found is None:
        return Origin(source=source)
    try:
        top, git_dir, common = found.split("\n")
        inside = source.relative_to(_resolve(top))
    except ValueError as error:
        raise ReplayError(
            f"git does not tell where {source} lies in its repository",
            hint="its core.worktree leads elsewhere, or its path has a line end in it",
        ) from error
    commit, note = await _find_commit(source, task)
    return Origin(
        source=source,
        note=note,
        git_dir=(source / git_dir).resolve(),
        # Of a linked worktree the folder that holds its objects is another one's.
        common=(source / common).resolve(),
        inside=inside,
        commit=commit,
    )


async def _find_commit(source: Path, task: Task) -> tuple[str | None, str]:
    """Return the commit to replay at and a note that says which it is; None in an empty repository."""
    gone = ""
    if task.commit:
        name = task.commit if _COMMIT.match(task.commit) else ""
        found = (
            await ask_git(source, "rev-parse", "--quiet", "--verify", f"{name}^{{commit}}") if name else None
        )
        if found:
            return found, f"commit {found[:12]}"
        gone = f"commit {task.commit[:12]} is gone; "
    if task.started:
        found = await ask_git(source, "rev-list", "-1", f"--before={task.started}", "HEAD")
        if found:
            return found, f"{gone}commit {found[:12]}, the last one before the task"
    found = await ask_git(source, "rev-parse", "--quiet", "--verify", "HEAD^{commit}")
    if found:
        return found, f"{gone}commit {found[:12]}, the newest"
    return None, f"{gone}the repository has no commit: an empty folder"


def _resolve(path: str) -> Path:
    try:
        return Path(path).expanduser().resolve()
    except (RuntimeError, ValueError) as error:
        raise ReplayError(f"the project {path!r} is no place: {error}") from error


def _look(origin: Origin) -> object:
    """Return what changes when the folder is another one, or HEAD leads to another commit."""
    if origin.source is None:
        return None
    if origin.git_dir is None or origin.common is None:
        return object()  # equal to nothing
    files = [origin.git_dir / "HEAD", origin.common / "packed-refs", origin.common / "reftable/tables.list"]
    head = b""
    with contextlib.suppress(OSError):
        head = files[0].read_bytes()
    if head.startswith(b"ref: refs/"):
        files.append(origin.common / os.fsdecode(head[len(b"ref: ") :].strip()))
    states: list[object] = [head]
    for path in (origin.source, origin.git_dir, *files):
        try:
            status = path.stat()
            state = (status.st_dev, status.st_ino)
            # Of folders only who they are: what lies in them changes all the time.
            states.append(state if path in (origin.source, origin.git_dir) else (*state, status.st_ctime_ns))
        except (OSError, ValueError):
            states.append(None)  # gone, or no name that a file can have
    return states
