"""A decision on a skill of several files that is cut off between two of them is finished later."""

from __future__ import annotations

import msgspec
import pytest

from skillopt_sleep.paths import locate
from skillopt_sleep.records import FileChange, Proposal
from skillopt_sleep.store.proposals import read_proposal, save_proposal
from skillopt_sleep.tending import tend
from skillopt_staging import apply as applying
from skillopt_staging.branches import discard
from skillopt_staging.branches import stage as stage_branch
from skillopt_staging.proposals import State
from tests.conftest import git
from tests.support.proposals import COMMITS_BASE, COMMITS_TEXT

FILES = (
    FileChange(name="scripts/check.sh", base_text=None, text="make check\n"),
    FileChange(name="notes.md", base_text="one\ntwo\n", text="one\n2\n"),
)


@pytest.fixture
def several(database, staged, live, repository) -> Proposal:
    (live.parent / "notes.md").write_text("one\ntwo\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "notes")
    discard(staged.staged)
    made = stage_branch(
        repository,
        branch="skillopt/several",
        path=staged.staged.path,
        text=COMMITS_TEXT,
        message="x",
        note="{}",
        live=live,
        beside={file.name: file.text for file in FILES},
    )
    proposal = msgspec.structs.replace(staged, staged=made, files=FILES)
    save_proposal(database, proposal, action="stage", detail="x")
    return proposal


def read(live) -> tuple[str, ...]:
    files = [live, *(live.parent / file.name for file in FILES)]
    return tuple(file.read_text() if file.exists() else "" for file in files)


OLD = (COMMITS_BASE, "", "one\ntwo\n")
NEW = (COMMITS_TEXT, "make check\n", "one\n2\n")


@pytest.mark.parametrize("after", [0, 1, 2])
@pytest.mark.parametrize("action", ["apply", "revert"])
def test_it_is_all_or_nothing(action, after, desk, database, several, live, monkeypatch):
    if action == "revert":
        desk.carry_out("apply", several.id, None)
        assert read(live) == NEW
    old, new = (NEW, OLD) if action == "revert" else (OLD, NEW)
    left = [after]
    real = applying._write

    def write(change, folders=0):
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return real(change, folders)

    with monkeypatch.context() as broken:
        broken.setattr(applying, "_write", write)
        with pytest.raises(KeyboardInterrupt):
            desk.carry_out(action, several.id, *([None] if action == "apply" else []))
    assert (read(live) == old) is (after == 0)
    desk.proposals()
    ended = State.APPLIED if action == "apply" else State.REVERTED
    done = after > 0
    assert read(live) == (new if done else old)
    assert (read_proposal(database, several.id).state is ended) is done
    assert database.execute("select count(*) from intents").fetchone()[0] == 0


def test_hunks_of_other_files_can_be_taken_rejected_and_brought_back(
    desk, database, several, live, repository
):
    desk.carry_out("apply", several.id, (4,))
    assert read(live) == (COMMITS_BASE, "", "one\n2\n")
    desk.carry_out("revert", several.id)
    assert read(live) == OLD
    desk.carry_out("reject", several.id, "no")
    desk.carry_out("reopen", several.id)
    assert "skillopt/several" in git(repository, "branch", "--list", "skillopt/*")
    desk.carry_out("apply", several.id, None, commit=True)
    assert read(live) == NEW
    assert len(git(repository, "show", "--format=", "--name-only").split("\n")) == 3


@pytest.mark.parametrize("carried", [True, False], ids=["carried over", "as staged"])
def test_what_the_user_wrote_into_another_file_outlives_a_rejection_taken_back(
    carried, desk, database, several, live
):
    notes = live.parent / "notes.md"
    notes.write_text("zero\none\ntwo\n")
    if carried:
        tend(database, locate())
        assert read_proposal(database, several.id).files[1] == FileChange(
            name="notes.md", base_text="zero\none\ntwo\n", text="zero\none\n2\n"
        )
        notes.write_text("null\none\ntwo\n")
    desk.carry_out("reject", several.id, "no")
    desk.carry_out("reopen", several.id)
    first = "null" if carried else "zero"
    desk.carry_out("apply", several.id, None, merge=True)
    assert read(live) == (COMMITS_TEXT, "make check\n", f"{first}\none\n2\n")
    desk.carry_out("revert", several.id)
    assert read(live) == (COMMITS_BASE, "", f"{first}\none\ntwo\n")
