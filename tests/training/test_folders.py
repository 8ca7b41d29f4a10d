"""A skill of several files is trained whole: each edit names its file, and a folder comes out."""

from __future__ import annotations

import json
import os

import pytest

from skillopt_replay.agents.chat import frame
from skillopt_replay.skill_files import SkillFile, render_files
from skillopt_replay.skill_folders import read_skill, write_skill
from skillopt_replay.skills import Skill, SkillInvalid, new_skill
from skillopt_sleep.training.contract import TrainingError
from tests.support.school import FAMILIES, Teacher, rule
from tests.training.test_trainer import read, run

REFERENCE = "references/trees.md"
SCRIPT = "#!/bin/sh\necho 1\n"


@pytest.fixture
def folder(tmp_path):
    """A skill's folder as a user has it."""
    place = tmp_path / "mine"
    document = new_skill("school", "Use at school.", "# School\n\nRead references/trees.md.")
    files = (
        SkillFile(REFERENCE, "# Trees\n\n## Rules\n\n- Trees are green.\n"),
        SkillFile("scripts/count.sh", SCRIPT, executable=True),
        SkillFile("logo.png", "", blob=b"\x89PNG\xff\xfe"),
    )
    write_skill(Skill("school", document.text, files), place)
    (place / ".cache").mkdir()
    (place / ".cache" / "x").write_text("not part of it")
    return place


def in_reference(family):
    return {"file": REFERENCE, "content": rule(family)}


async def test_the_whole_folder_is_trained_and_comes_out_as_a_folder(tmp_path, folder):
    summary, school, teacher = await run(tmp_path, teacher=Teacher(write=in_reference), skill=folder)
    assert summary.best_test.hard == 1.0
    best = tmp_path / "run" / "best_skill"
    assert read_skill(best) == summary.best
    assert all(rule(family) in (best / REFERENCE).read_text() for family in FAMILIES)
    assert (best / "SKILL.md").read_bytes() == (folder / "SKILL.md").read_bytes()
    assert (best / "logo.png").read_bytes() == b"\x89PNG\xff\xfe"
    assert os.access(best / "scripts" / "count.sh", os.X_OK)
    assert not os.access(best / REFERENCE, os.X_OK)
    assert not (tmp_path / "run" / "best_skill.md").exists()
    assert (tmp_path / "run/steps/step_0001/candidate_skill" / REFERENCE).exists()
    assert len({digest for _, digest, _ in school.rolled}) > 4
    merged = read(tmp_path, "steps/step_0001/merged_patch.json")
    assert {edit["file"] for edit in merged} == {REFERENCE}
    asked = next(messages for stage, messages in teacher.asked if stage == "analyst")
    assert f'<file path="{REFERENCE}">' in asked[1].content
    assert "`file` is the file that an edit is of" in asked[0].content


async def test_a_skill_of_one_file_is_asked_for_no_other(tmp_path):
    _, _, teacher = await run(tmp_path, teacher=Teacher(write=in_reference))
    asked = next(messages for stage, messages in teacher.asked if stage == "analyst")
    assert "`file`" not in asked[0].content
    assert (tmp_path / "run" / "best_skill.md").exists()


async def test_an_edit_that_would_break_a_script_is_told_back_and_never_made(tmp_path, folder):
    def analyst(messages):
        again = "could not be read any more" in messages[-1].content
        broken = {"op": "add", "file": "scripts/count.sh", "target": "", "content": "if true; then"}
        told = Teacher(write=in_reference).analyst(messages)
        told["edits"] += [] if again else [{**broken, "support": 1}]
        return told

    summary, _, teacher = await run(tmp_path, teacher=Teacher(answers={"analyst": analyst}), skill=folder)
    assert any("could not be read any more" in m[-1].content for _, m in teacher.asked)
    assert summary.best.find("scripts/count.sh").text == SCRIPT
    assert summary.best_test.hard == 1.0


async def test_rewrites_leave_the_other_files_alone(tmp_path, folder):
    from tests.training.test_modes_of_update import by_suggestions, suggest

    teacher = Teacher(answers={"analyst": suggest, "rewrite": by_suggestions})
    summary, _, _ = await run(
        tmp_path,
        teacher=teacher,
        skill=folder,
        optimizer={"skill_update_mode": "rewrite", "learning_rate": 4},
    )
    assert summary.best.files == read_skill(folder).files
    assert summary.total_accepts > 0


async def test_another_folder_is_another_run(tmp_path, folder):
    await run(tmp_path, skill=folder)
    (folder / REFERENCE).write_text("# Others\n\nNone.\n")
    with pytest.raises(TrainingError, match="skill changed"):
        await run(tmp_path, skill=folder)


def test_a_chat_target_has_the_references_in_its_message_within_a_budget(folder):
    skill = read_skill(folder)
    told = frame(skill)
    assert "- Trees are green." in told
    assert "[6 bytes, no text]" in told
    assert ".cache" not in told
    lines = "".join(f"line {number}\n" for number in range(100))
    cut = render_files([SkillFile("a.md", lines), SkillFile("b.md", "word " * 50)], 400)
    assert "line 0\n" in cut
    assert "line 99" not in cut
    assert "more characters]" in cut
    assert "[left out: 249 characters]" in cut


async def test_an_agent_target_has_the_real_folder(tmp_path, folder):
    from skillopt_replay.agents.command import CommandAgent, find_program
    from skillopt_replay.protocols import Limits
    from skillopt_replay.sandbox.none import NoSandbox
    from skillopt_sleep.training import make_task

    program = tmp_path / "agent.sh"
    program.write_text(
        '#!/bin/sh\ncd "$SKILLOPT_SKILL_DIR" && cat references/trees.md && ./scripts/count.sh\n'
    )
    program.chmod(0o755)
    agent = CommandAgent(find_program([str(program)], {"PATH": "/usr/bin:/bin"}), NoSandbox())
    (tmp_path / "work").mkdir()
    rollout = await agent.run(make_task("1", "Count."), read_skill(folder), tmp_path / "work", Limits())
    assert rollout.error is None
    assert rollout.answer.splitlines()[-2:] == ["- Trees are green.", "1"]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda place: (place / "SKILL.md").unlink(), "cannot be read"),
        (lambda place: (place / "SKILL.md").write_bytes(b"\xff"), "not UTF-8"),
        (lambda place: (place / "link.md").symlink_to("/etc/hostname"), "is a link"),
        (lambda place: os.mkfifo(place / "pipe.md"), "is no file"),
        (lambda place: ((place / "SKILL.md").unlink(), os.mkfifo(place / "SKILL.md")), "is no file"),
        (
            lambda place: (place / "references" / "a:b").write_text("x"),
            "characters that a file name may not have",
        ),
        (lambda place: (place / "big").write_bytes(b"x" * 4_000_001), "more than 4 MB"),
    ],
    ids=["no document", "no text", "link", "pipe", "pipe as document", "name", "size"],
)
def test_a_folder_that_cannot_be_taken_whole_is_told(folder, spoil, said):
    spoil(folder)
    with pytest.raises(SkillInvalid, match=said):
        read_skill(folder)


def test_a_skill_without_other_files_is_what_it_was_before_there_could_be_any():
    from hashlib import sha256

    plain = new_skill("school", "Use at school.", "# School")
    assert plain.digest == sha256(plain.text.encode()).hexdigest()[:16]
    assert json.loads(json.dumps(plain.digest)) != Skill("school", plain.text, (SkillFile("a", "b"),)).digest
