"""The diff of a run shows what it changed, whatever it did to the workspace's repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from skillopt_replay import baseline
from skillopt_replay.baseline import DIFF_BYTES, show_changes
from skillopt_replay.sandbox import Toolchains
from skillopt_replay.sandbox.none import NoSandbox
from skillopt_replay.setup import Setup
from skillopt_replay.templates import Templates
from skillopt_replay.workspace import prepare

CHANGED = """\
diff --git a/README.md b/README.md
index dab306f..7344171 100644
--- a/README.md
+++ b/README.md
@@ -1 +1,2 @@
 # Project
+more
diff --git a/new.txt b/new.txt
new file mode 100644
index 0000000..3e75765
--- /dev/null
+++ b/new.txt
@@ -0,0 +1 @@
+new
"""


def git(path, *arguments):
    subprocess.run(["git", "-C", str(path), *arguments], check=True, capture_output=True)


@pytest.fixture
def workspace(repository, tmp_path, make_task):
    (repository / "gone.txt").write_text("gone\n")
    (repository / ".gitignore").write_text("built/\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "more")

    async def make(**changes):
        task = make_task(project=str(repository), **changes)
        return await prepare(task, tmp_path / "runs")

    return make


async def test_nothing_changed_is_an_empty_diff(workspace):
    made = await workspace()
    assert await show_changes(made.baseline, made.hidden) == ("", ())


async def test_changes_are_shown_committed_or_not_and_ignored_files_are_not(workspace):
    made = await workspace()
    with (made.path / "README.md").open("a") as file:
        file.write("more\n")
    git(made.path, "commit", "-qam", "mine")
    (made.path / "new.txt").write_text("new\n")
    (made.path / "built").mkdir()
    (made.path / "built" / "out.js").write_text("x")
    diff, notes = await show_changes(made.baseline, made.hidden)
    assert (diff, notes) == (CHANGED, ())
    (made.path / "gone.txt").unlink()
    assert "deleted file mode 100644" in (await show_changes(made.baseline, made.hidden))[0]


async def test_the_skill_that_was_taken_out_is_in_no_diff(workspace, repository):
    skill = repository / ".claude/skills/heron-greet/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("own")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "skill")
    made = await workspace()
    assert not (made.path / ".claude/skills/heron-greet").exists()
    (made.path / ".agents/skills/heron-greet").mkdir(parents=True)
    (made.path / ".agents/skills/heron-greet/SKILL.md").write_text("ours")
    assert await show_changes(made.baseline, made.hidden) == ("", ())


@pytest.mark.parametrize("path", [".", "", "node_modules/.bin", "./node_modules/.bin"])
async def test_a_program_of_the_runs_is_not_taken_for_git_where_the_path_has_a_relative_folder(
    workspace, tmp_path, monkeypatch, path
):
    made = await workspace()
    program = made.path / path / "git"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n")
    program.chmod(0o755)
    for folders in (f"{path}{os.pathsep}{os.environ['PATH']}", path):
        monkeypatch.setenv("PATH", folders)
        diff, notes = await show_changes(made.baseline, made.hidden)
        assert not (tmp_path / "ran").exists()
        assert ("touch" in diff, notes) == (True, ())


async def test_what_is_no_text_is_named_only(workspace):
    made = await workspace()
    (made.path / "binary").write_bytes(b"\0\1\2" * 100)
    (made.path / "large.txt").write_text("x" * 1_500_000)
    with (made.path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    (made.path / "gone.txt").unlink()
    os.mkfifo(made.path / "gone.txt")
    (made.path / "inner").mkdir()
    git(made.path / "inner", "init", "-q")
    diff, notes = await show_changes(made.baseline, made.hidden)
    assert notes == ()
    assert "Binary files /dev/null and b/binary differ" in diff
    assert "changed, not shown: large.txt (1.5 MB)" in diff
    assert "changed, not shown: sparse (1099511.6 MB)" in diff
    assert "changed, not shown: inner/ (a repository of its own)" in diff
    assert "changed, not shown: gone.txt (no regular file)" in diff
    assert "xxx" not in diff


async def test_a_long_diff_is_cut_and_says_so(workspace):
    made = await workspace()
    for number in range(4):
        (made.path / f"{number}.txt").write_text(f"line {number}\n" * 9_000)
    diff, _ = await show_changes(made.baseline, made.hidden)
    assert len(diff.encode()) <= DIFF_BYTES
    assert diff.endswith("[cut: the diff is longer]\n")


@pytest.mark.parametrize("place", ["config", "worktree"])
async def test_no_program_the_run_names_in_its_repository_is_started(workspace, place, tmp_path):
    made = await workspace()
    trap = made.path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
    trap.chmod(0o755)
    names = (
        "core.fsmonitor", "diff.external", "diff.x.textconv", "diff.x.command", "filter.x.clean",
        "filter.x.smudge", "filter.x.process", "core.pager", "core.editor", "core.alternateRefsCommand",
    )  # fmt: skip
    for name in names:
        git(made.path, "config", name, str(trap))
    git(made.path, "config", "core.hooksPath", str(made.path / "hooks"))
    git(made.path, "config", "include.path", str(made.path / "more.conf"))
    (made.path / "more.conf").write_text(f"[core]\n\tfsmonitor = {trap}\n")
    (made.path / "hooks").mkdir()
    for hook in ("post-index-change", "pre-commit", "post-checkout", "reference-transaction"):
        (made.path / "hooks" / hook).write_text(trap.read_text())
        (made.path / "hooks" / hook).chmod(0o755)
    attributes = made.path / (".git/info/attributes" if place == "config" else ".gitattributes")
    attributes.parent.mkdir(exist_ok=True)
    attributes.write_text("* filter=x diff=x merge=x\n")
    (made.path / "README.md").write_text("changed\n")
    diff, notes = await show_changes(made.baseline, made.hidden)
    assert notes == ()
    assert "+changed" in diff
    assert not (tmp_path / "sprung").exists()


_TELLING_GIT = """#!{python} -IS
import os, subprocess, sys
arguments = iter(sys.argv[1:])
options = []
for one in arguments:
    if not one.startswith("-"):
        break
    options += [one, next(arguments)] if one == "-c" else [one]
