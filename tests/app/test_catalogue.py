"""The skills there are, and the clients that read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt_replay.skills import Skill, SkillInvalid, find_problems, new_skill
from skillopt_sleep.night.catalogue import find_skills
from tests.support.front_matter import ENDLESS


def write(folder: Path, name: str, description: str = "Use it") -> Path:
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(new_skill(name, description, "Do it.").text)
    return path


def test_skills_of_the_user_and_of_the_projects_are_found_with_their_clients(tmp_path: Path):
    home, project = tmp_path / "home", tmp_path / "project"
    mine = write(home / ".claude" / "skills", "release", "Use when a release is cut")
    theirs = write(project / ".claude" / "skills", "deploy")
    write(project / ".github" / "skills", "triage")
    found = find_skills([str(project)], env={"HOME": str(home)}, home=home)
    assert {(one.name, one.clients, one.project) for one in found} == {
        ("release", ("claude",), None),
        ("deploy", ("claude", "copilot"), str(project)),
        ("triage", ("copilot",), str(project)),
    }
    assert {one.path for one in found} >= {str(mine), str(theirs)}
    assert next(one.description for one in found if one.name == "release") == "Use when a release is cut"


def test_the_variables_of_the_clients_move_their_folders(tmp_path: Path):
    write(tmp_path / "elsewhere" / "skills", "release")
    found = find_skills([], env={"CLAUDE_CONFIG_DIR": str(tmp_path / "elsewhere")}, home=tmp_path / "home")
    assert [one.name for one in found] == ["release"]


def test_what_cannot_be_read_costs_only_itself(tmp_path: Path):
    folder = tmp_path / ".claude" / "skills"
    write(folder, "good")
    write(folder, "hidden").parent.rename(folder / ".hidden")
    (folder / "empty").mkdir()
    (folder / "a-file").write_text("x")
    (folder / "a-folder" / "SKILL.md").mkdir(parents=True)
    rubbish = folder / "rubbish" / "SKILL.md"
    rubbish.parent.mkdir()
    rubbish.write_bytes(b"\xff\xfe no front matter")
    found = find_skills([], env={}, home=tmp_path)
    assert [(one.name, one.description) for one in found] == [("good", "Use it"), ("rubbish", "")]


def test_a_home_that_is_a_project_too_has_its_skills_once(tmp_path: Path):
    write(tmp_path / ".claude" / "skills", "release")
    found = find_skills([str(tmp_path)], env={}, home=tmp_path)
    assert [(one.name, one.project) for one in found] == [("release", None)]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("field", ENDLESS.values(), ids=ENDLESS)
def test_front_matter_that_is_made_to_be_read_for_ever_is_none(tmp_path: Path, field: str):
    path = tmp_path / ".claude/skills/bad/SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"---\nname: bad\n{field}\n---\n\nDo it.\n")
    assert [(one.name, one.description) for one in find_skills([], env={}, home=tmp_path)] == [("bad", "")]
    skill = Skill("bad", path.read_text())
    with pytest.raises(SkillInvalid, match="is not YAML"):
        skill.front_matter  # noqa: B018 - reading it is the point
    assert len(find_problems(skill)) == 1
