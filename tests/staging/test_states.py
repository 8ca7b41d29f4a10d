"""In whatever state a repository is, a proposal comes and goes, and nothing else moves."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from skillopt_staging.apply import apply, revert
from skillopt_staging.branches import discard, read, read_note
from skillopt_staging.rebasing import Standing, rebase

PATH = ".claude/skills/tidy-tests/SKILL.md"
BASE = (
    "---\nname: tidy-tests\ndescription: How to run the tests here.\n---\n\n"
    "# Tests\n\nRun them all.\n\n## Before\n\nInstall first.\n\n## After\n\nLook at the log.\n"
)
BETTER = BASE.replace("Run them all.\n", "Run them all with make test.\n")


class Place(NamedTuple):
    """The repository a state was made in, and the path of its skill."""

    root: Path
    path: str = PATH


Git = Callable[..., str]


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True)
    return done.stdout.rstrip("\n")


def clean(root: Path) -> Place:
    return Place(root)


def dirty(root: Path) -> Place:
    (root / "README.md").write_text("dirty\n")
    (root / "untracked file").write_text("x")
    return Place(root)


def partly_staged(root: Path) -> Place:
    (root / "README.md").write_text("staged\n")
    run(root, "add", "README.md")
    (root / "README.md").write_text("edited after\n")
    return Place(root)


def stashed(root: Path) -> Place:
    (root / "README.md").write_text("stashed\n")
    run(root, "stash", "-q")
    return Place(root)


def unborn(root: Path) -> Place:
    new = root.with_name("new")
    new.mkdir()
    run(new, "init", "-q")
    (new / PATH).parent.mkdir(parents=True)
    (new / PATH).write_text(BASE)
    return Place(new)


def detached(root: Path) -> Place:
    run(root, "checkout", "-q", "--detach")
    return Place(root)


def on_an_orphan_branch(root: Path) -> Place:
    run(root, "checkout", "-q", "--orphan", "empty")
    return Place(root)


def linked_worktree(root: Path) -> Place:
    other = root.with_name("other tree")
    run(root, "worktree", "add", "-q", "-b", "feature", str(other))
    return Place(other)


def beside_a_linked_worktree(root: Path) -> Place:
    run(root, "worktree", "add", "-q", "-b", "feature", str(root.with_name("other tree")))
    return Place(root)


def locked_worktree(root: Path) -> Place:
    place = linked_worktree(root)
    run(root, "worktree", "lock", str(place.root))
    return place


def worktree_of_a_bare_repository(root: Path) -> Place:
    bare, tree = root.with_name("bare.git"), root.with_name("tree")
    run(root, "clone", "-q", "--bare", str(root), str(bare))
    run(bare, "worktree", "add", "-q", str(tree), "main")
    return Place(tree)


def _with_submodule(root: Path) -> Path:
    inner = root.with_name("inner")
    run(root, "clone", "-q", str(root), str(inner))
    run(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "lib")
    run(root, "commit", "-qm", "a submodule")
    return root / "lib"


def with_a_submodule(root: Path) -> Place:
    _with_submodule(root)
    return Place(root)


def inside_a_submodule(root: Path) -> Place:
    inner = _with_submodule(root)
    run(inner, "checkout", "-q", "main")
    return Place(inner)


def sparse(root: Path) -> Place:
    (root / "far").mkdir()
    (root / "far/away.txt").write_text("x")
    run(root, "add", ".")
    run(root, "commit", "-qm", "far")
    run(root, "sparse-checkout", "set", ".claude")
    return Place(root)


def sparse_index(root: Path) -> Place:
    place = sparse(root)
    run(root, "sparse-checkout", "set", "--cone", "--sparse-index", ".claude")
    return place


def skill_outside_of_the_sparse_cone(root: Path) -> Place:
    (root / "near").mkdir()
    (root / "near/file").write_text("x")
    run(root, "add", ".")
    run(root, "commit", "-qm", "near")
    run(root, "sparse-checkout", "set", "near")
    (root / PATH).parent.mkdir(parents=True)
    (root / PATH).write_text(BASE)
    return Place(root)


def shallow(root: Path) -> Place:
    made = root.with_name("shallow")
    run(root, "clone", "-q", "--depth=1", f"file://{root}", str(made))
    return Place(made)


def partial(root: Path) -> Place:
    made = root.with_name("partial")
    run(root, "config", "uploadpack.allowFilter", "true")
    run(root, "clone", "-q", "--filter=blob:none", f"file://{root}", str(made))
    return Place(made)


def borrowing_objects(root: Path) -> Place:
    made = root.with_name("shared")
    run(root, "clone", "-q", "--shared", str(root), str(made))
    return Place(made)


def git_folder_elsewhere(root: Path) -> Place:
    run(root, "init", "-q", f"--separate-git-dir={root.with_name('elsewhere.git')}")
    return Place(root)


def index_locked(root: Path) -> Place:
    (root / ".git/index.lock").write_text("")
    return Place(root)


def packed_and_collected(root: Path) -> Place:
    run(root, "gc", "-q")
    run(root, "pack-refs", "--all")
    return Place(root)


def sha256(root: Path) -> Place:
    made = root.with_name("sha256")
    run(root.parent, "init", "-q", "--object-format=sha256", str(made))
    (made / PATH).parent.mkdir(parents=True)
    (made / PATH).write_text(BASE)
    run(made, "add", ".")
    run(made, "commit", "-qm", "first")
    return Place(made)


def reftable(root: Path) -> Place:
    made = root.with_name("reftable")
    try:
        run(root.parent, "init", "-q", "--ref-format=reftable", str(made))
    except subprocess.CalledProcessError:
        pytest.skip("this git knows no reftable")
    (made / PATH).parent.mkdir(parents=True)
    (made / PATH).write_text(BASE)
    run(made, "add", ".")
    run(made, "commit", "-qm", "first")
    return Place(made)


def signing_required(root: Path) -> Place:
    program = root.with_name("gpg")
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    for name, value in {"commit.gpgSign": "true", "gpg.program": str(program)}.items():
        run(root, "config", name, value)
    return Place(root)


def hooks_that_refuse(root: Path) -> Place:
    hooks = root / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-commit", "commit-msg", "reference-transaction", "post-index-change", "update"):
        (hooks / name).write_text("#!/bin/sh\nexit 1\n")
        (hooks / name).chmod(0o755)
    return Place(root)


def _under_way(root: Path, *command: str) -> Place:
    run(root, "checkout", "-q", "-b", "side")
    (root / "README.md").write_text("side\n")
    run(root, "commit", "-qam", "side")
    run(root, "checkout", "-q", "main")
    (root / "README.md").write_text("main\n")
    run(root, "commit", "-qam", "main")
    subprocess.run(["git", "-C", str(root), *command, "side"], check=False, capture_output=True)
    return Place(root)


def merge_under_way(root: Path) -> Place:
    return _under_way(root, "merge", "-q")


def rebase_under_way(root: Path) -> Place:
    return _under_way(root, "rebase", "-q")


def cherry_pick_under_way(root: Path) -> Place:
    return _under_way(root, "cherry-pick")


def bisect_under_way(root: Path) -> Place:
    run(root, "bisect", "start", "HEAD", "HEAD~1")
    return Place(root)


def skill_ignored(root: Path) -> Place:
    run(root, "rm", "-rq", "--cached", ".claude")
    (root / ".gitignore").write_text(".claude\n")
    run(root, "add", ".gitignore")
    run(root, "commit", "-qm", "private")
    return Place(root)


def skill_untracked(root: Path) -> Place:
    run(root, "rm", "-rq", "--cached", ".claude")
    run(root, "commit", "-qm", "gone")
    return Place(root)


def skill_assumed_unchanged(root: Path) -> Place:
    run(root, "update-index", "--assume-unchanged", PATH)
    return Place(root)


def skill_skipped_in_the_worktree(root: Path) -> Place:
    run(root, "update-index", "--skip-worktree", PATH)
    return Place(root)


def skill_to_be_added(root: Path) -> Place:
    path = ".claude/skills/other/SKILL.md"
    (root / path).parent.mkdir(parents=True)
    (root / path).write_text(BASE)
    run(root, "add", "--intent-to-add", path)
    return Place(root, path)


def skill_edited_and_staged(root: Path) -> Place:
    (root / PATH).write_text(BASE.replace("Look at the log.", "Look at my log."))
    run(root, "add", PATH)
    return Place(root)


def line_ends_translated(root: Path) -> Place:
    run(root, "config", "core.autocrlf", "true")
    (root / PATH).write_bytes(BASE.replace("\n", "\r\n").encode())
    return Place(root)


def filtered(root: Path) -> Place:
    (root / ".gitattributes").write_text("*.md filter=loud\n")
    run(root, "config", "filter.loud.clean", "tr a-z A-Z")
    run(root, "config", "filter.loud.smudge", "cat")
    run(root, "config", "filter.loud.required", "true")
    return Place(root)


def odd_names(root: Path) -> Place:
    odd = root.with_name("my 'prøject' $HOME\nnext")
    root.rename(odd)
    path = "sk ills/größe-日本/-x*[y]/SKILL.md"
    (odd / path).parent.mkdir(parents=True)
    (odd / path).write_text(BASE)
    return Place(odd, path)


def reached_through_a_link(root: Path) -> Place:
    link = root.with_name("link")
    link.symlink_to(root)
    return Place(link)


def replaced_objects(root: Path) -> Place:
    head = run(root, "rev-parse", "HEAD")
    other = run(root, "commit-tree", "-m", "other", run(root, "rev-parse", "HEAD^{tree}"))
    run(root, "replace", head, other)
    return Place(root)


def modes_not_trusted(root: Path) -> Place:
    run(root, "config", "core.fileMode", "false")
    run(root, "config", "core.ignoreCase", "true")
    return Place(root)


def settings_of_a_worktree(root: Path) -> Place:
    run(root, "config", "extensions.worktreeConfig", "true")
    run(root, "config", "--worktree", "user.name", "Somebody")
    return Place(root)


def nobody_configured(root: Path) -> Place:
    run(root, "config", "user.name", "")
    run(root, "config", "user.email", "")
    return Place(root)


def branch_of_an_odd_name(root: Path) -> Place:
    run(root, "checkout", "-q", "-b", "feat/größe-#1@x")
    return Place(root)


def read_by_owner_only(root: Path) -> Place:
    (root / PATH).chmod(0o400)
    return Place(root)


STATES = (
    clean, dirty, partly_staged, stashed, unborn, detached, on_an_orphan_branch, linked_worktree,
    beside_a_linked_worktree, locked_worktree, worktree_of_a_bare_repository, with_a_submodule,
    inside_a_submodule, sparse, sparse_index, skill_outside_of_the_sparse_cone, shallow, partial,
    borrowing_objects, git_folder_elsewhere, index_locked, packed_and_collected, sha256, reftable,
    signing_required, hooks_that_refuse, merge_under_way, rebase_under_way, cherry_pick_under_way,
    bisect_under_way, skill_ignored, skill_untracked, skill_assumed_unchanged, skill_skipped_in_the_worktree,
    skill_to_be_added, skill_edited_and_staged, line_ends_translated, filtered, odd_names,
    reached_through_a_link, replaced_objects, modes_not_trusted, settings_of_a_worktree, nobody_configured,
    branch_of_an_odd_name, read_by_owner_only,
)  # fmt: skip


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_a_proposal_comes_and_goes_and_nothing_else_moves(
    state, repository, skill, git, propose, photograph, tmp_path
):
    place = state(repository)
    live = place.root / place.path
    original, mode = live.read_bytes(), live.stat().st_mode
    text = original.decode().replace("Run them all.", "Run them all with make test.")
    before = photograph(place.root)
    staged = propose(text, root=place.root, path=place.path, live=live)
    assert photograph(place.root) == before
    assert read(staged) == (original.decode(), text)
    assert read_note(staged) == '{"wins": 7}'
    assert rebase(staged, message="again", note="{}").standing is Standing.CURRENT
    applied = apply(staged)
    assert (live.read_bytes(), live.stat().st_mode) == (text.encode(), mode)
    assert applied.complete
    now = photograph(place.root)
    assert {key for key in now if now[key] != before[key]} == {"files"}
    assert now["files"].keys() == before["files"].keys()
    assert {name for name in now["files"] if now["files"][name] != before["files"][name]} == {place.path}
    revert(staged, applied)
    assert (live.read_bytes(), live.stat().st_mode) == (original, mode)
    discard(staged)
    assert git(place.root, "branch", "--list", "skillopt/*") == ""
    now = photograph(place.root)
    assert {key for key in now if now[key] != before[key]} <= {"files"}


def test_the_matrix_is_as_wide_as_it_is_meant_to_be():
    assert len(STATES) >= 25
    assert len({state.__name__ for state in STATES}) == len(STATES)
