"""The guide for agents: where it goes, that it goes again, and that nights leave it alone."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from skillopt_replay.skills import Skill
from skillopt_sleep.night.catalogue import find_skills
from skillopt_sleep.paths import locate
from skillopt_sleep.plugin import CLIENTS, write_guide
from skillopt_sleep.service.record import digest
from skillopt_staging.lint import lint
from tests.app.test_cli import invoke
from tests.app.test_service_install import photograph

PLACES = {"claude": ".claude/skills", "codex": ".agents/skills", "copilot": ".copilot/skills"}


@pytest.mark.parametrize("client", CLIENTS)
def test_the_guide_is_a_skill_of_the_client_and_goes_without_a_trace(client: str, private_home: Path):
    folder = private_home / PLACES[client]
    folder.mkdir(parents=True)
    before = photograph(private_home)
    done = invoke("plugin", "install", client, "--json")
    assert done.exit_code == 0, done.output
    path = folder / "skillopt-sleep" / "SKILL.md"
    assert json.loads(done.stdout) == {"client": client, "path": str(path), "state": "installed", "kept": ""}
    assert path.read_text() == write_guide(os.environ)
    assert json.loads(invoke("plugin", "install", client, "--json").stdout)["state"] == "unchanged"
    path.write_text(write_as_another_version())
    assert json.loads(invoke("plugin", "install", client, "--json").stdout)["state"] == "upgraded"
    assert invoke("plugin", "uninstall", client).exit_code == 0
    assert photograph(private_home) == before
    assert invoke("plugin", "uninstall", client).exit_code == 3


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("remove", [("plugin", "uninstall"), ("uninstall", "--purge", "--yes")])
def test_folders_that_were_made_for_the_guide_go_with_it_and_no_others(remove, client, private_home: Path):
    before = photograph(private_home)
    removing = [*remove, client] if remove[0] == "plugin" else remove
    invoke("plugin", "install", client)
    invoke("plugin", "install", client)
    assert invoke(*removing).exit_code == 0
    assert photograph(private_home) == before
    invoke("plugin", "install", client)
    mine = private_home / PLACES[client] / "mine"
    mine.mkdir()
    assert invoke(*removing).exit_code == 0
    assert (mine.is_dir(), (mine.parent / "skillopt-sleep").exists()) == (True, False)


@pytest.mark.parametrize("deed", ["install", "uninstall"])
@pytest.mark.parametrize("of", ["this version", "another version", "one without a seal"])
def test_what_the_user_edited_in_the_guide_is_kept_and_said(deed: str, of: str, private_home: Path):
    path = private_home / ".claude/skills/skillopt-sleep/SKILL.md"
    invoke("plugin", "install", "claude")
    text = write_as_another_version() if of == "another version" else write_guide(os.environ)
    if of == "one without a seal":
        text = re.sub("<!-- As it was written: .* -->\n", "", text)
    mine = text + "\n- Never at noon.\n"
    path.write_text(mine)
    done = invoke("plugin", deed, "claude")
    assert done.exit_code == 0, done.output
    (kept,) = locate().data.glob("guide-edited-*")
    assert kept.read_text() == mine
    assert f"you had edited it, and your version is kept: {kept}" in done.stdout
    assert not path.exists() or path.read_text() == write_guide(os.environ)
    assert invoke("uninstall", "--purge", "--yes").exit_code == 0
    assert kept.read_text() == mine, "no purge takes what the user wrote"


def write_as_another_version() -> str:
    """Return the guide as a version of this program with other words would have written it."""
    bare = re.sub("<!-- As it was written: .* -->\n", "", write_guide(os.environ))
    other = bare.replace("Sum them up", "Tell")
    return (
        write_guide(os.environ)
        .replace(digest(bare.encode()), digest(other.encode()))
        .replace("Sum them up", "Tell")
    )


def test_a_skill_of_the_users_by_that_name_stays(private_home: Path):
    path = private_home / ".claude/skills/skillopt-sleep/SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    assert invoke("plugin", "install", "claude").exit_code == 4
    assert invoke("plugin", "uninstall", "claude").exit_code == 3
    assert path.read_text() == "mine"


def test_nights_never_learn_for_the_guide(private_home: Path):
    invoke("plugin", "install", "claude")
    other = private_home / ".claude/skills/other/SKILL.md"
    other.parent.mkdir(parents=True)
    other.write_text("---\nname: other\ndescription: d\n---\n\n- x\n")
    found = find_skills([], env=os.environ, home=private_home)
    assert [record.name for record in found] == ["other"]


def test_the_guide_calls_this_program_as_any_shell_finds_it(private_home: Path, tmp_path: Path):
    own = Path(sys.executable).parent
    for folder, found in ((own, False), (tmp_path / "bin", True), (tmp_path / "none", False)):
        script = folder / "skillopt-sleep"
        if found:
            folder.mkdir()
            script.symlink_to(own / script.name)
        guide = write_guide({"PATH": f"{folder}:/usr/bin", "SKILLOPT_SLEEP_HOME": "/a home"})
        called = re.findall("`SKILLOPT_SLEEP_HOME='/a home' (.*) status`", guide)
        assert called == ["skillopt-sleep" if found else str(own / script.name)]
        assert "`skillopt-sleep " not in guide
    assert "`skillopt-sleep status`" in write_guide({"PATH": str(tmp_path / "bin")})


def test_an_unknown_client_is_wrong_usage():
    assert invoke("plugin", "install", "emacs").exit_code == 2


def test_the_guide_keeps_to_the_format_of_skills():
    for client in CLIENTS:
        assert lint(write_guide(os.environ), folder="skillopt-sleep", client=client) == ()
    assert len(Skill("skillopt-sleep", write_guide(os.environ)).description) <= 1024
