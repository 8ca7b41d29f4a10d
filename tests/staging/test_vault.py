"""The vault mirrors skills that lie in no repository, and takes the proposals for them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from skillopt_staging.apply import apply, revert
from skillopt_staging.branches import stage
from skillopt_staging.errors import StagingError
from skillopt_staging.vault import _SETTINGS as SETTINGS
from skillopt_staging.vault import Vault

PATH = "home/.claude/skills/tidy-tests/SKILL.md"
BASE = "---\nname: tidy-tests\ndescription: How.\n---\n\nRun them all.\n\n\n\n\nLook at the log.\n"
BETTER = BASE.replace("Run them all.", "Run them all with make test.")


@pytest.fixture
def live(private_home):
    file = private_home / ".claude/skills/tidy-tests/SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text(BASE)
    return file


@pytest.fixture
def vault(tmp_path):
    return Vault(tmp_path / "state/vault")


def propose(vault, live, text=BETTER, branch="skillopt/1-tidy-tests"):
    vault.mirror(live, PATH)
    return stage(vault.root, branch=branch, path=PATH, text=text, message="Sharpen", note="{}", live=live)


def main(git, vault):
    return git(vault.root, "show", f"main:{PATH}") + "\n"


def test_the_first_mirror_makes_the_vault(vault, live, git):
    commit = vault.mirror(live, PATH)
    assert git(vault.root, "rev-parse", "main") == commit
    assert main(git, vault) == BASE
    assert git(vault.root, "log", "--format=%an <%ae> %s") == (
        f"SkillOpt-Sleep <skillopt-sleep@localhost> Mirror {PATH}"
    )
    assert git(vault.root, "fsck", "--strict") == ""


def test_an_outside_edit_is_noticed_and_an_unchanged_file_is_not_committed_again(vault, live, git):
    first = vault.mirror(live, PATH)
    assert vault.mirror(live, PATH) == first
    live.write_text(BASE + "By hand.\n")
    second = vault.mirror(live, PATH)
    assert git(vault.root, "log", "--format=%s", f"{first}..{second}") == f"Outside edit of {PATH} noticed"
    live.unlink()
    vault.mirror(live, PATH)
    assert git(vault.root, "ls-tree", "-r", "--name-only", "main") == ""


def test_mirroring_keeps_every_byte(vault, live, git, private_home):
    (private_home / ".gitconfig").write_text("[core]\n\tautocrlf = true\n\tsafecrlf = true\n")
    live.write_bytes(b"\xef\xbb\xbfone\r\ntwo\n\xff")
    vault.mirror(live, PATH)
    shown = subprocess.run(
        ["git", "-C", vault.root, "cat-file", "blob", f"main:{PATH}"], check=True, capture_output=True
    )
    assert shown.stdout == live.read_bytes()


def test_nothing_to_mirror_is_no_error(vault, live, git):
    live.unlink()
    assert vault.mirror(live, PATH) == ""
    staged = stage(
        vault.root, branch="skillopt/new", path=PATH, text=BETTER, message="x", note="{}", live=live
    )
    assert staged.base == ""
    applied = apply(staged)
    assert live.read_text() == main(git, vault) == BETTER
    revert(staged, applied)
    assert not live.exists()
    assert git(vault.root, "ls-tree", "-r", "--name-only", "main") == ""


def test_after_apply_and_revert_main_holds_what_is_live(vault, live, git):
    staged = propose(vault, live)
    assert git(vault.root, "diff", "--name-status", "main", staged.branch) == f"M\t{PATH}"
    applied = apply(staged)
    assert live.read_text() == main(git, vault) == BETTER
    assert (
        git(vault.root, "branch", "--merged", "main", "--format=%(refname:short)") == f"main\n{staged.branch}"
    )
    revert(staged, applied)
    assert live.read_text() == main(git, vault) == BASE
    subjects = git(vault.root, "log", "--first-parent", "--format=%s", "main").split("\n")
    assert subjects == [f"Revert {staged.branch}", f"Apply {staged.branch}", f"Mirror {PATH}"]


def test_main_keeps_the_users_edit_between_staging_and_apply(vault, live, git):
    staged = propose(vault, live)
    live.write_text(BASE.replace("the log", "my log"))
    applied = apply(staged)
    assert not applied.complete
    subjects = git(vault.root, "log", "--format=%s", "main").split("\n")
    assert subjects == [f"Apply {staged.branch}", f"Outside edit of {PATH} noticed", f"Mirror {PATH}"]
    assert live.read_text() == main(git, vault) == BETTER.replace("the log", "my log")


def test_proposals_for_two_skills_do_not_meet(vault, live, git, private_home):
    first = propose(vault, live)
    other = private_home / ".claude/skills/other/SKILL.md"
    other.parent.mkdir()
    other.write_text("other\n")
    path = "home/.claude/skills/other/SKILL.md"
    vault.mirror(other, path)
    second = stage(
        vault.root, branch="skillopt/1-other", path=path, text="better\n", message="x", note="{}", live=other
    )
    apply(first)
    apply(second)
    assert main(git, vault) == BETTER
    assert git(vault.root, "show", f"main:{path}") == "better"


def test_the_users_hooks_templates_and_signing_stay_out(vault, live, git, private_home, tmp_path):
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-commit", "pre-commit", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\nexit 1\n")
        (hooks / name).chmod(0o755)
    template = tmp_path / "template"
    (template / "hooks").mkdir(parents=True)
    (template / "hooks/post-commit").write_text("#!/bin/sh\n")
    (private_home / ".gitconfig").write_text(
        f"[core]\n\thooksPath = {hooks}\n[init]\n\ttemplateDir = {template}\n\tdefaultBranch = trunk\n"
        "[commit]\n\tgpgSign = true\n[user]\n\tname = Me\n\temail = me@localhost\n"
    )
    apply(propose(vault, live))
    assert not (tmp_path / "ran").exists()
    assert not (vault.root / ".git/hooks").exists()
    assert git(vault.root, "symbolic-ref", "HEAD") == "refs/heads/main"


@pytest.mark.parametrize("done", range(5))
def test_a_vault_whose_making_was_cut_short_is_finished(done, vault, live, git, repository):
    steps = [("init", "-q"), *(("config", "--local", name, value) for name, value in SETTINGS.items())]
    vault = Vault(repository / "vault")
    (vault.root / ".git").mkdir(parents=True)
    for step in steps[:done]:
        git(vault.root, *step)
    vault.mirror(live, PATH)
    assert git(vault.root, "config", "--local", "skillopt.vault") == "true"
    assert main(git, vault) == BASE
    assert git(repository, "branch", "--format=%(refname:short)") == "main"
    assert git(repository, "log", "--all", "--format=%s") == "first"


def test_a_vault_inside_another_repository_is_its_own(live, git, repository, photograph):
    before = photograph(repository)["refs"]
    vault = Vault(repository / "state/vault")
    apply(propose(vault, live))
    assert photograph(repository)["refs"] == before
    assert main(git, vault) == BETTER


def test_a_vault_that_cannot_be_made_says_so(tmp_path, live):
    (tmp_path / "file").write_text("")
    with pytest.raises(StagingError, match="cannot make the vault"):
        Vault(tmp_path / "file/vault").mirror(live, PATH)


MIRROR = """
import sys
from pathlib import Path
from skillopt_staging.vault import Vault
for _ in range(3):
    Vault(Path(sys.argv[1])).mirror(Path(sys.argv[2]), f"home/{sys.argv[3]}.md")
"""


def test_two_runs_may_make_and_fill_the_vault_at_once(vault, live, git):
    children = [
        subprocess.Popen([sys.executable, "-c", MIRROR, str(vault.root), str(live), str(number)])
        for number in range(3)
    ]
    assert [child.wait(60) for child in children] == [0, 0, 0]
    assert git(vault.root, "ls-tree", "-r", "--name-only", "main").split("\n") == [
        "home/0.md", "home/1.md", "home/2.md",
    ]  # fmt: skip
    assert git(vault.root, "rev-list", "--count", "main") == "3"
