"""Git plumbing in a clean environment: no hooks, no index, no prompts, no variables of a calling git."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt_staging.errors import Busy, NeedsDecision, NoRepository, StagingError

if TYPE_CHECKING:
    from git.cmd import Git

OLDEST_GIT = (2, 25)
_NAMES_HOOKS = (2, 54)  # the first that runs hooks which its settings name, wherever core.hooksPath leads
TIMEOUT_S = 120.0
LOCK_TIMEOUT_S = 15.0
LOCK_NAME = "skillopt.lock"
NAME = "SkillOpt-Sleep"
EMAIL = "skillopt-sleep@localhost"

# What may reach git from outside: where its configuration and programs are, never which repository to use.
_KEPT = {
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_EXEC_PATH",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
}
# Programs that a project's own settings name are not started behind the user's back. A partial clone fetches
# by itself what it lacks, by one of them; another tells git which files have changed.
_NO_TRANSPORT = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1"}
# reference-transaction hooks run even for update-ref, hence the path that holds none.
_SETTINGS = (
    f"core.hooksPath={os.devnull}",
    "core.fsmonitor=false",
    "i18n.commitEncoding=UTF-8",
    "gc.auto=0",
    "maintenance.auto=false",
)
_BUSY = ("File exists", "Another git process", "could not lock", "Resource temporarily unavailable")
_LACKING = re.compile(r"lazy fetching disabled|transport '[^']*' not allowed")
_MOVED = ("but expected", "reference already exists", "unable to resolve reference")


@cache
def _load() -> type[Git]:
    try:
        from git.cmd import Git as Loaded
    except ImportError as error:
        raise StagingError(
            "git cannot be started", hint=f"install git {OLDEST_GIT[0]}.{OLDEST_GIT[1]} or newer"
        ) from error
    version = tuple(Loaded().version_info)[:2]
    if version < OLDEST_GIT:
        raise StagingError(
            f"git {'.'.join(map(str, version))} is too old",
            hint=f"install git {OLDEST_GIT[0]}.{OLDEST_GIT[1]} or newer",
        )
    return Loaded


@cache
def _find_version() -> tuple[int, ...]:
    return tuple(_load()().version_info)[:2]


def check_git() -> None:
    """Raise StagingError, with what to do, where there is no git, or one too old to stage anything."""
    _load()


def run_git(
    folder: Path,
    *arguments: str,
    data: bytes = b"",
    env: Mapping[str, str] | None = None,
    ok: tuple[int, ...] = (0,),
    index: bool = False,
    as_user: bool = False,
) -> tuple[int, bytes]:
    """Run git in `folder` with `data` on its input; return its exit status and output.

    It starts no program that the repository's settings name, and sees the index only with `index`. `as_user`
    lets it use the index, fetch, and run hooks and sign as the user has it configured.

    Raises StagingError with git's own words when the status is not in `ok`, Busy when another process
    holds what it needs, NeedsDecision when a ref has moved since it was read.
    """
    _load()
    if not folder.is_dir():
        raise StagingError(f"there is no folder {folder}", hint="was the project moved or deleted?")
    ours = {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_REPLACE_OBJECTS": "1", **(env or {})}
    if not as_user:
        ours |= _NO_TRANSPORT
    if not (as_user or index):
        # Names no file: a command that would read an index sees an empty one, never the user's.
        ours["GIT_INDEX_FILE"] = str(folder / ".skillopt-no-index")
    settings = () if as_user else _SETTINGS
    if not as_user:
        ours |= _silence_hooks(folder, int(time.monotonic()))
    status, output, errors = _execute(folder, settings, arguments, ours, data)
    if status not in ok:
        reason = errors.decode(errors="replace").strip() or f"it ended with status {status}"
        raise _explain(folder, arguments[0], reason)
    return status, output


@lru_cache(maxsize=8)
def _silence_hooks(folder: Path, second: int) -> Mapping[str, str]:
    """Return the variables that switch off the hooks which settings alone make, whatever they are called.

    Asked anew each `second`: git is started dozens of times for a proposal.
    """
    if _find_version() < _NAMES_HOOKS:
        return {}
    question = ("config", "-z", "--name-only", "--get-regexp", r"^hook\.")
    listed = os.fsdecode(_execute(folder, (), question, {})[1])
    names = sorted({key.partition(".")[2].rpartition(".")[0] for key in listed.split("\0")} - {""})
    # By variables, as a name may hold what ends it on a command line.
    silenced = {"GIT_CONFIG_COUNT": str(len(names))}
    for number, name in enumerate(names):
        silenced[f"GIT_CONFIG_KEY_{number}"] = f"hook.{name}.enabled"
        silenced[f"GIT_CONFIG_VALUE_{number}"] = "false"
    return silenced


def _execute(
    folder: Path, settings: Sequence[str], arguments: Sequence[str], env: Mapping[str, str], data: bytes = b""
) -> tuple[int, bytes, bytes]:
    git = _load()
    # GitPython always passes the whole environment on, so what must not get through is unset by env(1).
    foreign = [name for name in os.environ if name.startswith("GIT_") and name not in _KEPT | env.keys()]
    unset = [part for name in foreign for part in ("-u", name)]
    command = [
        *(["env", *unset] if unset else []),
        str(git.GIT_PYTHON_GIT_EXECUTABLE),
        *("-C", str(folder)),
        *(part for setting in settings for part in ("-c", setting)),
        *arguments,
    ]
    process = git(str(folder)).execute(
        command,
        istream=subprocess.PIPE,
        as_process=True,
        env=env,
    )
    try:
        output, errors = process.communicate(data, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        process.kill()
        process.communicate()
        raise Busy(f"git {arguments[0]} did not end within {TIMEOUT_S:g} s in {folder}") from error
    return int(process.returncode), bytes(output), bytes(errors)


def _explain(folder: Path, command: str, errors: str) -> StagingError:
    if "dubious ownership" in errors or "unsafe repository" in errors:
        return StagingError(
            f"the repository {folder} belongs to another user, so git refuses to open it",
            hint=f"if you trust it: git config --global --add safe.directory {folder}",
        )
    if "not a git repository" in errors:
        return NoRepository(f"{folder} is not in a git repository", hint="run git init there")
    if _LACKING.search(errors):
        return StagingError(
            f"{folder} is a partial clone that lacks what git {command} needs: {errors}",
            hint="git show HEAD:FILE has it fetched, for one file; then retry",
        )
    if any(word in errors for word in _MOVED):
        return NeedsDecision(
            f"a branch in {folder} has moved meanwhile: {errors}", hint="look at it, then retry"
        )
    if any(word in errors for word in _BUSY):
        return Busy(f"another git process holds {folder}: {errors}", hint="try again when it has ended")
    return StagingError(f"git {command} failed in {folder}: {errors}")


class Repository:
    """A git repository or worktree at `root` (its top level, or the git folder of a bare one)."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.abspath(root))  # noqa: PTH100  resolve() would follow links
        prefix, common = self.text("rev-parse", "--show-prefix", "--git-common-dir").split("\n", 1)
        if prefix:
            raise StagingError(f"{self.root} is a folder inside a repository", hint="name its top level")
        self.common = Path(os.path.normpath(self.root / common))

    def run(self, *arguments: str, data: bytes = b"", env: Mapping[str, str] | None = None) -> bytes:
        """Return what git printed, byte for byte."""
        return run_git(self.root, *arguments, data=data, env=env)[1]

    def text(self, *arguments: str, data: bytes = b"", env: Mapping[str, str] | None = None) -> str:
        """Return what git printed as text, without the last newline."""
        return os.fsdecode(self.run(*arguments, data=data, env=env)).removesuffix("\n")

    def ask(self, *arguments: str) -> str:
        """Return one line git printed, or "" when it answers that there is none (status 1)."""
        return os.fsdecode(run_git(self.root, *arguments, ok=(0, 1))[1]).removesuffix("\n")

    def peek(self, *arguments: str) -> str:
        """Return what git printed with the user's own index; "" when it refused."""
        status, output = run_git(self.root, *arguments, ok=tuple(range(256)), index=True)
        return "" if status else os.fsdecode(output).removesuffix("\n")

    def resolve(self, name: str) -> str:
        """Return the object id of a ref or expression; "" when it names nothing."""
        return self.ask("rev-parse", "--verify", "--quiet", name)

    def write_blob(self, data: bytes) -> str:
        """Store the bytes as they are, unfiltered; return the blob's id."""
        return self.text("hash-object", "-w", "--stdin", data=data)

    def read_blob(self, name: str) -> bytes:
        return self.run("cat-file", "blob", name)

    def update_refs(self, *changes: tuple[str, str, str | None], reason: str) -> None:
        """Move refs in one transaction: (ref, new id or "" to delete, id it must have now).

        The last is "" for "must not exist" and None for "whatever it is". Raises NeedsDecision when a ref
        is elsewhere; then none of them has moved.
        """
        lines = []
        for ref, new, old in changes:
            if not new:
                lines.append(f"delete {ref}\0{old or ''}\0")
            elif old == "":
                lines.append(f"create {ref}\0{new}\0")
            else:
                lines.append(f"update {ref}\0{new}\0{old or ''}\0")
        self.run("update-ref", "-m", reason, "--stdin", "-z", data=os.fsencode("".join(lines)))

    def identity(self) -> dict[str, str]:
        """Return the variables that name author and committer: the user's own when configured."""
        name, email = self.ask("config", "user.name"), self.ask("config", "user.email")
        if not (name.strip() and email.strip()):
            name, email = NAME, EMAIL
        return {
            "GIT_AUTHOR_NAME": name,
            "GIT_AUTHOR_EMAIL": email,
            "GIT_COMMITTER_NAME": name,
            "GIT_COMMITTER_EMAIL": email,
        }

    def commit(self, tree: str, parents: tuple[str, ...], message: str) -> str:
        """Store a commit that no ref points to yet, unsigned; return its id."""
        arguments = [part for parent in parents for part in ("-p", parent)]
        return self.text(
            "commit-tree", tree, *arguments, "-F", "-", data=encode(message), env=self.identity()
        )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the repository's lock, shared by all its worktrees. Raises Busy when another holds it."""
        with lock(self.common):
            yield


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Hold `folder`'s lock file; the system drops it when the process dies. Raises Busy."""
    from filelock import FileLock, Timeout

    guard = FileLock(folder / LOCK_NAME, timeout=LOCK_TIMEOUT_S)
    try:
        guard.acquire()
    except Timeout as error:
        raise Busy(f"another run works on {folder}", hint="try again when it has ended") from error
    except OSError as error:
        raise StagingError(f"cannot lock {folder}: {error.strerror or error}") from error
    try:
        yield
    finally:
        guard.release()


def encode(text: str) -> bytes:
    """Return the text's UTF-8 bytes. Raises StagingError for half surrogate pairs, which have none."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise StagingError(f"the text is not valid Unicode at character {error.start}") from error


def decode(data: bytes, what: str) -> str:
    """Return the text of UTF-8 bytes. Raises StagingError when they are none."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise StagingError(
            f"{what} is not UTF-8 at byte {error.start}", hint="convert the file to UTF-8"
        ) from error
