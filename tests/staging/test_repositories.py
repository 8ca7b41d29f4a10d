"""Staging works in whatever state a repository is, and leaves that state alone."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from skillopt_staging import plumbing
from skillopt_staging.apply import apply, preview, revert
from skillopt_staging.branches import discard, read, read_note
from skillopt_staging.errors import NeedsDecision, NoRepository, StagingError
from skillopt_staging.rebasing import rebase
from skillopt_staging.targets import project_target

PATH = ".claude/skills/tidy-tests/SKILL.md"
BASE = (
    "---\nname: tidy-tests\ndescription: How to run the tests here.\n---\n\n"
    "# Tests\n\nRun them all.\n\n## Before\n\nInstall first.\n\n## After\n\nLook at the log.\n"
)
BETTER = BASE.replace("Run them all.\n", "Run them all with make test.\n")


def test_an_unborn_head_gets_a_commit_without_parent(tmp_path, git, propose, photograph):
    root = tmp_path / "new"
    root.mkdir()
    git(root, "init", "-q")
    before = photograph(root)
    staged = propose(root=root)
    assert photograph(root) == before
    assert staged.base == ""
    assert git(root, "rev-list", "--count", staged.branch) == "1"
    assert git(root, "ls-tree", "-r", "--name-only", staged.branch) == PATH


def test_a_branch_that_an_unborn_head_waits_for_is_not_created(tmp_path, git, propose):
    root = tmp_path / "new"
    root.mkdir()
    git(root, "init", "-q")
    git(root, "symbolic-ref", "HEAD", "refs/heads/skillopt/mine")
    with pytest.raises(NeedsDecision, match="checked out"):
        propose(root=root, branch="skillopt/mine")


def test_a_detached_head_is_where_the_branch_starts(repository, skill, git, propose, photograph):
    git(repository, "checkout", "-q", "--detach", "HEAD~1")
    before = photograph(repository)
    staged = propose()
    assert photograph(repository) == before
    assert staged.base == git(repository, "rev-parse", "HEAD")


def test_a_linked_worktree_starts_from_its_own_head(repository, skill, git, propose, photograph, tmp_path):
    other = tmp_path / "other tree"
    git(repository, "worktree", "add", "-q", "-b", "feature", str(other))
    (other / "new.txt").write_text("x")
    git(other, "add", ".")
    git(other, "commit", "-q", "-m", "feature")
    before = photograph(repository), photograph(other)
    staged = propose(root=other)
    assert (photograph(repository), photograph(other)) == before
    assert staged.base == git(other, "rev-parse", "HEAD") != git(repository, "rev-parse", "HEAD")
    assert git(repository, "rev-parse", staged.branch) == staged.commit


def test_a_bare_repository_takes_a_branch_too(repository, skill, git, propose, tmp_path):
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(bare))
    staged = propose(root=bare, live=skill)
    assert git(bare, "diff", "--name-status", "HEAD", staged.branch) == f"M\t{PATH}"


def test_a_sparse_checkout_keeps_all_files_in_the_commit(repository, skill, git, propose, photograph):
    (repository / "far").mkdir()
    (repository / "far/away.txt").write_text("x")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "far")
    git(repository, "sparse-checkout", "set", ".claude")
    assert not (repository / "far").exists()
    before = photograph(repository)
    staged = propose()
    assert photograph(repository) == before
    assert git(repository, "diff", "--name-status", "HEAD", staged.branch) == f"M\t{PATH}"


def test_a_dirty_tree_a_stash_and_staged_changes_stay_as_they_are(
    repository, skill, git, propose, photograph
):
    (repository / "README.md").write_text("stashed\n")
    git(repository, "stash", "-q")
    (repository / "README.md").write_text("staged\n")
    git(repository, "add", "README.md")
    (repository / "README.md").write_text("edited after\n")
    (repository / "untracked file").write_text("x")
    before = photograph(repository)
    assert before["stash"]
    staged = propose()
    assert photograph(repository) == before
    assert git(repository, "diff", "--name-status", "HEAD", staged.branch) == f"M\t{PATH}"


def test_an_index_another_git_holds_is_no_hindrance(repository, skill, git, propose, photograph):
    (repository / ".git/index.lock").write_text("")
    before = photograph(repository)
    staged = propose()
    assert photograph(repository) == before
    assert git(repository, "rev-parse", staged.branch) == staged.commit


def test_a_broken_index_is_no_hindrance(repository, skill, git, propose):
    (repository / ".git/index").write_bytes(b"not an index")
    skill.unlink()
    staged = propose(BETTER.replace("\n", "\r\n"), path="other/SKILL.md", live=repository / "other/SKILL.md")
    assert git(repository, "rev-parse", staged.branch) == staged.commit
    assert (repository / ".git/index").read_bytes() == b"not an index"


HOOKS = (
    "pre-commit", "commit-msg", "post-commit", "prepare-commit-msg", "reference-transaction",
    "post-checkout", "post-index-change", "post-rewrite", "pre-auto-gc",
)  # fmt: skip


@pytest.mark.parametrize("place", ["repository", "configured"])
def test_no_hook_runs(place, repository, skill, git, propose, tmp_path):
    hooks = repository / ".git/hooks" if place == "repository" else tmp_path / "hooks"
    hooks.mkdir(exist_ok=True)
    trace = tmp_path / "trace"
    for name in HOOKS:
        (hooks / name).write_text(f"#!/bin/sh\necho {name} >>'{trace}'\nexit 1\n")
        (hooks / name).chmod(0o755)
    if place == "configured":
        git(repository, "config", "core.hooksPath", str(hooks))
    staged = propose()
    discard(staged)
    assert not trace.exists()


def test_nobody_is_asked_to_sign(repository, skill, git, propose, tmp_path):
    program = tmp_path / "gpg"
    program.write_text(f"#!/bin/sh\ntouch '{tmp_path}/asked'\nexit 1\n")
    program.chmod(0o755)
    for name, value in {"commit.gpgsign": "true", "tag.gpgsign": "true", "gpg.program": str(program)}.items():
        git(repository, "config", name, value)
    staged = propose()
    assert not (tmp_path / "asked").exists()
    assert "gpgsig" not in git(repository, "cat-file", "commit", staged.commit)


@pytest.mark.parametrize("setting", ["true", "input"])
def test_line_ends_git_translates_do_not_fill_the_diff(setting, repository, skill, git, propose):
    git(repository, "config", "core.autocrlf", setting)
    skill.write_bytes(BASE.replace("\n", "\r\n").encode())
    staged = propose(BETTER.replace("\n", "\r\n"))
    assert git(repository, "diff", "--numstat", "HEAD", staged.branch) == f"1\t1\t{PATH}"
    assert read(staged) == (BASE.replace("\n", "\r\n"), BETTER.replace("\n", "\r\n"))


@pytest.mark.parametrize(
    ("attributes", "stored"),
    [
        ("* text=auto\n", b"a\nb\n"),
        ("*.md eol=crlf\n", b"a\nb\n"),
        ("* -text\n", b"a\r\nb\r\n"),
        ("", b"a\r\nb\r\n"),
    ],
)
def test_a_new_file_is_stored_as_its_attributes_say(attributes, stored, repository, git, propose):
    (repository / ".gitattributes").write_text(attributes)
    staged = propose("a\r\nb\r\n")
    shown = subprocess.run(
        ["git", "-C", repository, "cat-file", "blob", f"{staged.commit}:{PATH}"],
        check=True,
        capture_output=True,
    )
    assert shown.stdout == stored


@pytest.mark.parametrize(
    "path",
    [
        "skills/with space/SKILL.md",
        "skills/größe-日本/SKILL.md",
        'quo"te\ttab\nline/-x',
        "a:b/*?[x]",
        "-dash",
    ],
)
def test_odd_paths_arrive_as_they_are(path, repository, git, propose, photograph):
    before = photograph(repository)
    staged = propose(path=path)
    assert photograph(repository) == before
    assert git(repository, "diff", "--name-only", "-z", "HEAD", staged.branch) == path + "\0"


def test_a_repository_in_an_odd_folder_works(tmp_path, git, propose):
    root = tmp_path / "my 'prøject' $HOME\nnext"
    root.mkdir()
    git(root, "init", "-q")
    assert git(root, "rev-parse", propose(root=root).branch)


def test_the_commit_is_by_the_user_when_git_knows_one(repository, skill, git, propose):
    staged = propose()
    shown = git(repository, "log", "-1", "--format=%an <%ae> %cn <%ce>", staged.commit)
    assert shown == "Test <test@localhost> Test <test@localhost>"


def test_the_commit_is_ours_when_git_knows_nobody(repository, skill, git, propose, private_home):
    (private_home / ".gitconfig").write_text("")
    staged = propose()
    shown = git(repository, "log", "-1", "--format=%an <%ae>", staged.commit)
    assert shown == "SkillOpt-Sleep <skillopt-sleep@localhost>"
    assert read_note(staged) == '{"wins": 7}'


def test_a_repository_of_someone_else_is_refused_with_the_way_out(
    repository, skill, propose, tmp_path, monkeypatch
):
    # The real git, told that the folder belongs to another user.
    real = subprocess.run(["which", "git"], check=True, capture_output=True, text=True).stdout.strip()
    wrapper = tmp_path / "bin/git"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec {real} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")
    with pytest.raises(StagingError, match="belongs to another user") as caught:
        propose()
    assert f"safe.directory {repository}" in caught.value.hint


def test_the_variables_of_a_calling_git_do_not_reach_ours(
    repository, skill, git, propose, photograph, tmp_path, monkeypatch
):
    other = tmp_path / "other"
    git(tmp_path, "init", "-q", str(other))
    before = photograph(repository), photograph(other)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(repository / ".git/index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(other / ".git/objects"))
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Someone Else")
    monkeypatch.setenv("GIT_TRACE", "1")
    staged = propose()
    for name in (
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_AUTHOR_NAME",
        "GIT_TRACE",
    ):
        monkeypatch.delenv(name)
    assert (photograph(repository), photograph(other)) == before
    assert git(repository, "log", "-1", "--format=%an", staged.branch) == "Test"


def test_a_folder_below_the_top_level_is_refused(repository, skill, propose):
    with pytest.raises(StagingError, match="inside a repository") as caught:
        propose(root=skill.parent)
    assert caught.value.hint == "name its top level"


def test_a_folder_without_repository_and_one_that_is_gone_are_told_apart(tmp_path, propose):
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(NoRepository):
        propose(root=empty)
    with pytest.raises(StagingError, match="there is no folder"):
        propose(root=tmp_path / "gone")


def test_a_shallow_clone_and_packed_refs_work(repository, skill, git, propose, tmp_path):
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repository}", str(shallow))
    git(shallow, "pack-refs", "--all")
    staged = propose(root=shallow)
    assert git(shallow, "diff", "--name-status", "HEAD", staged.branch) == f"M\t{PATH}"
    git(shallow, "pack-refs", "--all")
    discard(staged)
    assert git(shallow, "branch", "--list", "skillopt/*") == ""


def test_a_sha256_repository_works(tmp_path, git, propose):
    root = tmp_path / "sha256"
    git(tmp_path, "init", "-q", "--object-format=sha256", str(root))
    staged = propose(root=root)
    assert len(staged.commit) == 64
    assert read(staged) == ("", BETTER)


def test_a_read_only_git_folder_gives_a_plain_error(repository, skill, propose):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    (repository / ".git").chmod(0o500)
    try:
        with pytest.raises(StagingError, match="cannot lock"):
            propose()
    finally:
        (repository / ".git").chmod(0o700)


@pytest.fixture
def lay_traps(repository, git, tmp_path):
    """Have the project name programs wherever its settings can; return where those tell of a start."""

    def lay() -> Path:
        sprung = tmp_path / "sprung"
        sprung.mkdir()

        def trap(name: str) -> str:
            program = tmp_path / f"trap-{name}"
            program.write_text(f"#!/bin/sh\ntouch '{sprung}/{name}'\nexit 1\n")
            program.chmod(0o755)
            return str(program)

        settings = {
            "core.repositoryFormatVersion": "1", "extensions.partialClone": "origin",
            "remote.origin.url": repository.as_uri(), "remote.origin.promisor": "true",
            "remote.origin.uploadpack": trap("uploadpack"), "core.fsmonitor": trap("fsmonitor"),
            "core.sshCommand": trap("ssh"), "core.editor": trap("editor"), "core.pager": trap("pager"),
            "core.askPass": trap("askpass"), "credential.helper": trap("helper"),
            "commit.gpgSign": "true", "gpg.program": trap("gpg"), "log.showSignature": "true",
            "diff.external": trap("diff"), "diff.trap.textconv": trap("textconv"),
            "merge.trap.driver": trap("merge"), "filter.trap.clean": trap("clean"),
            "filter.trap.smudge": trap("smudge"), "filter.trap.process": trap("process"),
        }  # fmt: skip
        for name, value in settings.items():
            git(repository, "config", name, value)
        (repository / ".git/info/attributes").write_text("* filter=trap diff=trap merge=trap\n")
        for name in ("reference-transaction", "post-index-change", "pre-commit", "post-commit"):
            (repository / ".git/hooks").mkdir(exist_ok=True)
            (repository / ".git/hooks" / name).symlink_to(trap(name))
        return sprung

    return lay


def test_nothing_that_a_projects_settings_name_is_started(repository, skill, propose, lay_traps, tmp_path):
    sprung = lay_traps()
    project_target(repository, "tidy-tests")
    skill.write_bytes(BASE.replace("\n", "\r\n").encode())
    staged = propose()
    read_note(staged)
    preview(staged)
    skill.write_text(BASE.replace("Install first.", "Install it first."))
    staged = rebase(staged, message="Sharpen", note="{}").staged
    revert(staged, apply(staged))
    discard(staged)
    assert [path.name for path in sprung.iterdir()] == []


_NEWER_GIT = """#!/bin/sh
[ "$1" = version ] && echo git version 2.54.0 && exit
folder=$2
ask() {{ {git} -C "$folder" config "$@"; }}
case " $* " in *" update-ref "*|*" symbolic-ref "*|*" ls-files "*)
    ask --name-only --get-regexp '^hook\\..*\\.command$' | while read -r key; do
        [ "$(ask --bool "${{key%.command}}.enabled")" = false ] || sh -c "$(ask "$key")"
    done
