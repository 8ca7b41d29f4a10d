"""A project is set up once for each commit, confined, and its runs begin with what that left."""

from __future__ import annotations

import asyncio
import subprocess

import pytest

from skillopt_replay.baseline import show_changes
from skillopt_replay.errors import ReplayError
from skillopt_replay.sandbox import Toolchains
from skillopt_replay.sandbox.none import NoSandbox
from skillopt_replay.setup import KEPT, Setup, _keep, _list, set_up
from skillopt_replay.workspace import prepare

INSTALL = (
    "mkdir -p packages && echo installed > packages/a && ln -s a packages/b && echo changed >> README.md"
    " && echo ran >> $HOME/../ran"
)


@pytest.fixture
def make(repository, tmp_path, make_task):
    async def set_one_up(setup: Setup, sandbox=None, project=repository):
        workspace = await prepare(make_task(project=str(project)), tmp_path / "runs")
        return await set_up(workspace, setup, sandbox or NoSandbox(), Toolchains())

    return set_one_up


async def test_the_second_workspace_gets_what_the_command_left_the_first_time(make, tmp_path):
    for note in ("set up by", "as kept"):
        workspace = await make(Setup(command=INSTALL))
        assert (workspace.path / "packages/a").read_text() == "installed\n"
        assert (workspace.path / "packages/b").is_symlink()
        assert (workspace.path / "README.md").read_text() == "# Project\nchanged\n"
        assert note in workspace.notes[-1]
        assert (tmp_path / "runs/ran").read_text() == "ran\n", "once"


async def test_what_one_run_does_to_it_no_other_run_sees(make):
    first = await make(Setup(command=INSTALL))
    (first.path / "packages/a").write_text("spoilt")
    second = await make(Setup(command=INSTALL))
    (second.path / "packages/a").write_text("spoilt")
    third = await make(Setup(command=INSTALL))
    assert (third.path / "packages/a").read_text() == "installed\n"


async def test_what_set_up_made_is_in_no_diff_and_what_the_run_made_is(make):
    for _ in range(2):
        workspace = await make(Setup(command=INSTALL))
        assert await show_changes(workspace.baseline) == ("", ())
        (workspace.path / "new.txt").write_text("new\n")
        (workspace.path / "README.md").write_text("# Project\nchanged\nagain\n")
        diff, _ = await show_changes(workspace.baseline)
        assert "packages" not in diff
        assert "+new" in diff
        assert "+again" in diff
        assert "+changed" not in diff


async def test_the_name_of_a_file_that_set_up_made_hides_nothing_else(make):
    setup = Setup(command="touch 'a\nbad.txt' 'b*' '[c]' 'd ' '!e'")
    for _ in range(2):
        workspace = await make(setup)
        assert await show_changes(workspace.baseline) == ("", ())
        (workspace.path / "bad.txt").write_text("new\n")
        diff, _ = await show_changes(workspace.baseline)
        assert "+new" in diff


async def test_another_command_or_commit_is_another_set_up(make, repository, tmp_path):
    await make(Setup(command=INSTALL))
    await make(Setup(command=INSTALL + " && true"))
    (repository / "b.txt").write_text("b")
    subprocess.run(["git", "-C", str(repository), "add", "."], check=True)
    subprocess.run(["git", "-C", str(repository), "commit", "-qm", "b"], check=True)
    await make(Setup(command=INSTALL))
    assert (tmp_path / "runs/ran").read_text() == "ran\n" * 3


async def test_set_ups_side_by_side_run_the_command_once(make, tmp_path):
    await asyncio.gather(*(make(Setup(command=INSTALL)) for _ in range(3)))
    assert (tmp_path / "runs/ran").read_text() == "ran\n"


async def test_a_folder_without_commits_is_set_up_each_time(make, tmp_path):
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/README.md").write_text("plain")
    for _ in range(2):
        await make(Setup(command=INSTALL), project=tmp_path / "plain")
    assert (tmp_path / "runs/ran").read_text() == "ran\n" * 2


