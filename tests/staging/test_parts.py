"""A proposal for a skill of several files is applied, taken in part and reverted as one."""

from __future__ import annotations

import pytest

from skillopt_staging.apply import apply, preview, revert
from skillopt_staging.errors import Conflict, NeedsDecision, StagingError

PATH = ".claude/skills/tidy-tests/SKILL.md"
HELP = "references/help.md"
SCRIPT = "scripts/check.sh"
OLD = "old.md"


@pytest.fixture
def folder(skill):
    (skill.parent / "references").mkdir()
    (skill.parent / HELP).write_text("one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n")
    (skill.parent / OLD).write_text("nobody reads this\n")
    return skill.parent


@pytest.fixture
def staged(repository, folder, propose):
    text = (folder / "SKILL.md").read_text().replace("Run them all.", "Run scripts/check.sh.")
    help_text = (folder / HELP).read_text().replace("five", "5")
    return propose(text, beside={HELP: help_text, SCRIPT: "#!/bin/sh\nmake test\n", OLD: None})


def read(folder):
    return {
        str(file.relative_to(folder)): file.read_text()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def test_the_branch_holds_all_files(repository, staged, git):
    shown = git(repository, "diff", "--name-status", "HEAD", staged.branch).split("\n")
    assert shown == [f"M\t{PATH}", f"A\t{PATH[:-8]}{HELP}", f"A\t{PATH[:-8]}{SCRIPT}"]


def test_apply_writes_all_files_and_revert_brings_the_folder_back(folder, staged):
    before = read(folder)
    applied = apply(staged)
    assert set(read(folder)) == {"SKILL.md", HELP, SCRIPT}
    assert "5" in (folder / HELP).read_text()
    assert [part.before == "" for part in applied.parts] == [False, True, False]
    undone = revert(staged, applied)
    assert read(folder) == before
    assert not (folder / "scripts").exists()
    revert(staged, undone)
    assert set(read(folder)) == {"SKILL.md", HELP, SCRIPT}


def test_hunks_count_on_through_the_files(folder, staged):
    before = read(folder)
    applied = apply(staged, hunks=[2])
    assert read(folder) == before | {HELP: before[HELP].replace("five", "5")}
    assert not applied.complete
    revert(staged, applied)
    assert read(folder) == before
    assert apply(staged, hunks=[1, 2, 3, 4]).complete
    with pytest.raises(StagingError, match="no hunk 5"):
        preview(staged, hunks=[5])


def test_a_conflict_in_one_file_writes_none(folder, staged):
    (folder / HELP).write_text((folder / HELP).read_text().replace("five", "fifth"))
    before = read(folder)
    with pytest.raises(Conflict, match=HELP):
        apply(staged)
    assert read(folder) == before
    assert apply(staged, hunks=[1, 3, 4])


def test_a_file_to_be_removed_that_was_edited_is_kept(folder, staged):
    (folder / OLD).write_text("somebody does\n")
    with pytest.raises(NeedsDecision, match="changed meanwhile"):
        apply(staged)
    assert (folder / OLD).read_text() == "somebody does\n"


def test_later_edits_of_every_file_survive_a_revert(folder, staged):
    applied = apply(staged)
    with (folder / HELP).open("a") as file:
        file.write("mine\n")
    revert(staged, applied)
    assert (folder / HELP).read_text().endswith("nine\nmine\n")
    assert "five" in (folder / HELP).read_text()


@pytest.mark.parametrize("name", ["../SKILL.md", "/etc/passwd", "a//b", ".git/config"])
def test_a_file_outside_of_the_skill_is_refused(name, repository, skill, propose):
    with pytest.raises(StagingError, match="no path inside"):
        propose(beside={name: "x\n"})


def test_a_folder_of_the_skill_that_leads_away_is_not_followed(folder, staged, tmp_path):
    (folder / "references").rename(tmp_path / "away")
    (folder / "references").symlink_to(tmp_path / "away")
    before = read(tmp_path / "away")
    with pytest.raises(StagingError, match="symbolic link"):
        apply(staged)
    assert read(tmp_path / "away") == before


def test_only_a_file_beside_may_change(skill, propose):
    staged = propose(skill.read_text(), beside={HELP: "new\n"})
    apply(staged)
    assert (skill.parent / HELP).read_text() == "new\n"


def test_staging_the_same_again_finds_it(repository, folder, staged, propose, skill):
    text = skill.read_text().replace("Run them all.", "Run scripts/check.sh.")
    help_text = (folder / HELP).read_text().replace("five", "5")
    again = propose(text, beside={HELP: help_text, SCRIPT: "#!/bin/sh\nmake test\n", OLD: None})
    assert again == staged
    with pytest.raises(StagingError, match="exists and holds something else"):
        propose(text, beside={HELP: help_text})


def test_a_proposal_that_changes_nothing_is_no_proposal(skill, propose):
    with pytest.raises(StagingError, match="holds already"):
        propose(skill.read_text(), branch="skillopt/x")


@pytest.mark.parametrize("action", ["apply", "revert"])
def test_when_one_file_cannot_be_written_those_before_it_are_put_back(action, folder, staged, monkeypatch):
    from skillopt_staging import apply as applying

    applied = apply(staged) if action == "revert" else None
    before = read(folder)
    real = applying.write_live

    def fail(live, data, *, expected):
        if live.name == ("SKILL.md" if action == "apply" else "old.md"):
            raise StagingError("cannot write: no space left on device")
        return real(live, data, expected=expected)

    with monkeypatch.context() as broken:
        broken.setattr(applying, "write_live", fail)
        with pytest.raises(StagingError, match="no space"):
            apply(staged) if applied is None else revert(staged, applied)
    assert read(folder) == before
    assert (folder / "scripts").exists() is (action == "revert")
    if applied is None:
        apply(staged)
        assert OLD not in read(folder)
    else:
        revert(staged, applied)
        assert OLD in read(folder)
