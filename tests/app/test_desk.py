"""Decisions on proposals, carried out in real repositories and written down as they happen."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt_sleep import applying, deciding
from skillopt_sleep.desk import StoreDesk
from skillopt_sleep.errors import AppError, NeedsDecision, UsageError
from skillopt_sleep.paths import locate
from skillopt_sleep.records import Proposal
from skillopt_sleep.review.difference import compare
from skillopt_sleep.store.candidates import read_rejected_edits
from skillopt_sleep.store.proposals import read_proposal
from skillopt_staging.errors import Conflict, StagingError
from skillopt_staging.hunks import take
from skillopt_staging.proposals import State
from tests.app.conftest import photograph
from tests.conftest import git
from tests.support.proposals import COMMITS_BASE, COMMITS_TEXT
from tests.support.staging import RULE, SKILL, stage


def state_of(database, made: Proposal) -> State:
    return read_proposal(database, made.id).state


def actions(database) -> list[str]:
    return [row["action"] for row in database.execute("select action from decisions order by id")]


def rejected(database, made: Proposal) -> list[str]:
    return [edit.reason for edit in read_rejected_edits(database, made.staged.live)]


def test_apply_makes_the_text_live_and_revert_brings_the_bytes_back(desk, database, staged, live, repository):
    before = photograph(repository)
    change = desk.carry_out("apply", staged.id, None)
    assert (change.state, change.live, change.complete) == (State.APPLIED, str(live), True)
    assert live.read_text() == COMMITS_TEXT
    assert git(repository, "status", "--porcelain") == f"M {live.relative_to(repository)}"
    assert state_of(database, staged) is State.APPLIED
    change = desk.carry_out("revert", staged.id)
    assert change.state is State.REVERTED
    assert live.read_text() == COMMITS_BASE
    assert photograph(repository)["head"] == before["head"]
    assert photograph(repository)["refs"] == before["refs"]
    assert git(repository, "status", "--porcelain") == ""
    assert actions(database) == ["stage", "apply", "revert"]


def test_a_new_skill_of_the_users_comes_and_goes_with_its_folder(desk, database, users, private_home):
    live = Path(users.staged.live)
    desk.carry_out("apply", users.id, None)
    assert live.read_text() == COMMITS_TEXT
    desk.carry_out("revert", users.id)
    assert not live.parent.exists()
    desk.carry_out("apply", users.id, None)
    assert live.read_text() == COMMITS_TEXT
    assert actions(database) == ["stage", "apply", "revert", "apply"]


@pytest.mark.parametrize(
    ("before", "action", "arguments"),
    [
        (("apply", None), "apply", (None,)),
        (("apply", None), "reject", ("too late",)),
        (("apply", None), "reopen", ()),
        (("reject", "no"), "apply", (None,)),
        (("reject", "no"), "reject", ("no",)),
        (("reject", "no"), "revert", ()),
        (None, "revert", ()),
        (None, "reopen", ()),
    ],
)
def test_what_the_state_does_not_allow_needs_a_decision_and_changes_nothing(
    desk, database, staged, live, before, action, arguments
):
    if before:
        desk.carry_out(before[0], staged.id, before[1])
    text, state, done = live.read_text(), state_of(database, staged), actions(database)
    with pytest.raises(NeedsDecision) as caught:
        desk.carry_out(action, staged.id, *arguments)
    assert caught.value.exit_code == 4
    assert state.value in caught.value.message
    assert (live.read_text(), state_of(database, staged), actions(database)) == (text, state, done)


def test_what_the_user_changed_elsewhere_in_the_file_is_kept(desk, database, staged, live):
    edited = COMMITS_BASE.replace("No full stop at the end.", "Never a full stop.")
    live.write_text(edited)
    with pytest.raises(StagingError, match="edits of yours that are not committed") as caught:
        desk.carry_out("apply", staged.id, None)
    assert caught.value.exit_code == 4
    assert "--merge" in caught.value.hint
    assert live.read_text() == edited
    change = desk.carry_out("apply", staged.id, None, merge=True)
    assert not change.complete
    assert "not gated as it stands" in change.sentence
    assert RULE in live.read_text()
    assert "Never a full stop." in live.read_text()
    live.write_text(live.read_text().replace("Write a short", "Write a brief"))
    desk.carry_out("revert", staged.id)
    kept = COMMITS_BASE.replace("No full stop at the end.", "Never a full stop.")
    assert live.read_text() == kept.replace("Write a short", "Write a brief")


def test_a_conflict_writes_nothing_and_the_proposal_still_waits(desk, database, staged, live, repository):
    mine = COMMITS_BASE.replace('Use the past tense ("Added", "Fixed").', "Write what you like.")
    live.write_text(mine)
    before = photograph(repository)
    with pytest.raises(Conflict) as caught:
        desk.carry_out("apply", staged.id, None)
    assert caught.value.exit_code == 4
    assert live.read_text() == mine
    assert photograph(repository) == before
    assert state_of(database, staged) is State.PENDING
    assert actions(database) == ["stage"]


def test_hunks_are_numbered_as_the_review_shows_them(desk, database, live, repository):
    parts = compare(COMMITS_BASE, COMMITS_TEXT).parts
    assert len(parts) > 1
    for part in parts:
        made = stage(database, live, night=f"2026-01-1{part.number}")
        live.write_text(COMMITS_BASE)
        change = desk.carry_out("apply", made.id, (part.number,))
        assert not change.complete
        text = live.read_text()
        assert text == take(COMMITS_BASE, COMMITS_TEXT, [part.number])
        for row in part.rows:
            if row.line.kind.value == "+":
                assert row.line.text in text.splitlines()
        desk.carry_out("revert", made.id)
        assert live.read_text() == COMMITS_BASE


def test_a_hunk_that_is_not_there_changes_nothing(desk, database, staged, live):
    with pytest.raises(UsageError, match="no hunk 9"):
        desk.carry_out("apply", staged.id, (1, 9))
    assert live.read_text() == COMMITS_BASE
    assert state_of(database, staged) is State.PENDING


def test_a_rejection_takes_the_branch_and_is_remembered_until_it_is_reopened(
    desk, database, staged, repository
):
    branch = staged.staged.branch
    change = desk.carry_out("reject", staged.id, "  we write in the past tense here ")
    assert change.state is State.REJECTED
    assert git(repository, "branch", "--list", "skillopt/*") == ""
    assert rejected(database, staged) == ["by the user: we write in the past tense here"]
    assert read_proposal(database, staged.id).reason == "we write in the past tense here"
    desk.carry_out("reopen", staged.id)
    assert git(repository, "branch", "--list", "skillopt/*").strip() == branch
    assert rejected(database, staged) == []
    again = read_proposal(database, staged.id)
    assert (again.state, again.reason, again.decided) == (State.PENDING, None, None)
    desk.carry_out("apply", staged.id, None)
    assert actions(database) == ["stage", "reject", "reopen", "apply"]
    details = [row["detail"] for row in database.execute("select detail from decisions order by id")]
    assert details[1] == "we write in the past tense here"


def test_a_rejection_without_a_reason_is_refused(desk, database, staged, repository):
    with pytest.raises(UsageError):
        desk.carry_out("reject", staged.id, " \n ")
    assert staged.staged.branch in git(repository, "branch", "--list", "skillopt/*")
    assert state_of(database, staged) is State.PENDING


def test_undo_takes_back_the_last_decision_whatever_it_was(desk, database, staged, live):
    assert live.read_text() == COMMITS_BASE
    desk.apply(staged.id, None)
    assert "reverted" in desk.undo(staged.id)
    assert live.read_text() == COMMITS_BASE
    desk.reject(staged.id, "no")
    assert "reopened" in desk.undo(staged.id)
    with pytest.raises(NeedsDecision):
        desk.undo(staged.id)


def test_a_branch_the_user_has_worked_on_is_not_taken_away(desk, database, staged, repository):
    git(repository, "switch", "-q", staged.staged.branch)
    (repository / "more.txt").write_text("more")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "More")
    git(repository, "switch", "-q", "main")
    for action, argument in (("reject", "no"), ("apply", None)):
        with pytest.raises(StagingError) as caught:
            desk.carry_out(action, staged.id, argument)
        assert caught.value.exit_code == 4
    assert state_of(database, staged) is State.PENDING
    assert rejected(database, staged) == []


def test_ids_may_be_short_as_long_as_they_are_one_proposals(desk, database, staged, live):
    stage(database, live, night="2026-01-02-2")
    assert read_proposal(database, "2026-01-02-2").id == f"2026-01-02-2-{SKILL}"
    with pytest.raises(UsageError, match="could be"):
        read_proposal(database, "2026-01-02")
    for nothing in ("", "%", "2027", "2026-01-02-commit_messages"):
        with pytest.raises(UsageError, match="no proposal"):
            read_proposal(database, nothing)
    assert read_proposal(database, staged.id).id == staged.id


@pytest.mark.parametrize("place", ["project", "vault"])
@pytest.mark.parametrize("action", ["apply", "revert", "reject", "reopen"])
def test_a_crash_between_the_deed_and_the_record_can_be_repeated(
    desk, database, request, monkeypatch, action, place
):
    made: Proposal = request.getfixturevalue("staged" if place == "project" else "users")
    arguments = {"apply": (None,), "reject": ("no",)}
    live = Path(made.staged.live)
    original = live.read_bytes() if live.exists() else None
    first = {"revert": "apply", "reopen": "reject"}.get(action)
    if first:
        desk.carry_out(first, made.id, *arguments[first])
    known = state_of(database, made), actions(database), rejected(database, made)

    def die(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(deciding, "save_proposal", die)
        broken.setattr(applying, "save_proposal", die)
        with pytest.raises(KeyboardInterrupt):
            desk.carry_out(action, made.id, *arguments.get(action, ()))
    assert (state_of(database, made), actions(database), rejected(database, made)) == known
    change = desk.carry_out(action, made.id, *arguments.get(action, ()))
    assert state_of(database, made) is change.state
    assert actions(database) == [*known[1], action]
    assert len(rejected(database, made)) == (action == "reject")
    if action == "apply":
        assert live.read_text() == COMMITS_TEXT
        desk.carry_out("revert", made.id)
    if action in {"apply", "revert"}:
        assert (live.read_bytes() if live.exists() else None) == original


def test_a_repository_that_is_gone_is_told_and_the_proposal_can_only_be_rejected(
    desk, database, staged, repository
):
    repository.rename(repository.with_name("moved"))
    with pytest.raises((StagingError, AppError)) as caught:
        desk.carry_out("apply", staged.id, None)
    assert str(repository) in caught.value.message
    assert state_of(database, staged) is State.PENDING
    desk.carry_out("reject", staged.id, "no")
    assert state_of(database, staged) is State.REJECTED


def test_edits_in_the_same_place_are_told_with_the_hunks_that_fit(desk, staged, live, repository):
    live.write_text(COMMITS_BASE.replace('Use the past tense ("Added", "Fixed").', "Write what you like."))
    git(repository, "commit", "-qam", "mine")
    with pytest.raises(Conflict) as caught:
        desk.carry_out("apply", staged.id, None)
    assert f"skillopt-sleep apply {staged.id} --hunks 1 (those fit)" in caught.value.hint
    assert f"git merge {staged.staged.branch}" in caught.value.hint
    desk.carry_out("apply", staged.id, (1,))
    assert "Write what you like." in live.read_text()
    assert "whenever work is committed" in live.read_text()


def test_an_edited_text_is_applied_in_place_of_the_proposed_one_and_marked(desk, database, staged, live):
    mine = COMMITS_TEXT.replace(RULE, "Use the imperative.")
    change = desk.carry_out("apply", staged.id, None, text=mine)
    assert live.read_text() == mine
    assert not change.complete
    assert "not gated as it stands" in change.sentence
    desk.carry_out("revert", staged.id)
    assert live.read_text() == COMMITS_BASE


def test_a_commit_on_request_holds_the_skill_alone_and_the_evidence(desk, staged, live, repository):
    (repository / "README.md").write_text("dirty\n")
    change = desk.carry_out("apply", staged.id, None, commit=True)
    assert git(repository, "rev-parse", "HEAD") == change.committed
    assert git(repository, "show", "--format=", "--name-only") == str(live.relative_to(repository))
    trailers = git(repository, "log", "-1", "--format=%(trailers:key=Night,valueonly)")
    assert trailers.strip() == "2026-01-02"
    assert git(repository, "status", "--porcelain") == "M README.md"


def test_a_commit_that_git_refuses_is_told_and_the_skill_is_live(desk, database, staged, live, repository):
    hook = repository / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    hook.chmod(0o755)
    change = desk.carry_out("apply", staged.id, None, commit=True)
    assert change.committed == ""
    assert "no" in change.uncommitted
    assert "not committed" in change.sentence
    assert live.read_text() == COMMITS_TEXT
    assert state_of(database, staged) is State.APPLIED


def test_a_snoozed_proposal_is_out_of_the_way_until_its_day(desk, database, staged, monkeypatch):
    from skillopt_sleep.store import proposals as store

    desk.carry_out("snooze", staged.id, 3)
    assert desk.pending() == []
    (shown,) = desk.proposals()
    assert shown.state is State.SNOOZED
    monkeypatch.setattr(store, "now", lambda: shown.snoozed_until)
    assert [waiting.id for waiting in desk.pending()] == [staged.id]
    monkeypatch.undo()
    assert "waits again" in desk.undo(staged.id)
    assert [waiting.id for waiting in desk.pending()] == [staged.id]
    desk.carry_out("snooze", staged.id)
    desk.carry_out("apply", staged.id, None)
    assert state_of(database, staged) is State.APPLIED


def test_a_revert_with_a_reason_is_told_to_later_nights(desk, database, staged):
    desk.carry_out("apply", staged.id, None)
    desk.carry_out("revert", staged.id, "it made commits slower")
    assert rejected(database, staged) == ["by the user: it made commits slower"]


def test_the_record_says_who_decided_what_when_and_why(database, staged):
    desk = StoreDesk(locate(), by="review")
    desk.carry_out("apply", staged.id, None)
    desk.carry_out("revert", staged.id, "no")
    desk.carry_out("reject", staged.id, "really not")
    history = desk.history(staged.id)
    assert [line.action for line in history] == ["stage", "apply", "revert", "reject"]
    assert history[0].who == "a night"
    assert all(line.who.endswith(", in the review") for line in history[1:])
    assert history[-1].detail == "really not"
    assert all(line.at.endswith("Z") for line in history)


def test_a_new_proposal_is_not_taken_for_one_that_was_cut_off(desk, database, staged, live, monkeypatch):
    def die(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr("skillopt_staging.apply.write_live", die)
        with pytest.raises(KeyboardInterrupt):
            desk.carry_out("apply", staged.id, None)
    assert live.read_text() == COMMITS_BASE
    assert [shown.state for shown in desk.proposals()] == [State.PENDING]
    assert database.execute("select count(*) from intents").fetchone()[0] == 0


def test_what_was_written_before_the_record_is_seen_by_whoever_looks_next(
    desk, database, staged, live, monkeypatch
):
    def die(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(deciding, "save_proposal", die)
        broken.setattr(applying, "save_proposal", die)
        with pytest.raises(KeyboardInterrupt):
            desk.carry_out("apply", staged.id, None)
    live.write_text(live.read_text().replace("# Commit messages", "# My commit messages"))
    assert desk.pending() == []
    assert state_of(database, staged) is State.APPLIED
    desk.carry_out("revert", staged.id)
    assert live.read_text() == COMMITS_BASE.replace("# Commit messages", "# My commit messages")