async def test_a_command_that_fails_is_an_error_that_says_what_it_said(make, tmp_path):
    with pytest.raises(ReplayError, match="ended with 3: no such package") as caught:
        await make(Setup(command="touch half; echo no such package >&2; exit 3"))
    assert "replay.setup_hosts" in caught.value.hint
    assert not (tmp_path / "runs/setups").exists(), "half a result is none"
    with pytest.raises(ReplayError, match="took too long"):
        await make(Setup(command="sleep 30", seconds=0.5))


async def test_set_up_is_confined_like_a_run_and_has_no_network(make, confined, tmp_path):
    (tmp_path / "secret.txt").write_text("the secret")
    script = f"cat {tmp_path}/secret.txt; ls -A {tmp_path}; cat /proc/net/dev | grep -c :; exit 3"
    with pytest.raises(ReplayError) as caught:
        await make(Setup(command=script), confined)
    assert "the secret" not in caught.value.message.replace("secret.txt", "")
    workspace = await make(Setup(command="grep -c : /proc/net/dev > interfaces"), confined)
    assert (workspace.path / "interfaces").read_text() == "1\n"


async def test_only_the_latest_results_are_kept(make, tmp_path):
    for number in range(KEPT + 2):
        await make(Setup(command=f"echo {number} > n"))
    assert len(list((tmp_path / "runs/setups").iterdir())) == KEPT


async def test_what_set_up_left_is_never_written_through_a_link_of_the_project(make, repository, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "profile").write_text("the user's")
    (repository / "settings").symlink_to(outside / "profile")
    (repository / "dangling").symlink_to(outside / "new")
    (repository / "vendor").symlink_to(outside)
    subprocess.run(["git", "-C", str(repository), "add", "."], check=True)
    subprocess.run(["git", "-C", str(repository), "commit", "-qm", "links"], check=True)
    setup = Setup(
        command="rm settings dangling vendor && mkdir vendor && echo evil | tee settings dangling vendor/file"
    )
    for _ in range(2):
        workspace = await make(setup)
        assert (workspace.path / "settings").read_text() == "evil\n"
        assert (workspace.path / "dangling").read_text() == "evil\n"
        assert (workspace.path / "vendor/file").read_text() == "evil\n"
        assert not (workspace.path / "vendor").is_symlink()
        assert [path.name for path in outside.iterdir()] == ["profile"]
        assert (outside / "profile").read_text() == "the user's"


async def test_a_file_that_set_up_made_a_folder_of_is_one_the_next_time(make):
    for _ in range(2):
        workspace = await make(Setup(command="rm README.md && mkdir README.md && echo x > README.md/file"))
        assert (workspace.path / "README.md/file").read_text() == "x\n"


@pytest.mark.parametrize(
    "command", ["truncate -s 900K a b", "head -c 900000 /dev/zero > a && ln a b"], ids=["holes", "two names"]
)
async def test_what_takes_more_when_copied_than_a_set_up_may_add_is_not_kept(make, tmp_path, command):
    setup = Setup(command=command, disk_bytes=1_000_000)
    for _ in range(2):
        workspace = await make(setup)
        assert (workspace.path / "b").stat().st_size > 800_000
        assert "as kept" not in workspace.notes[-1]
    assert not list((tmp_path / "runs").glob("setups/*"))


async def test_a_result_that_another_process_was_first_with_is_taken(make, tmp_path):
    # Workers of a cluster on one machine share the folder, and know nothing of each other.
    first = await make(Setup(command="echo mine > made"))
    (kept,) = (tmp_path / "runs/setups").glob("setup-*")
    before = _list(first.root)
    (first.root / "made").write_text("other")
    _keep(first.root, {name: state for name, state in before.items() if name != "made"}, kept, 1_000)
    assert (kept / "made").read_text() == "mine\n"
    assert [path.name for path in (tmp_path / "runs/setups").iterdir()] == [kept.name]