asked = ["{git}", *options, "config", "--list", "--show-origin", "--name-only", "-z"]
with open("{log}", "ab") as log:
    log.write(subprocess.run(asked, stdout=subprocess.PIPE).stdout)
os.execv("{git}", ["{git}", *sys.argv[1:]])
"""


async def test_no_settings_that_a_run_could_write_are_read_after_it_whatever_they_are_called(
    with_submodules, tmp_path, monkeypatch
):
    made = await with_submodules()
    for place in (made.root, made.root / INNER):
        git(place, "config", "brand.new.key", "value")
        git(place, "config", "extensions.worktreeConfig", "true")
        git(place, "config", "--worktree", "another.key", "value")
    (made.root / "nested").mkdir()
    git(made.root / "nested", "init", "-q")
    change_submodules(made.root)
    program, log = tmp_path / "telling/git", tmp_path / "read"
    program.parent.mkdir()
    program.write_text(_TELLING_GIT.format(python=sys.executable, git=shutil.which("git"), log=log))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    assert_changes_shown((await show_changes(made.baseline, made.hidden))[0])
    origins = set(log.read_text().split("\0")[::2]) - {""}
    parts = [made.baseline.folder, *(made.baseline.folder / f"part-{number}" for number in range(3))]
    assert origins == {"command line:", *(f"file:{part}/config" for part in parts)}


async def test_a_repository_the_run_broke_or_removed_does_not_matter(workspace):
    made = await workspace()
    (made.path / "README.md").write_text("changed\n")
    shutil.rmtree(made.path / ".git")
    diff, _ = await show_changes(made.baseline, made.hidden)
    assert "+changed" in diff
    (made.path / ".git").write_text(f"gitdir: {made.path}/elsewhere\n")
    assert (await show_changes(made.baseline, made.hidden))[0] == diff


async def test_a_link_that_leads_out_is_shown_as_a_link_and_never_followed(workspace, tmp_path):
    (tmp_path / "secret.txt").write_text("the secret")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "a.txt").write_text("the secret")
    made = await workspace()
    (made.path / "README.md").unlink()
    (made.path / "README.md").symlink_to(tmp_path / "secret.txt")
    (made.path / "folder").symlink_to(tmp_path / "secrets")
    diff, _ = await show_changes(made.baseline, made.hidden)
    assert f"+{tmp_path}/secret.txt" in diff
    assert "the secret" not in diff


async def test_a_folder_that_became_a_link_is_one_and_its_files_are_gone(workspace, repository, tmp_path):
    for place in (repository / "docs", tmp_path / "other"):
        place.mkdir()
        (place / "page.txt").write_text("page\n" if place.parent == repository else "x" * 2_000_000)
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "docs")
    made = await workspace()
    (made.path / "docs/page.txt").unlink()
    (made.path / "docs").rmdir()
    (made.path / "docs").symlink_to(tmp_path / "other")
    diff, notes = await show_changes(made.baseline)
    assert notes == ()
    assert "deleted file mode 100644" in diff
    assert f"+{tmp_path}/other" in diff
    assert "2.0 MB" not in diff, "how large a file elsewhere is, is not told"


async def test_an_encoding_that_nobody_knows_hides_nothing(workspace):
    made = await workspace()
    (made.path / ".gitattributes").write_text("* working-tree-encoding=NOPE-99\n")
    (made.path / "new.txt").write_text("new\n")
    diff, notes = await show_changes(made.baseline)
    assert notes == ()
    assert "+new" in diff
    assert "NOPE-99" in diff


async def test_pipes_in_place_of_files_that_git_reads_do_not_hold_us(workspace, monkeypatch):
    monkeypatch.setattr(baseline, "_QUICK_SECONDS", 0.5)
    made = await workspace()
    (made.path / "sub").mkdir()
    for name in (".gitignore", "sub/.gitignore", "sub/.gitattributes", ".gitmodules"):
        (made.path / name).unlink(missing_ok=True)
        os.mkfifo(made.path / name)
    for name in ("README.md", "sub/new.txt"):
        (made.path / name).write_text("changed\n")
    diff, notes = await show_changes(made.baseline, made.hidden)
    assert notes == ()
    assert "b/README.md" in diff
    assert "b/sub/new.txt" in diff
    assert "changed, not shown: sub/.gitattributes (no regular file of its kind)" in diff


@pytest.mark.parametrize(
    ("files", "pipe"),
    [
        ({"sub/.git/objects/x": "", "sub/.git/refs/x": ""}, "sub/.git/HEAD"),
        ({"sub/.git": "gitdir: ../other", "other/objects/x": "", "other/refs/x": ""}, "other/HEAD"),
        ({"sub/.git/HEAD": "ref: refs/heads/main"}, "sub/.git/commondir"),
    ],
    ids=["of its own", "by a link", "by a common folder"],
)
async def test_pipes_in_what_only_looks_like_a_repository_hide_nothing(workspace, monkeypatch, files, pipe):
    monkeypatch.setattr(baseline, "_QUICK_SECONDS", 0.5)
    monkeypatch.setattr(baseline, "_SECONDS", 5.0)
    made = await workspace()
    for name, text in {**files, "README.md": "changed\n", "sub/new.txt": "new\n"}.items():
        (made.path / name).parent.mkdir(parents=True, exist_ok=True)
        (made.path / name).write_text(text)
    os.mkfifo(made.path / pipe)
    diff, notes = await show_changes(made.baseline, made.hidden)
    assert notes == ()
    assert "+changed" in diff
    assert f"changed, not shown: {pipe} (no regular file of its kind)" in diff


async def test_a_copied_folder_and_an_empty_one_have_a_diff_too(tmp_path, make_task):
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "a.txt").write_text("one\n")
    for project in (str(plain), None):
        made = await prepare(make_task(project=project), tmp_path / "runs")
        assert await show_changes(made.baseline, made.hidden) == ("", ())
        (made.path / "a.txt").write_text("two\n")
        diff, _ = await show_changes(made.baseline, made.hidden)
        assert "+two" in diff
        assert ("-one" in diff) is (project is not None)
        assert await made.dispose() == ()
    assert list((tmp_path / "runs").iterdir()) == []


@pytest.mark.parametrize(
    "name", [b"caf\xe9.txt", b"\xff\xfe/in.txt", b" space", b"line\nend", b"half\xed\xa0\x80"]
)
async def test_a_name_that_is_no_text_hides_nothing(workspace, repository, name):
    was = repository / os.fsdecode(b"was-" + name)
    was.parent.mkdir(exist_ok=True)
    was.write_text("before\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "names")
    made = await workspace()
    (made.path / was.relative_to(repository)).write_text("after\n")
    new = made.path / os.fsdecode(name)
    new.parent.mkdir(exist_ok=True)
    new.write_text("new\n")
    diff, notes = await show_changes(made.baseline)
    assert notes == ()
    assert "+after" in diff
    assert "+new" in diff
    os.truncate(new, 2_000_000)
    diff, _ = await show_changes(made.baseline)
    assert "(2.0 MB)" in diff
    diff.encode()  # it can be stored


async def test_a_skill_with_such_names_is_taken_out(workspace, repository):
    skill = repository / ".claude/skills/heron-greet"
    skill.mkdir(parents=True)
    (skill / os.fsdecode(b"caf\xe9.md")).write_text("own")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "skill")
    made = await workspace()
    assert not (made.path / ".claude/skills/heron-greet").exists()
    assert await show_changes(made.baseline, made.hidden) == ("", ())


@pytest.fixture
def with_submodules(workspace, repository, tmp_path):
    """Make a workspace whose project holds a submodule with another one in it, and lacks a third."""
    allow = ("-c", "protocol.file.allow=always")
    others = [tmp_path / name for name in ("inner", "outer", "lost")]
    for other in others:
        other.mkdir()
        git(other, "init", "-q")
        (other / "page.txt").write_text("page\n")
        git(other, "add", ".")
        git(other, "commit", "-q", "-m", "page")
    git(others[1], *allow, "submodule", "add", "-q", others[0].as_uri(), "deep/inner")
    git(others[1], "commit", "-q", "-m", "inner")
    git(repository, *allow, "submodule", "add", "-q", others[1].as_uri(), "libs/outer")
    git(repository, *allow, "submodule", "update", "-q", "--init", "--recursive")
    git(repository, *allow, "submodule", "add", "-q", others[2].as_uri(), "lost")
    git(repository, "commit", "-q", "-m", "submodules")
    shutil.rmtree(repository / ".git/modules/lost")
    return workspace


INNER = "libs/outer/deep/inner"


def change_submodules(root: Path) -> None:
    (root / "libs/outer/page.txt").write_text("other\n")
    (root / INNER / "new.txt").write_text("new\n")
    git(root / INNER, "add", ".")
    git(root / INNER, "commit", "-q", "-m", "mine")
    (root / "lost/found.txt").write_text("found\n")
    (root / "libs/outer/large").write_bytes(b"x" * 2_000_000)


def assert_changes_shown(diff: str) -> None:
    assert "--- a/libs/outer/page.txt\n+++ b/libs/outer/page.txt\n@@ -1 +1 @@\n-page\n+other\n" in diff
    assert f"+++ b/{INNER}/new.txt" in diff
    assert "+++ b/lost/found.txt" in diff
    assert "changed, not shown: libs/outer/large (2.0 MB)" in diff


async def test_changes_in_submodules_are_shown_committed_or_not(with_submodules):
    made = await with_submodules()
    assert await show_changes(made.baseline, made.hidden) == ("", ())
    change_submodules(made.root)
    diff, notes = await show_changes(made.baseline, made.hidden)
    assert notes == ()
    assert_changes_shown(diff)


async def test_a_lent_and_set_up_workspace_shows_what_changed_in_submodules_too(
    with_submodules, repository, tmp_path, make_task
):
    setup = Setup(command="echo set up > libs/outer/made.txt; echo set up > lost/made.txt")
    kept = Templates(tmp_path / "runs", slots=1)
    for _ in range(2):
        made = await kept.take(make_task(project=str(repository)), setup, NoSandbox(), Toolchains())
        assert (made.root / "libs/outer/made.txt").is_file()
        assert await show_changes(made.baseline, made.hidden) == ("", ())
        change_submodules(made.root)
        assert_changes_shown((await show_changes(made.baseline, made.hidden))[0])
        await kept.give_back(made)
    await kept.close()


async def test_a_set_up_that_leads_a_submodule_elsewhere_takes_nothing_from_there(
    with_submodules, repository, tmp_path, make_task
):
    outside = tmp_path / "home/outer"
    (outside / "deep/inner").mkdir(parents=True)
    (outside / "page.txt").write_text("mine alone\n")
    (outside / "diary.txt").write_text("mine alone\n")
    links = f"rm -rf libs && ln -s {tmp_path}/home libs && rm -rf lost && ln -s {outside} lost"
    kept = Templates(tmp_path / "runs", slots=1)
    for _ in range(2):
        made = await kept.take(
            make_task(project=str(repository)), Setup(command=links), NoSandbox(), Toolchains()
        )
        for link in ("libs", "lost"):
            (made.root / link).unlink()
        for path in ("libs/outer", "lost"):
            (made.root / path).mkdir(parents=True)
        diff, _ = await show_changes(made.baseline, made.hidden)
        assert "mine alone" not in diff
        await kept.give_back(made)
    await kept.close()


async def test_a_submodule_that_became_a_link_is_not_followed(with_submodules, tmp_path):
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/page.txt").write_text("the secret")
    made = await with_submodules()
    for path, place in (("lost", tmp_path / "secrets"), ("libs", tmp_path)):
        shutil.rmtree(made.root / path)
        (made.root / path).symlink_to(place)
    diff, notes = await show_changes(made.baseline, made.hidden)
    assert notes == ()
    assert "the secret" not in diff
    assert "changed, not shown: libs (a link on the way to a submodule)" in diff
    for path in ("lost", "libs/outer", INNER):
        assert f"changed, not shown: {path} (a submodule that is no folder any more)" in diff


async def test_a_skill_that_is_taken_out_of_a_submodule_is_in_no_diff(workspace, repository, tmp_path):
    skills = tmp_path / "skills"
    (skills / "heron-greet").mkdir(parents=True)
    (skills / "heron-greet/SKILL.md").write_text("own")
    (skills / "other.txt").write_text("other\n")
    git(skills, "init", "-q")
    git(skills, "add", ".")
    git(skills, "commit", "-q", "-m", "skills")
    allow = ("-c", "protocol.file.allow=always")
    git(repository, *allow, "submodule", "add", "-q", skills.as_uri(), ".claude/skills")
    git(repository, "commit", "-q", "-m", "skills")
    made = await workspace()
    assert [path.name for path in (made.path / ".claude/skills").iterdir() if path.name != ".git"] == [
        "other.txt"
    ]
    assert await show_changes(made.baseline, made.hidden) == ("", ())
