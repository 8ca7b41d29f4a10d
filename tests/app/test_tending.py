"""Before a night, open proposals are brought in line with what is there now."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from skillopt_sleep.desk import StoreDesk
from skillopt_sleep.errors import NeedsDecision
from skillopt_sleep.paths import locate
from skillopt_sleep.store.proposals import read_proposal, save_proposal
from skillopt_sleep.tending import tend
from skillopt_staging.proposals import State
from tests.conftest import git
from tests.support.proposals import COMMITS_BASE, COMMITS_TEXT
from tests.support.staging import stage


def test_nothing_moved_nothing_told(database, staged, users):
    assert tend(database, locate()) == []
    assert read_proposal(database, staged.id) == staged


def test_an_edit_elsewhere_carries_it_over_and_marks_it_as_not_gated(database, staged, live):
    live.write_text(COMMITS_BASE.replace("# Commit messages", "# My commit messages"))
    (told,) = tend(database, locate())
    assert f"{staged.id} was carried over" in told
    moved = read_proposal(database, staged.id)
    assert (moved.state, moved.base_text) == (State.PENDING, live.read_text())
    assert moved.text == COMMITS_TEXT.replace("# Commit messages", "# My commit messages")
    assert "changed after it was measured" in moved.ungated
    change = StoreDesk(locate()).carry_out("apply", staged.id, None)
    assert live.read_text() == moved.text
    assert change.state is State.APPLIED


def test_a_commit_elsewhere_moves_the_branch_without_a_word(database, staged, repository):
    (repository / "more").write_text("x")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "more")
    assert tend(database, locate()) == []
    moved = read_proposal(database, staged.id)
    assert moved.staged.base == git(repository, "rev-parse", "HEAD")
    assert moved.ungated == ""


def test_an_edit_in_the_same_place_retires_it_and_the_user_may_have_it_back(
    database,
    desk,
    staged,
    live,
    repository,
):
    live.write_text(COMMITS_BASE.replace('Use the past tense ("Added", "Fixed").', "Write what you like."))
    (told,) = tend(database, locate())
    assert "retired" in told
    retired = read_proposal(database, staged.id)
    assert retired.state is State.RETIRED
    assert "same place" in (retired.reason or "")
    assert git(repository, "branch", "--list", "skillopt/*") == ""
    live.write_text(COMMITS_BASE)
    desk.carry_out("reopen", staged.id)
    assert read_proposal(database, staged.id).state is State.PENDING


def test_what_the_user_merged_with_git_is_off_the_queue(database, staged, repository):
    git(repository, "merge", "-q", staged.staged.branch)
    (told,) = tend(database, locate())
    assert "holds it already" in told


def test_of_two_for_one_skill_the_newer_stays(database, desk, staged, live):
    desk.carry_out("snooze", staged.id, 9)
    newer = stage(database, live, night="2026-01-03")
    newer = msgspec.structs.replace(newer, created="2026-12-01T00:00:00Z")
    save_proposal(database, newer, action="stage", detail="x")
    (told,) = tend(database, locate())
    assert f"{staged.id} was retired: a newer proposal" in told
    assert [one.id for one in desk.pending()] == [newer.id]
    with pytest.raises(NeedsDecision, match=f"waits: {newer.id}"):
        desk.carry_out("reopen", staged.id)


def test_an_outside_edit_of_a_users_skill_is_noticed_and_told(database, desk, users):
    desk.carry_out("apply", users.id, None)
    assert tend(database, locate()) == []
    live_file = Path(users.staged.live)
    live_file.write_text(live_file.read_text() + "\nBy hand.\n")
    (told,) = tend(database, locate())
    assert told == f"you edited {live_file} since; the vault has it"
    assert "By hand." in git(locate().vault, "show", f"main:{users.staged.path}")
    assert tend(database, locate()) == []


def test_a_repository_that_is_gone_costs_the_others_nothing(database, staged, users, repository):
    repository.rename(repository.with_name("moved"))
    (told,) = tend(database, locate())
    assert f"{staged.id} was left as it is" in told
    assert read_proposal(database, staged.id).state is State.PENDING


def test_a_night_begins_with_it_and_works_on_the_skill_again(sleeper, database):
    sleeper.work()
    (first,) = sleeper.night()["proposals"]
    live = Path(read_proposal(database, first).staged.live)
    live.parent.mkdir(parents=True)
    live.write_text("---\nname: add-package-project\ndescription: Mine.\n---\n\nMine.\n")
    told = sleeper.night("--dry-run", expect=3)
    assert read_proposal(database, first).state is State.PENDING
    assert any("waits for your review" in left["reason"] for left in told["skipped"])
    sleeper.night(expect=0)
    assert read_proposal(database, first).state is State.RETIRED
    assert live.read_text().endswith("Mine.\n")


def test_a_night_for_one_skill_leaves_the_others_alone(sleeper, model):
    sleeper.work()
    assert sleeper.night("--skill", "another", expect=3)["skills"] == []
    assert len(sleeper.night("--skill", "add-package-project")["proposals"]) == 1
