"""What a run changed in its workspace, told by git without trusting anything the run could write.

The workspace's own repository is the run's to change: its settings can name programs that git starts. So the
comparison uses a second repository outside of the run's reach, with settings of ours; of the workspace only
files are read.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skillopt_replay.copying import copy_tree
from skillopt_replay.folders import PRIVATE_PREFIX, lies_in, make_folder, remove_tree, walk
from skillopt_replay.git import EMPTY_TREE, GitFailed, run_git, say_name

if TYPE_CHECKING:
    from collections.abc import Sequence

DIFF_BYTES = 200_000
MAX_FILE_BYTES = 1_000_000  # larger files are named, not shown
MAX_FILES = 2_000
_SECONDS = 60.0
_QUICK_SECONDS = 15.0
_OWN = (".gitignore", ".gitattributes", ".gitmodules")
_CUT = "\n[cut: the diff is longer]\n"
_SETTINGS = (
    "core.attributesFile=/dev/null", "core.excludesFile=/dev/null", "core.fsmonitor=false",
    "core.untrackedCache=false", "core.splitIndex=false", "core.autocrlf=false", "core.safecrlf=false",
    "core.quotePath=false", "core.preloadIndex=true", "diff.renames=false",
)  # fmt: skip


class Start(msgspec.Struct, frozen=True):
    """What the folder at `path` in a workspace holds at first.

    With `commit` its files are those of a commit, up to what its index says, whose objects lie in the
    folder `objects`.
    """

    path: str = ""
    commit: str | None = None
    objects: Path | None = None


class Baseline(msgspec.Struct, frozen=True):
    """The workspace `root` as the run found it: the tree or commit `start` in the repository at `folder`.

    `parts` are the same of its submodules, by their paths.
    """

    folder: Path
    root: Path
    start: str
    parts: tuple[tuple[str, str], ...] = ()


async def keep(root: Path, start: Start, submodules: Sequence[Start] = ()) -> Baseline:
    """Keep what the workspace holds now: all of its files, where it has no commit."""
    folder = make_folder(root.parent, PRIVATE_PREFIX)
    parts = tuple((one.path, one.commit or EMPTY_TREE) for one in submodules)
    baseline = Baseline(folder, root, start.commit or EMPTY_TREE, parts)
    begun = [(baseline, start), *zip(_split(baseline), submodules, strict=True)]
    for one, of in begun:
        await asyncio.to_thread(_make, one, of)
    if start.commit is not None:
        return baseline
    try:
        await _stage(baseline)
        return msgspec.structs.replace(baseline, start=(await _git(baseline, "write-tree")).strip())
    except BaseException:
        remove_tree(folder)
        raise


async def renew(baseline: Baseline) -> Baseline:
    """Return the baseline as of now; new files, such as installed packages, stay out of later diffs."""
    # Where a set-up has put a link in its place, or on the way to it, what is seen is elsewhere.
    parts = [
        (await renew(part)).start if _is_in_place(part, baseline) else part.start for part in _split(baseline)
    ]
    listed = await _git(baseline, "ls-files", "-z", "--others", "--directory", "--exclude-standard")
    lines = [f"/{_quote(name)}\n" for name in listed.split("\0") if name]
    with (baseline.folder / "info" / "exclude").open("a", encoding="utf-8", errors="surrogateescape") as file:
        file.writelines(lines)
    await _stage(baseline)
    start = (await _git(baseline, "write-tree")).strip()
    paths = [path for path, _ in baseline.parts]
    return msgspec.structs.replace(baseline, start=start, parts=tuple(zip(paths, parts, strict=True)))


async def follow(baseline: Baseline, root: Path, commit: str | None) -> Baseline:
    """Return the same baseline for `root`, a copy of the workspace, and bring both indexes up to date."""
    # No threads: they would go on when this is cancelled, and leave something behind.
    folder = make_folder(root.parent, PRIVATE_PREFIX)
    copy = msgspec.structs.replace(baseline, folder=folder, root=root)
    try:
        await copy_tree(baseline.folder, folder)
        # Both know files by their times and numbers; without them git would read every file of the project
        # whenever it is asked something. It says no when a file is not as the index has it.
        refresh = ("update-index", "-q", "--refresh")
        with contextlib.suppress(GitFailed):
            await run_git(root, *refresh)
        if commit is not None and baseline.start == commit:
            shutil.copy2(root / ".git" / "index", folder / "index")
        else:
            with contextlib.suppress(GitFailed):
                await _git(copy, *refresh)
        for part in _split(copy):
            if _is_in_place(part, copy):
                with contextlib.suppress(GitFailed):
                    await _git(part, *refresh)
    except BaseException:
        remove_tree(folder)
        raise
    return copy


async def show_changes(baseline: Baseline, hidden: Sequence[str] = ()) -> tuple[str, tuple[str, ...]]:
    """Return a unified diff of what changed since, cut to DIFF_BYTES, and notes.

    Ignored files and the paths in `hidden` are left out. Binary files are named only, as are large ones,
    folders with a repository of their own, and what is no file.
    """
    try:
        try:
            text, unshown = await _compare_all(baseline, hidden, _QUICK_SECONDS)
        except GitFailed:
            removed = await asyncio.to_thread(_remove_traps, baseline)
            text, unshown = await _compare_all(baseline, hidden, _SECONDS)
            unshown += removed
    except (GitFailed, OSError) as error:
        return "", (f"what the run changed could not be told: {error}",)
    text = "\n".join([*([text] if text else []), *(f"changed, not shown: {name}" for name in unshown)])
    if len(text.encode()) > DIFF_BYTES:
        text = text.encode()[: DIFF_BYTES - len(_CUT)].decode("utf-8", "ignore") + _CUT
    return text, ()


async def _compare_all(baseline: Baseline, hidden: Sequence[str], seconds: float) -> tuple[str, list[str]]:
    text, unshown = await _compare(baseline, hidden, seconds)
    for (path, _), part in zip(baseline.parts, _split(baseline), strict=True):
        if not _is_in_place(part, baseline):
            unshown.append(f"{say_name(path)} (a submodule that is no folder any more)")
            continue
        within = f"{path}/"
        inside = [place.removeprefix(within) for place in hidden if place.startswith(within)]
        more, others = await _compare(part, inside, seconds, within)
        text += more
        unshown += [f"{say_name(within)}{name}" for name in others]
    return text, unshown


async def _compare(
    baseline: Baseline, hidden: Sequence[str], seconds: float, within: str = ""
) -> tuple[str, list[str]]:
    unshown = await _stage(baseline, hidden, seconds)
    text = await _git(
        baseline,
        *("diff", "--cached", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames"),
        *("--ignore-submodules=all", f"--src-prefix=a/{within}", f"--dst-prefix=b/{within}"),
        *(baseline.start, "--", "."),
        *_without(hidden),
        keep_bytes=DIFF_BYTES + 1,
        seconds=seconds,
    )
    return text, unshown


async def _stage(baseline: Baseline, hidden: Sequence[str] = (), seconds: float = _SECONDS) -> list[str]:
    """Take over the changed files, and return those that were not, with the reason."""
    listed = await _git(
        baseline, "ls-files", "-z", "--modified", "--others", "--deleted", "--exclude-standard", "--", ".",
        *_without(hidden), seconds=seconds,
    )  # fmt: skip
    names = sorted({name for name in listed.split("\0") if name})
    gone, chosen, unshown = await asyncio.to_thread(_choose, baseline.root, names)
    for found, how in ((gone, ("--force-remove",)), (chosen, ("--add", "--remove", "--replace"))):
        if found:
            lines = "\0".join(found).encode("utf-8", "surrogateescape")
            await _git(baseline, "update-index", *how, "-z", "--stdin", stdin=lines, seconds=seconds)
    return unshown


def _choose(root: Path, names: list[str]) -> tuple[list[str], list[str], list[str]]:
    gone: list[str] = []
    chosen: list[str] = []
    unshown: list[str] = []
    for name in names:
        path, said = root / name, say_name(name)
        try:
            status = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            gone.append(name)
            continue
        except OSError:
            chosen.append(name)  # git says why it cannot be read
            continue
        if any(folder.is_symlink() for folder in path.parents if folder.is_relative_to(root)):
            gone.append(name)  # what is seen there is elsewhere
            continue
        if len(chosen) >= MAX_FILES:
            unshown.append(f"{len(names) - MAX_FILES} more files")
            break
        if stat.S_ISDIR(status.st_mode):
            unshown.append(f"{said} (a repository of its own)")
        elif not stat.S_ISREG(status.st_mode) and not stat.S_ISLNK(status.st_mode):
            unshown.append(f"{said} (no regular file)")
        elif status.st_size > MAX_FILE_BYTES:
            unshown.append(f"{said} ({status.st_size / 1e6:.1f} MB)")
        else:
            chosen.append(name)
    return gone, chosen, unshown


def _remove_traps(baseline: Baseline) -> list[str]:
    """Remove what git would wait for, or choke on where it expects its own small files; return the names.

    A pipe may be anywhere: folders can claim to be repositories, and name others as theirs.
    """
    root = baseline.root
    # Goes before what the run says of its files: an encoding that nobody knows, or that they are not in.
    for one in (baseline, *_split(baseline)):
        (one.folder / "info" / "attributes").write_text("* !working-tree-encoding\n")
    removed = []
    for part in _split(baseline):
        # A link on the way to a submodule is an error to git, whatever else it is asked for.
        for above in part.root.parents:
            if above != root and above.is_relative_to(root) and above.is_symlink():
                above.unlink()
                removed.append(f"{say_name(str(above.relative_to(root)))} (a link on the way to a submodule)")
    for folder, _, files in walk(root):
        for name in files:
            path = Path(folder, name)
            status = path.lstat()
            is_large = status.st_size > MAX_FILE_BYTES or not stat.S_ISREG(status.st_mode)
            if stat.S_ISFIFO(status.st_mode) or (name in _OWN and is_large):
                path.unlink()
                removed.append(f"{say_name(str(path.relative_to(root)))} (no regular file of its kind)")
    return sorted(removed)


def _split(baseline: Baseline) -> list[Baseline]:
    """Return those of the submodules, which lie in the folder of the whole."""
    return [
        Baseline(baseline.folder / f"part-{number}", baseline.root / path, start)
        for number, (path, start) in enumerate(baseline.parts)
    ]


def _is_in_place(part: Baseline, whole: Baseline) -> bool:
    """Whether a submodule is a folder of the workspace still: what was put in its place may lead anywhere."""
    return not part.root.is_symlink() and part.root.is_dir() and lies_in(part.root, whole.root)


def _make(baseline: Baseline, start: Start) -> None:
    folder = baseline.folder
    for name in ("objects/info", "refs", "info"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/none\n")
    (folder / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
    (folder / "info" / "exclude").write_text("")
    if start.objects is not None:
        (folder / "objects" / "info" / "alternates").write_text(f"{start.objects}\n")
    if start.commit is not None:
        # With the times of its files as they are now, so that unchanged ones need not be read.
        with contextlib.suppress(FileNotFoundError):
            shutil.copy2(baseline.root / ".git" / "index", folder / "index")


def _quote(name: str) -> str:
    # No pattern can hold the end of a line; what would follow it would be a pattern of its own.
    return "".join("?" if c == "\n" else f"\\{c}" if c in "*?[\\ " else c for c in name)


def _without(hidden: Sequence[str]) -> list[str]:
    return [f":(exclude,literal){path}" for path in hidden]


async def _git(
    baseline: Baseline,
    *arguments: str,
    stdin: bytes = b"",
    keep_bytes: int = 20_000_000,
    seconds: float = _SECONDS,
) -> str:
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    places = [f"--git-dir={baseline.folder}", f"--work-tree={baseline.root}"]
    return await run_git(
        baseline.root,
        *settings,
        *places,
        *arguments,
        stdin=stdin,
        keep_bytes=keep_bytes,
        seconds=seconds,
        is_text=False,
    )
