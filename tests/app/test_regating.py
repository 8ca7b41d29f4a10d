"""What the user made of a proposal goes back to the gate; and what is told before it is applied."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from skillopt_replay.skills import Skill
from skillopt_sleep.cli import app
from skillopt_sleep.errors import NeedsDecision
from skillopt_sleep.store.candidates import read_carried
from skillopt_sleep.store.proposals import read_proposal
from skillopt_staging.errors import Conflict
from skillopt_staging.proposals import State
from tests.conftest import git
from tests.support.proposals import COMMITS_BASE, COMMITS_TEXT
from tests.support.staging import RULE

# The gate looks only at texts whose front matter is the one in force.
SAME_FRONT = COMMITS_BASE.partition("# Commit")[0] + "# Commit" + COMMITS_TEXT.partition("# Commit")[2]


def test_an_edited_text_waits_for_the_next_night_and_the_proposal_is_off_the_queue(
    desk, database, staged, live, repository
):
    said = desk.gate_again(staged.id, None, SAME_FRONT)
    assert "measured on the next night" in said
    assert live.read_text() == COMMITS_BASE
    assert desk.pending() == []
    retired = read_proposal(database, staged.id)
    assert (retired.state, retired.reason) == (State.RETIRED, "it goes to the gate again, as you chose it")
    assert git(repository, "branch", "--list", "skillopt/*") == ""
    carried = read_carried(database, str(live))
    assert carried is not None
    assert (carried.skill.text, carried.evidence) == (SAME_FRONT, None)
    assert carried.base == Skill("commit-messages", COMMITS_BASE).digest
    assert [edit.content for edit in carried.edits] == [RULE]


def test_taking_it_back_takes_the_candidate_back_too(desk, database, staged, live):
    desk.gate_again(staged.id, None, SAME_FRONT)
    assert "reopened" in desk.undo(staged.id)
    assert read_carried(database, str(live)) is None
    assert [waiting.id for waiting in desk.pending()] == [staged.id]


def test_only_the_chosen_hunks_are_measured(desk, database, staged, live):
    desk.gate_again(staged.id, (2,))
    carried = read_carried(database, str(live))
    assert carried is not None
    assert carried.skill.text == SAME_FRONT


def test_what_no_gate_would_look_at_is_refused_and_stays_in_the_queue(desk, database, staged, live):
    with pytest.raises(NeedsDecision, match="front matter"):
        desk.gate_again(staged.id, None)
    assert [waiting.id for waiting in desk.pending()] == [staged.id]
    assert read_carried(database, str(live)) is None


def test_before_applying_the_limits_of_the_client_and_shadows_are_told(
    desk, staged, live, private_home, repository
):
    assert desk.check(staged.id, None) == []
    long = SAME_FRONT + "a line\n" * 600
    (told,) = [text for text in desk.check(staged.id, None, long) if "lines" in text]
    assert "keep it under 500" in told
    (told,) = desk.check(staged.id, None, SAME_FRONT + "See references/more.md.\n")
    assert "references/more.md" in told
    mine = private_home / ".claude/skills/commit-messages/SKILL.md"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine\n")
    assert desk.check(staged.id, None) == [f"claude reads {mine} instead of this file."]


def test_before_applying_edits_under_way_and_conflicts_are_told(desk, staged, live, repository):
    live.write_text(COMMITS_BASE.replace("# Commit messages", "# My commit messages"))
    (told,) = desk.check(staged.id, None)
    assert "not committed; they stay" in told
    git(repository, "commit", "-qam", "mine")
    (told,) = desk.check(staged.id, None)
    assert "changed since this was staged" in told
    live.write_text(COMMITS_BASE.replace('Use the past tense ("Added", "Fixed").', "Write what you like."))
    with pytest.raises(Conflict) as caught:
        desk.check(staged.id, None)
    assert "--hunks 1 (those fit)" in caught.value.hint
    assert Path(live).read_text().count("Write what you like.") == 1


def test_the_command_does_what_the_review_does(staged, live, database, tmp_path):
    mine = tmp_path / "mine.md"
    mine.write_text(SAME_FRONT)
    refused = CliRunner().invoke(app, ["gate", "again", staged.id, "--hunks", "1", "--text", str(mine)])
    assert refused.exit_code == 2
    done = CliRunner().invoke(app, ["gate", "again", staged.id, "--text", str(mine)])
    assert (done.exit_code, "measured on the next night" in done.stdout) == (0, True)
    carried = read_carried(database, str(live))
    assert carried is not None
    assert carried.skill.text == SAME_FRONT