esac
exec {git} "$@"
"""


@pytest.fixture
def newer_git(tmp_path, monkeypatch):
    """A git that runs hooks named in settings alone, as those since 2.54 do; our own may be older."""
    program = tmp_path / "newer/git"
    program.parent.mkdir()
    program.write_text(_NEWER_GIT.format(git=shutil.which("git")))
    program.chmod(0o755)
    monkeypatch.setattr(plumbing._load(), "GIT_PYTHON_GIT_EXECUTABLE", str(program))
    for known in (plumbing._find_version, plumbing._silence_hooks):
        known.cache_clear()
    yield program
    plumbing._find_version.cache_clear()


def test_no_hook_that_is_named_in_settings_alone_runs(newer_git, repository, skill, git, propose, tmp_path):
    sprung = tmp_path / "sprung"
    for name in ("plain", "with.dot", "with = sign", 'a "quote"', "UPPER", "hook"):
        git(repository, "config", f"hook.{name}.command", f"echo '{name}' >> {sprung}")
        git(repository, "config", f"hook.{name}.event", "reference-transaction")
        git(repository, "config", f"hook.{name}.enabled", "true")
    subprocess.run([newer_git, "-C", repository, "update-ref", "refs/heads/mine", "HEAD"], check=True)
    assert len(sprung.read_text().splitlines()) == 6, "the traps do not work"
    sprung.unlink()
    staged = propose()
    preview(staged)
    revert(staged, apply(staged))
    discard(staged)
    assert not sprung.exists()
    assert git(repository, "config", "hook.plain.enabled") == "true"


def test_what_a_partial_clone_lacks_is_not_fetched_behind_the_users_back(
    repository, skill, git, propose, lay_traps
):
    staged = propose()
    skill.write_text(BASE.replace("Install first.", "Install it first."))
    sprung = lay_traps()
    missing = git(repository, "rev-parse", f"HEAD:{PATH}")
    (repository / ".git/objects" / missing[:2] / missing[2:]).unlink()
    for try_it in (lambda: read(staged), lambda: preview(staged), lambda: apply(staged)):
        with pytest.raises(StagingError, match="is a partial clone that lacks what git cat-file needs"):
            try_it()
    assert [path.name for path in sprung.iterdir()] == []
