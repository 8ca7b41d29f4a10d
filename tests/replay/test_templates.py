"""Workspaces are copied from a template, and no run sees what another one did."""

from __future__ import annotations

import asyncio
import mmap
import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from skillopt_replay import snapshots, templates
from skillopt_replay.agents.command import CommandAgent, find_program
from skillopt_replay.baseline import show_changes
from skillopt_replay.errors import ReplayError
from skillopt_replay.folders import RUN_PREFIX, clear_leftovers
from skillopt_replay.protocols import Limits
from skillopt_replay.replay import replay
from skillopt_replay.sandbox.contract import Toolchains
from skillopt_replay.sandbox.none import NoSandbox
from skillopt_replay.setup import Setup
from skillopt_replay.templates import Templates
from tests.replay.test_escapes import PYTHON, needs_python


def git(path: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(path), *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


def commit(path: Path, name: str, text: str) -> str:
    (path / name).parent.mkdir(parents=True, exist_ok=True)
    (path / name).write_text(text)
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", name)
    return git(path, "rev-parse", "HEAD")


@contextmanager
def counted_gits(monkeypatch):
    """Collects the command lines of all git processes."""
    from skillopt_replay import git as module

    calls: list[tuple[str, ...]] = []
    run = module.process.run

    async def note(argv, **options):
        if argv[0] == "git":
            calls.append(tuple(argv))
        return await run(argv, **options)

    with monkeypatch.context() as patch:
        patch.setattr(module.process, "run", note)
        yield calls


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


@pytest.fixture
async def kept(runs):
    opened = Templates(runs, slots=2)
    yield opened
    assert await opened.close() == ()
    assert not runs.exists() or [path.name for path in runs.iterdir() if path.name != "setups"] == []


@pytest.fixture
def take(kept, make_task, repository):
    async def take_one(setup: Setup | None = None, **changes):
        task = make_task(**{"project": str(repository), **changes})
        return await kept.take(task, setup, NoSandbox(), Toolchains())

    return take_one


@pytest.fixture
def trusted(tmp_path):
    if not snapshots.stamps_changes(tmp_path):
        pytest.skip("the times of this file system are not trusted")


async def test_a_copy_is_what_prepare_makes_and_shares_no_file_with_anything(
    kept, take, repository, runs, monkeypatch
):
    commit(repository, "sub/a.txt", "text")
    first = await take(project=str(repository / "sub"))
    with counted_gits(monkeypatch) as calls:
        second = await take(project=str(repository / "sub"))
    assert [call[-1] for call in calls] == ["--refresh"], "the index of the copy, and nothing else"
    head = git(repository, "rev-parse", "HEAD")
    for workspace in (first, second):
        assert workspace.root.name.startswith(RUN_PREFIX)
        assert workspace.path == workspace.root / "sub"
        assert workspace.notes == (f"commit {head[:12]}, the newest",)
        assert workspace.commit == head
        assert git(workspace.path, "log", "--format=%s").splitlines() == ["sub/a.txt", "first"]
        assert git(workspace.path, "status", "--porcelain") == git(workspace.path, "remote") == ""
        assert git(workspace.path, "diff-files", "--name-only") == "", "the index knows the files it is for"
        assert not (workspace.root / ".git/objects/info/alternates").exists()
        assert await show_changes(workspace.baseline, workspace.hidden) == ("", ())
    inodes: dict[int, Path] = {}
    for path in (*runs.rglob("*"), *repository.rglob("*")):
        if path.is_file():
            assert path.stat().st_ino not in inodes, f"{path} is {inodes.get(path.stat().st_ino)}"
            inodes[path.stat().st_ino] = path


async def test_an_untouched_copy_is_lent_again_under_another_name_and_without_git(
    kept, take, trusted, monkeypatch
):
    first = await take()
    assert await kept.is_untouched(first)
    inode = first.root.stat().st_ino
    assert await kept.give_back(first, untouched=True) == ()
    with counted_gits(monkeypatch) as calls:
        second = await take()
    assert calls == []
    assert second.root.stat().st_ino == inode
    assert second.root != first.root
    assert not first.root.exists()
    for _ in range(2):
        assert await kept.is_untouched(second), "its new name is no change"
        await kept.give_back(second, untouched=True)
        second = await take()
    (second.path / "new.txt").write_text("new\n")
    assert not await kept.is_untouched(second)
    assert "+new" in (await show_changes(second.baseline, second.hidden))[0]


@pytest.fixture
def copies(monkeypatch):
    """Counts the copies that are made."""
    made: list[Path] = []
    copy = templates.copy_tree

    async def note(source, target):
        made.append(target)
        await copy(source, target)

    monkeypatch.setattr(templates, "copy_tree", note)
    return made


async def test_the_next_copy_is_made_while_a_run_works_once_a_run_has_spoiled_its_own(kept, take, copies):
    first = await take()
    assert len(copies) == 1
    await kept.give_back(first)
    second = await take()
    await asyncio.gather(*kept._spares)
    assert len(copies) == 3, "one to work in, and one for the next run"
    third = await take()
    assert third.root == copies[2]
    assert second.root == copies[1]


async def test_runs_that_leave_their_copies_as_they_were_have_no_further_ones_made(
    kept, take, trusted, copies
):
    working = [await take(), await take()]
    for _ in range(3):
        for workspace in working:
            await kept.give_back(workspace, untouched=True)
        working = [await take(), await take()]
        await asyncio.gather(*kept._spares)
    assert len(copies) == 2


def write_through_a_map(root: Path) -> None:
    with (root / "README.md").open("r+b") as file, mmap.mmap(file.fileno(), 0) as view:
        view[0:1] = b"!"


def write_and_turn_the_time_back(root: Path) -> None:
    status = (root / "README.md").stat()
    (root / "README.md").write_text("# ProjecT\n")
    os.utime(root / "README.md", ns=(status.st_atime_ns, status.st_mtime_ns))


def replace_and_turn_the_time_back(root: Path) -> None:
    status = root.stat()
    shutil.copy2(root / "README.md", root / "other")
    (root / "other").rename(root / "README.md")
    os.utime(root, ns=(status.st_atime_ns, status.st_mtime_ns))


def make_and_remove(root: Path) -> None:
    (root / "x").touch()
    (root / "x").unlink()


@pytest.mark.parametrize(
    "work",
    [
        write_through_a_map,
        write_and_turn_the_time_back,
        replace_and_turn_the_time_back,
        make_and_remove,
        lambda root: (root / "README.md").unlink(),
        lambda root: (root / "README.md").chmod(0o600),
        lambda root: root.chmod(0o500),
        lambda root: (root / "README.md").rename(root / ".git/README.md"),
        lambda root: (root / "link").hardlink_to(root / "README.md"),
        lambda root: (root.parent.parent / "outside").hardlink_to(root / "README.md"),
        lambda root: (root / ".git/hooks").mkdir(),
        lambda root: git(root, "config", "core.fsmonitor", "x"),
        lambda root: git(root, "tag", "x"),
        lambda root: (root / "README.md").write_text("# Project\n"),
        lambda root: os.utime(root / "README.md"),
        lambda root: os.setxattr(root, "user.note", b"x"),
        lambda root: os.setxattr(root / "README.md", "user.note", b"x"),
    ],
)
async def test_whatever_a_run_does_in_its_workspace_is_noticed(kept, take, work):
    workspace = await take()
    try:
        work(workspace.root)
    except OSError as error:
        pytest.skip(f"not possible here: {error}")
    assert not await kept.is_untouched(workspace)


# Puts the blocks of a file of its own in the place of another file's: no time tells of it. While pages are
# being written, the file system says that it is busy.
MOVE = """
import fcntl, os, struct, time
evil = os.environ["TMPDIR"] + "/evil"
with open(evil, "wb") as file:
    file.write(b"# EVIL".ljust(4096))
mine, theirs = os.open(evil, os.O_RDWR), os.open("README.md", os.O_RDWR)
for _ in range(20):
    os.fsync(mine); os.fsync(theirs)
    try:
        fcntl.ioctl(mine, 0xC028660F, struct.pack("=IIQQQQ", 0, theirs, 0, 0, 1, 0))
        break
    except OSError as error:
        if error.errno != 16: break
        time.sleep(0.05)
os.posix_fadvise(theirs, 0, 0, os.POSIX_FADV_DONTNEED)
"""


@needs_python
@pytest.mark.usefixtures("trusted")
async def test_blocks_that_a_run_moves_come_to_no_other_run(kept, repository, make_task, confined, tmp_path):
    text = "# Project".ljust(4096)
    commit(repository, "README.md", text)
    program = tmp_path / "program" / "agent"
    program.parent.mkdir()
    program.write_text(f"#!{PYTHON}\nprint(open('README.md').read()){MOVE}")
    program.chmod(0o755)
    agent = CommandAgent(find_program([str(program)], {}), confined, reach=())
    task = make_task(project=str(repository))
    for _ in range(4):
        rollout = await replay(
            task, None, agent, root=tmp_path / "runs", sandbox=confined, limits=Limits(), templates=kept
        )
        assert rollout.answer == text.strip(), rollout.error


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("stamps", [True, False])
async def test_a_workspace_is_lent_again_only_where_its_sandbox_lets_times_tell(
    kept, repository, make_task, tmp_path, monkeypatch, stamps
):
    monkeypatch.setattr(NoSandbox, "stamps", stamps)
    program = tmp_path / "program" / "agent"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nstat -c %i .\n")
    program.chmod(0o755)
    agent = CommandAgent(find_program([str(program)], {}), NoSandbox(), reach=())
    task = make_task(project=str(repository))
    rollout = await replay(
        task, None, agent, root=tmp_path / "runs", sandbox=NoSandbox(), limits=Limits(), templates=kept
    )
    ready = [copy.workspace.root.stat().st_ino for copy in kept._ready]
    assert (int(rollout.answer) in ready) is stamps


async def test_what_one_run_changed_no_other_run_gets(kept, take):
    for _ in range(3):
        workspace = await take()
        assert (workspace.path / "README.md").read_text() == "# Project\n"
        (workspace.path / "README.md").write_text("spoilt")
        (workspace.root / ".git/config").write_text("spoilt")
        assert await kept.give_back(workspace) == ()
        assert not workspace.root.exists()
        assert not workspace.baseline.folder.exists()


async def test_where_times_cannot_be_trusted_nothing_counts_as_untouched(kept, take, monkeypatch):
    monkeypatch.setattr(snapshots, "_STAMPING", frozenset())
    workspace = await take()
    assert not await kept.is_untouched(workspace)
    assert await show_changes(workspace.baseline) == ("", ())


async def test_each_state_of_a_project_and_each_skill_has_its_own_template(take, repository):
    first = git(repository, "rev-parse", "HEAD")
    commit(repository, ".claude/skills/heron-greet/SKILL.md", "own")
    newest = await take()
    assert not (newest.path / ".claude/skills/heron-greet").exists()
    assert newest.hidden
    assert (await take(skill="other")).path.joinpath(".claude/skills/heron-greet").exists()
    assert not (await take(commit=first)).path.joinpath(".claude").exists()
    assert "+" not in (await show_changes(newest.baseline, newest.hidden))[0]


@pytest.mark.parametrize("how", ["commit", "branch", "packed"])
async def test_a_project_that_moved_on_is_looked_at_again(take, repository, how):
    before = await take()
    if how == "branch":
        git(repository, "switch", "-q", "-c", "another")
        git(repository, "commit", "-q", "--allow-empty", "-m", "more")
    else:
        commit(repository, "more.txt", "more")
    if how == "packed":
        git(repository, "pack-refs", "--all")
    after = await take()
    assert after.commit == git(repository, "rev-parse", "HEAD") != before.commit
    shutil.rmtree(repository)
    with pytest.raises(ReplayError, match="is gone"):
        await take()


async def test_folders_without_git_are_copied_as_they_are_each_time(kept, take, tmp_path):
    plain = tmp_path / "plain"
    plain.mkdir()
    for text in ("one", "two"):
        (plain / "a.txt").write_text(text)
        workspace = await take(project=str(plain))
        assert (workspace.path / "a.txt").read_text() == text
        await kept.give_back(workspace)
    for _ in range(2):
        empty = await take(project=None)
        assert [path.name for path in empty.path.iterdir()] == [".git"]
        assert await show_changes(empty.baseline) == ("", ())
        assert "no project" in empty.notes[0]
        await kept.give_back(empty)


async def test_a_project_is_set_up_once_for_all_of_its_copies(kept, take):
    setup = Setup(command="mkdir packages && echo made > packages/a && echo ran >> $HOME/../ran")
    for _ in range(3):
        workspace = await take(setup)
        assert (workspace.path / "packages/a").read_text() == "made\n"
        assert workspace.notes[-1].startswith("set up by")
        assert await show_changes(workspace.baseline) == ("", ())
        (workspace.path / "packages/a").write_text("spoilt")
        (workspace.path / "new.txt").write_text("new\n")
        diff, _ = await show_changes(workspace.baseline)
        assert "+new" in diff
        assert "packages" not in diff
        await kept.give_back(workspace)
    assert (workspace.root.parent / "ran").read_text() == "ran\n"
    (workspace.root.parent / "ran").unlink()


async def test_a_set_up_that_fails_leaves_nothing_and_is_tried_again(kept, take, runs):
    for _ in range(2):
        with pytest.raises(ReplayError, match="ended with 3"):
            await take(Setup(command="exit 3"))
    assert await kept.close() == ()
    assert list(runs.iterdir()) == []


async def test_runs_side_by_side_make_one_template(kept, take, monkeypatch):
    with counted_gits(monkeypatch) as calls:
        workspaces = await asyncio.gather(*(take() for _ in range(4)))
    assert len({workspace.root for workspace in workspaces}) == 4
    assert sum("fetch" in call for call in calls) == 1


async def test_while_a_run_is_at_work_the_next_ones_copy_is_made(kept, take, monkeypatch):
    for _ in range(2):
        await kept.give_back(await take())
    while not kept._ready:
        await asyncio.sleep(0.01)
    spare = kept._ready[0].workspace.root
    with counted_gits(monkeypatch) as calls:
        assert (await take()).root == spare
        assert calls == []


async def test_only_some_templates_are_kept_and_the_latest_ones(kept, take, repository, monkeypatch):
    monkeypatch.setattr(templates, "MAX_KEPT", 2)
    for number in range(4):
        commit(repository, "a.txt", str(number))
        workspace = await take()
        assert (workspace.path / "a.txt").read_text() == str(number)
        await kept.give_back(workspace, untouched=await kept.is_untouched(workspace))
    assert len(kept._kept) == 2
    assert kept._store
    await kept._trash.settle()
    assert len(list(kept._store.iterdir())) == 2


async def test_what_is_too_large_is_made_anew_each_time(kept, take, monkeypatch):
    monkeypatch.setattr(templates, "MAX_BYTES", 10)
    for _ in range(2):
        workspace = await take()
        assert (workspace.path / "README.md").exists()
        assert not await kept.is_untouched(workspace)
        assert await kept.give_back(workspace) == ()
    assert not kept._kept


async def test_a_template_that_somebody_removed_is_made_anew(kept, take):
    await kept.give_back(await take())
    shutil.rmtree(kept._store)
    for _ in range(2):
        workspace = await take()
        assert (workspace.path / "README.md").exists()
        await kept.give_back(workspace)


@pytest.mark.parametrize("steps", [0, 5, 20, 40, 60, 80, 100])
async def test_a_cancelled_copy_leaves_nothing(kept, take, runs, steps):
    await kept.give_back(await take())
    before = {path.name for path in runs.iterdir()}
    taking = asyncio.ensure_future(take())
    while {path.name for path in runs.iterdir()} <= before:
        await asyncio.sleep(0)
    for _ in range(steps):
        await asyncio.sleep(0.0003)
    taking.cancel()
    if taking.done():
        return
    with pytest.raises(asyncio.CancelledError):
        await taking
    assert await kept.close() == ()
    assert list(runs.iterdir()) == []


async def test_what_a_killed_process_kept_is_cleared(make_task, repository, runs):
    lost = Templates(runs, slots=1)
    await lost.take(make_task(project=str(repository)), None, NoSandbox(), Toolchains())
    assert clear_leftovers(runs, older_than=0) >= 3
    assert list(runs.iterdir()) == []
    await lost.close()


async def test_submodules_and_large_files_are_in_every_copy(kept, take, repository, tmp_path):
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "-q")
    commit(library, "inner.txt", "inner")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "libs/x")
    git(repository, "commit", "-q", "-m", "submodule")
    for _ in range(2):
        workspace = await take()
        assert (workspace.path / "libs/x/inner.txt").read_text() == "inner"
        assert git(workspace.path, "status", "--porcelain") == ""
        assert await show_changes(workspace.baseline) == ("", ())
        (workspace.path / "libs/x/inner.txt").write_text("other")
        assert not await kept.is_untouched(workspace)
        await kept.give_back(workspace)


async def test_what_comes_back_after_the_end_is_removed_too(kept, take, runs):
    workspace = await take()
    await kept.close()
    assert list(runs.iterdir()) == []
    late = await take()
    assert await kept.give_back(late) == ()
    assert not late.root.exists()
    assert await kept.give_back(workspace) == ()
