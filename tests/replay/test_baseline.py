"""The diff of a run shows what it changed, whatever it did to the workspace's repository."""

from __future__ import annotations

import os
import subprocess

import pytest

from skillopt_replay import baseline
from skillopt_replay.baseline import DIFF_BYTES, show_changes
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


async def test_a_repository_the_run_broke_or_removed_does_not_matter(workspace):
    import shutil

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
