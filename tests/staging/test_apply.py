"""Applying writes one live file, keeps what the user did meanwhile, and can be undone."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import sys

import pytest

from skillopt_staging.apply import apply, preview, revert
from skillopt_staging.branches import discard
from skillopt_staging.errors import Conflict, NeedsDecision, StagingError

PATH = ".claude/skills/tidy-tests/SKILL.md"
BASE = (
    "---\nname: tidy-tests\ndescription: How to run the tests here.\n---\n\n"
    "# Tests\n\nRun them all.\n\n## Before\n\nInstall first.\n\n## After\n\nLook at the log.\n"
)
RUN, LOG = ("Run them all.", "Run them all with make test."), ("Look at the log.", "Look at build/log.txt.")
BETTER = BASE.replace(*RUN)
TWO_PLACES = BETTER.replace(*LOG)


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def others(photo):
    return {key: value for key, value in photo.items() if key != "files"} | {
        "files": {name: value for name, value in photo["files"].items() if name != PATH}
    }


def test_apply_writes_the_live_file_and_nothing_else(repository, skill, propose, photograph):
    (repository / "README.md").write_text("dirty\n")
    staged = propose()
    before = photograph(repository)
    applied = apply(staged)
    assert skill.read_text() == BETTER
    assert others(photograph(repository)) == others(before)
    assert (applied.before, applied.after) == (sha(BASE.encode()), sha(BETTER.encode()))
    assert applied.complete
    assert applied.live == str(skill)


def test_a_preview_says_what_apply_would_do_and_writes_nothing(repository, skill, propose, photograph):
    staged = propose(TWO_PLACES)
    before = photograph(repository)
    plan = preview(staged)
    assert (plan.before, plan.after) == (BASE.encode(), TWO_PLACES.encode())
    assert (plan.moved, plan.complete) == (False, True)
    assert not preview(staged, hunks=[1]).complete
    assert photograph(repository) == before
    skill.write_text(BASE.replace("# Tests", "# My tests"))
    assert preview(staged).moved


def test_the_backup_is_in_the_repository_and_outlives_garbage_collection(repository, skill, git, propose):
    live = b"never committed \r\n" + BASE.encode()
    skill.write_bytes(live)
    staged = propose(live.decode().replace(*RUN))
    applied = apply(staged)
    git(repository, "gc", "-q", "--prune=now")
    assert git(repository, "cat-file", "-s", applied.backup) == str(len(live))
    assert revert(staged, applied).after == applied.before == sha(live)
    assert skill.read_bytes() == live


def test_only_the_chosen_hunks_are_written(repository, skill, propose):
    applied = apply(propose(TWO_PLACES), hunks=[2])
    assert skill.read_text() == BASE.replace(*LOG)
    assert not applied.complete


def test_all_hunks_together_are_the_whole_proposal(skill, propose):
    assert apply(propose(TWO_PLACES), hunks=[1, 2]).complete
    assert skill.read_text() == TWO_PLACES


@pytest.mark.parametrize("hunks", [[], [3], [0]])
def test_a_choice_that_makes_no_sense_writes_nothing(hunks, skill, propose):
    with pytest.raises(StagingError):
        apply(propose(TWO_PLACES), hunks=hunks)
    assert skill.read_text() == BASE


def test_what_the_user_changed_meanwhile_stays(skill, propose):
    staged = propose()
    skill.write_text(BASE.replace(*LOG))
    applied = apply(staged)
    assert skill.read_text() == TWO_PLACES
    assert not applied.complete
    revert(staged, applied)
    assert skill.read_text() == BASE.replace(*LOG)


def test_a_change_in_the_same_place_is_the_users_to_settle(repository, skill, propose, photograph):
    staged = propose()
    skill.write_text(BASE.replace("Run them all.", "Run them one by one."))
    before = photograph(repository)
    with pytest.raises(Conflict) as caught:
        apply(staged)
    assert caught.value.exit_code == 4
    assert (
        "Run them one by one.\n||||||| before\nRun them all.\n=======\nRun them all with"
        in caught.value.marked
    )
    assert photograph(repository) == before


def test_a_live_file_that_was_removed_is_not_brought_back(skill, propose):
    staged = propose()
    skill.unlink()
    with pytest.raises(NeedsDecision, match="was removed"):
        apply(staged)
    assert not skill.exists()


def test_a_live_file_that_holds_the_result_is_left_alone(skill, propose):
    staged = propose()
    skill.write_text(BETTER)
    before = skill.stat()
    applied = apply(staged)
    assert (skill.stat().st_ino, skill.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert applied.before == applied.after == sha(BETTER.encode())


def test_applying_twice_still_knows_what_was_before(skill, propose):
    staged = propose()
    first = apply(staged)
    assert apply(staged) == first
    revert(staged, apply(staged))
    assert skill.read_text() == BASE


def test_line_ends_mark_and_last_line_stay_the_live_files(skill, propose):
    live = b"\xef\xbb\xbf" + BASE.replace("\n", "\r\n").rstrip().encode()
    skill.write_bytes(live)
    applied = apply(propose())
    assert skill.read_bytes() == live.replace(*(part.encode() for part in RUN))
    assert applied.complete


def test_bytes_that_are_no_text_any_more_survive(skill, propose):
    staged = propose()
    skill.write_bytes(BASE.encode() + b"\xff\xfe latin \xe9\n")
    apply(staged)
    assert skill.read_bytes() == BETTER.encode() + b"\xff\xfe latin \xe9\n"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755, 0o444])
def test_the_mode_of_the_live_file_stays(mode, skill, propose):
    staged = propose()
    skill.chmod(mode)
    applied = apply(staged)
    assert stat.S_IMODE(skill.stat().st_mode) == mode
    revert(staged, applied)
    assert stat.S_IMODE(skill.stat().st_mode) == mode


def test_a_new_file_gets_the_mode_the_users_umask_gives(repository, propose):
    old = os.umask(0o027)
    try:
        apply(propose())
    finally:
        os.umask(old)
    assert stat.S_IMODE((repository / PATH).stat().st_mode) == 0o640


def test_a_linked_live_file_is_changed_where_it_really_is(repository, git, propose, tmp_path):
    real = tmp_path / "dotfiles/skill.md"
    real.parent.mkdir()
    real.write_text(BASE)
    live = tmp_path / "SKILL.md"
    live.symlink_to(real)
    staged = propose(live=live)
    applied = apply(staged)
    assert live.is_symlink()
    assert real.read_text() == BETTER
    revert(staged, applied)
    assert live.is_symlink()
    assert real.read_text() == BASE


def test_a_dangling_link_gets_its_file(propose, tmp_path):
    live, real = tmp_path / "SKILL.md", tmp_path / "not/yet/there.md"
    live.symlink_to(real)
    staged = propose(live=live)
    applied = apply(staged)
    assert real.read_text() == BETTER
    revert(staged, applied)
    assert live.is_symlink()
    assert not (tmp_path / "not").exists()


@pytest.mark.parametrize("kind", ["folder", "pipe", "loop"])
def test_what_is_no_file_is_not_written_over(kind, propose, tmp_path):
    live = tmp_path / "SKILL.md"
    staged = propose(live=live)
    if kind == "folder":
        live.mkdir()
    elif kind == "pipe":
        os.mkfifo(live)
    else:
        live.symlink_to(live)
    before = live.lstat()
    with pytest.raises(StagingError):
        apply(staged)
    after = live.lstat()
    # To read a link is no change of it, though the time of the last reading tells.
    assert (after.st_ino, after.st_mode, after.st_ctime_ns) == (
        before.st_ino, before.st_mode, before.st_ctime_ns
    )  # fmt: skip


def test_a_new_skill_goes_again_with_the_folders_made_for_it(repository, propose, photograph):
    before = photograph(repository)
    staged = propose()
    applied = apply(staged)
    assert (repository / PATH).read_text() == BETTER
    assert (applied.before, applied.backup) == ("", "")
    undone = revert(staged, applied)
    assert (undone.after, undone.written) == ("", "")
    assert photograph(repository) == before


def test_a_folder_that_has_other_files_stays(repository, propose):
    staged = propose()
    applied = apply(staged)
    (repository / PATH).with_name("notes.md").write_text("mine")
    revert(staged, applied)
    assert not (repository / PATH).exists()
    assert (repository / PATH).with_name("notes.md").read_text() == "mine"


def test_revert_keeps_what_the_user_wrote_after(skill, propose):
    staged = propose()
    applied = apply(staged)
    skill.write_text(TWO_PLACES)
    undone = revert(staged, applied)
    assert skill.read_text() == BASE.replace(*LOG)
    assert not undone.complete


def test_revert_that_cannot_keep_it_asks(skill, propose):
    staged = propose()
    applied = apply(staged)
    edited = BETTER.replace("with make test", "with make check")
    skill.write_text(edited)
    with pytest.raises(Conflict, match=r"you edited .* since it was applied; it was left as it is") as caught:
        revert(staged, applied)
    assert skill.read_text() == edited
    assert "put back by hand" in caught.value.hint
    skill.write_text(BASE.replace(*LOG))
    revert(staged, applied)
    assert skill.read_text() == BASE.replace(*LOG)


def test_revert_of_a_new_skill_the_user_edited_leaves_it_and_says_what_helps(repository, propose):
    staged = propose()
    applied = apply(staged)
    live = repository / PATH
    live.write_text(BETTER + "mine\n")
    with pytest.raises(NeedsDecision) as caught:
        revert(staged, applied)
    assert caught.value.message == f"you edited {live} since it was applied; it was left as it is"
    assert "delete the file, then revert again" in caught.value.hint
    assert live.read_text() == BETTER + "mine\n"
    live.unlink()
    assert revert(staged, applied).after == ""
    assert not live.exists()


def test_a_file_written_anew_is_not_replaced_by_the_one_that_was_removed(repository, propose):
    staged = propose()
    undone = revert(staged, apply(staged))
    live = repository / PATH
    live.parent.mkdir(parents=True, exist_ok=True)
    live.write_text("mine\n")
    with pytest.raises(NeedsDecision, match=r"you wrote .* anew since it was removed"):
        revert(staged, undone)
    assert live.read_text() == "mine\n"


def test_revert_of_a_file_the_user_removed_asks(skill, propose):
    staged = propose()
    applied = apply(staged)
    skill.unlink()
    with pytest.raises(NeedsDecision, match=r"you removed .* since the change"):
        revert(staged, applied)
    assert not skill.exists()


def test_a_revert_can_be_undone_and_done_twice(skill, propose):
    staged = propose()
    applied = apply(staged)
    undone = revert(staged, applied)
    revert(staged, applied)
    assert skill.read_text() == BASE
    redone = revert(staged, undone)
    assert skill.read_text() == BETTER
    assert redone.after == applied.after


def test_a_removal_can_be_undone(repository, propose):
    staged = propose()
    undone = revert(staged, apply(staged))
    assert not (repository / PATH).exists()
    revert(staged, undone)
    assert (repository / PATH).read_text() == BETTER


def test_a_branch_the_user_changed_is_not_applied_behind_their_back(repository, skill, git, propose):
    staged = propose()
    git(repository, "branch", "-f", staged.branch, "HEAD")
    with pytest.raises(NeedsDecision, match="has other commits"):
        apply(staged)
    assert skill.read_text() == BASE


def test_a_proposal_without_branch_can_still_be_applied_and_reverted(repository, skill, git, propose):
    staged = propose()
    git(repository, "branch", "-D", staged.branch)
    applied = apply(staged)
    assert skill.read_text() == BETTER
    discard(staged)
    revert(staged, applied)
    assert skill.read_text() == BASE


def test_the_users_own_merge_of_the_branch_is_fine(repository, skill, git, propose):
    staged = propose()
    git(repository, "merge", "-q", staged.branch)
    assert skill.read_text() == BETTER
    assert apply(staged).complete
    assert git(repository, "status", "--porcelain") == ""


def test_a_folder_that_became_a_link_is_not_followed(repository, skill, propose, tmp_path):
    staged = propose()
    skills = repository / ".claude"
    skills.rename(tmp_path / "moved")
    skills.symlink_to(tmp_path / "moved")
    with pytest.raises(StagingError, match="is a symbolic link"):
        apply(staged)
    assert skill.read_text() == BASE


def test_what_a_killed_run_left_beside_the_file_is_cleared_away(skill, propose):
    left = skill.with_name(".SKILL.md.skillopt-0011223344556677")
    left.write_text("half")
    apply(propose())
    assert sorted(entry.name for entry in skill.parent.iterdir()) == ["SKILL.md"]


def test_a_change_in_the_last_moment_is_seen(skill, propose, monkeypatch):
    import skillopt_staging.files as files

    staged = propose()
    write_new = files._write_new

    def edit_meanwhile(*arguments, **options):
        write_new(*arguments, **options)
        skill.write_text("edited in the last moment\n")

    monkeypatch.setattr(files, "_write_new", edit_meanwhile)
    with pytest.raises(NeedsDecision, match="just been changed"):
        apply(staged)
    assert skill.read_text() == "edited in the last moment\n"
    assert sorted(entry.name for entry in skill.parent.iterdir()) == ["SKILL.md"]


APPLIER = """
import sys
import msgspec
from skillopt_staging.apply import apply
from skillopt_staging.proposals import Staged
staged = msgspec.json.decode(sys.argv[1], type=Staged)
sys.stdout.write(msgspec.json.encode(apply(staged)).decode())
"""


def test_two_runs_at_once_apply_once(skill, propose):
    import msgspec

    staged = propose()
    argument = msgspec.json.encode(staged).decode()
    children = [
        subprocess.Popen([sys.executable, "-c", APPLIER, argument], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    outputs = [child.communicate(timeout=60)[0] for child in children]
    assert skill.read_text() == BETTER
    first, second = (msgspec.json.decode(output, type=dict) for output in outputs)
    assert first["before"] == second["before"] == sha(BASE.encode())
