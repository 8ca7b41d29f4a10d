"""The real client, a scripted model, and a skill that changes the answer because it was read.

Runs where SKILLOPT_TEST_CLAUDE names the program; nothing is installed and no service is called.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from skillopt_replay.agents.claude_cli import find_claude
from skillopt_replay.agents.claude_code import ClaudeCode
from skillopt_replay.protocols import Limits
from skillopt_replay.replay import replay
from skillopt_replay.rollouts import Outcome
from skillopt_replay.skills import new_skill
from skillopt_replay.tasks import CommandMatched, CommandSucceeds, Contains, FileContains, ToolCalled

# Read at import: the tests' own environment is emptied.
PROGRAM = os.environ.get("SKILLOPT_TEST_CLAUDE", "")

pytestmark = [
    pytest.mark.real_cli,
    pytest.mark.skipif(
        not Path(PROGRAM or "/nonexistent").is_file(), reason="SKILLOPT_TEST_CLAUDE names no program"
    ),
]

DESCRIPTION, BODY = "HERON-DESC-41", "HERON-BODY-42"
SKILL = new_skill("heron-greet", f"Use when greeting somebody. {DESCRIPTION}", f"{BODY}: say HERON.")
SCRIPT = {
    "plays": [
        {
            "name": "obey",
            "when": {"any_contains": BODY, "user_contains": "greet"},
            "steps": [{"do": [{"say": "HERON hello Bob"}]}],
        },
        {
            "name": "load",
            "when": {"any_contains": DESCRIPTION, "user_contains": "greet"},
            "steps": [{"do": [{"skill": "heron-greet"}]}],
        },
        {"name": "plain", "when": {"user_contains": "greet"}, "steps": [{"do": [{"say": "hello Bob"}]}]},
        {
            "name": "work",
            "when": {"user_contains": "create hello"},
            "steps": [
                {"do": [{"write": {"path": "hello.txt", "content": "hi\n"}}]},
                {"do": [{"shell": "cat hello.txt && exit 3"}]},
                {"do": [{"say": "Created."}]},
            ],
        },
        {"name": "loop", "when": {"user_contains": "for ever"}, "steps": [{"do": [{"shell": "echo again"}]}]},
        {
            "name": "refuse",
            "when": {"user_contains": "be refused"},
            "steps": [
                {"status": 401, "error": {"type": "authentication_error", "message": "invalid x-api-key"}}
            ],
        },
    ]
}


@pytest.fixture
def server(scripted_model_server, tmp_path):
    running = scripted_model_server.MockModelServer(SCRIPT, str(tmp_path / "requests.jsonl")).start()
    yield running
    running.stop()


@pytest.fixture
def play(server, confined, tmp_path):
    cli = find_claude({"ANTHROPIC_API_KEY": "sk-fake", "ANTHROPIC_BASE_URL": server.base_url}, Path(PROGRAM))
    assert cli is not None
    agent = ClaudeCode(cli, confined)

    async def run(task, skill=None, **limits):
        limits = Limits(**{"seconds": 60.0, **limits})
        return await replay(task, skill, agent, root=tmp_path / "runs", sandbox=confined, limits=limits)

    return run


def plays(tmp_path: Path) -> list[str]:
    return [json.loads(line).get("play") for line in (tmp_path / "requests.jsonl").read_text().splitlines()]


async def test_with_the_skill_the_answer_changes_because_the_skill_was_read(
    play, make_task, repository, tmp_path
):
    task = make_task(project=str(repository))
    without = await play(task)
    assert plays(tmp_path) == ["plain"]
    with_skill = await play(task, SKILL)
    assert plays(tmp_path) == ["plain", "load", "obey"]
    assert (without.answer, with_skill.answer) == ("hello Bob", "HERON hello Bob")
    assert without.score is not None
    assert with_skill.score is not None
    assert (without.score.hard, with_skill.score.hard) == (0.0, 1.0)
    assert (without.skill_loaded, with_skill.skill_loaded) == (None, True)
    assert [call.name for call in with_skill.calls] == ["Skill"]
    assert with_skill.usage.input_tokens == 2400
    assert with_skill.usage.cost_usd
    assert list((tmp_path / "runs").iterdir()) == []


async def test_the_projects_own_skill_of_that_name_stays_out_of_both_arms(
    play, make_task, repository, tmp_path
):
    folder = repository / ".claude" / "skills" / "heron-greet"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL.text)
    for command in (["add", "."], ["commit", "-q", "-m", "own skill"]):
        os.spawnvp(os.P_WAIT, "git", ["git", "-C", str(repository), *command])
    rollout = await play(make_task(project=str(repository)))
    assert plays(tmp_path) == ["plain"]
    assert rollout.answer == "hello Bob"


async def test_its_tools_work_in_the_workspace_and_are_checked(play, make_task, repository):
    checks = (
        FileContains(path="hello.txt", text="hi"),
        CommandSucceeds(command="grep -q hi hello.txt"),
        CommandMatched(command="cat hello.txt"),
        ToolCalled(name="Write"),
        Contains(text="Created."),
    )
    rollout = await play(make_task(prompt="Please create hello.txt", project=str(repository), checks=checks))
    assert rollout.outcome is Outcome.FINISHED, rollout.error
    assert rollout.score is not None
    assert rollout.score.hard == 1.0, rollout.score
    assert [call.name for call in rollout.calls] == ["Write", "Bash"]
    assert rollout.calls[1].error == "Exit code 3\nhi"
    assert not (repository / "hello.txt").exists()


async def test_its_limit_on_turns_is_a_failed_run(play, make_task):
    rollout = await play(make_task(prompt="Go on for ever"), turns=3)
    assert rollout.outcome is Outcome.LIMIT
    assert "turns" in (rollout.error or "")
    assert rollout.score is not None
    assert rollout.score.hard == 0.0


async def test_a_refused_key_is_missing_data(play, make_task, monkeypatch):
    from skillopt_replay.agents import claude_cli

    monkeypatch.setattr(claude_cli, "_RETRIES", 0)
    rollout = await play(make_task(prompt="You will be refused"))
    assert (rollout.outcome, rollout.score) == (Outcome.INFRASTRUCTURE, None)
    assert "status 401" in (rollout.error or "")
