"""`train` and `eval` with an agent as target: it works on files, as in a night."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest
import yaml

from skillopt_sleep.cli.agent_targets import apply_config
from skillopt_sleep.config import set_value
from skillopt_sleep.errors import UsageError
from skillopt_sleep.paths import locate
from skillopt_sleep.settings import Settings
from skillopt_sleep.training.reading import make
from tests.support.chat_server import serve
from tests.support.school import FAMILIES
from tests.support.scripted_model_server import MockModelServer
from tests.training.test_train_command import SchoolServer, call

CLAUDE = os.environ.get("SKILLOPT_TEST_CLAUDE", "")
SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
# Knows what the rules of its skill say, counts its runs, and tells a secret.
AGENT = f"""#!/bin/sh
prompt=$(cat)
test -f seed.txt || exit 3
for family in {" ".join(FAMILIES)}; do
    case "$prompt" in *"about a $family"*)
        word=$(echo "$family" | tr a-z A-Z)
        grep -q "about a $family with the word $word" "$SKILLOPT_SKILL_DIR/SKILL.md" || word=nothing
        echo "$word" > out.txt
    esac
done
echo "Written with {SECRET}."
"""


@pytest.fixture
def server():
    with serve(SchoolServer()) as served:
        yield served


@pytest.fixture
def place(tmp_path, monkeypatch, private_home, server):
    """A folder with a project, tasks in it, an agent, and a configuration."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "seed.txt").write_text("begin here\n")
    (tmp_path / "data").mkdir()
    for split in ("train", "val", "test"):
        rows = []
        for number in range(4):
            family = FAMILIES[number]
            check = {"type": "file", "path": "out.txt", "text": family.upper()}
            prompt = f"{split} {number} about a {family}?"
            rows.append({"prompt": prompt, "family": family, "checks": [check], "project": "../project"})
        (tmp_path / "data" / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    program = tmp_path / "my-agent"
    program.write_text(AGENT)
    program.chmod(0o755)
    values = {
        "model": {
            "target_backend": "command",
            "command": [str(program)],
            "optimizer_backend": "openai_compatible",
            "optimizer": f"{server.url}/v1#school",
        },
        "train": {"num_epochs": 1},
        "optimizer": {"learning_rate": 9, "min_learning_rate": 9},
        "evaluation": {"gate_mode": "strict"},
        "env": {"name": "tasks", "split_dir": "data", "skill_name": "trees", "out_root": "out/one"},
    }
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(values))
    set_value(locate().config, "replay.sandbox", "none")
    return tmp_path


def list_workspaces():
    root = locate().replays
    return sorted(path.name for path in root.iterdir()) if root.exists() else []


def test_a_program_of_the_users_own_is_trained_and_evaluated(place):
    done = call("train", "--config", "run.yaml", "--json")
    assert done.exit_code == 0, done.output
    value = json.loads(done.stdout)
    assert (value["baseline_test"]["hard"], value["best_test"]["hard"]) == (0.0, 1.0)
    assert list_workspaces() == []
    found = call("eval", "--config", "run.yaml", "--skill", "out/one/best_skill.md", "--json")
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["difference"]["wins"] == 4
    assert list_workspaces() == []
    assert (place / "project" / "seed.txt").read_text() == "begin here\n"
    assert not (place / "project" / "out.txt").exists()


def test_what_an_agent_says_is_kept_without_secrets(place):
    assert call("train", "--config", "run.yaml").exit_code == 0
    with sqlite3.connect(place / "out" / "one" / "calls.db") as connection:
        kept = b"".join(row[0] or b"" for row in connection.execute("SELECT result FROM calls"))
    connection.close()
    assert b"Written with" in kept
    assert SECRET.encode() not in kept


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("env.split_dir=elsewhere", "no train split"),
        ("model.max_calls=7", "7 calls"),
    ],
    ids=["no tasks", "ceiling"],
)
def test_the_workspaces_are_gone_however_a_run_ends(place, override, said):
    done = call("train", "--config", "run.yaml", override)
    assert done.exit_code != 0
    assert said in done.output
    assert list_workspaces() == []


def test_the_workspaces_are_gone_when_the_optimizer_refuses(place, server):
    server.take = lambda _body: (401, {"error": {"message": "no such key"}})
    done = call("train", "--config", "run.yaml")
    assert done.exit_code != 0
    assert "no such key" in done.output
    assert list_workspaces() == []


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["model.command=[/nonexistent/agent]"], "is not there"),
        (["model.target_backend=cursor_exec"], "known are"),
        (["model.reasoning_effort=high"], "does not reach a program of your own"),
        (["model.optimizer_backend=command"], "no model that writes edits"),
        (["model.target_backend=", "model.target=ollama:any"], "does not work"),
        (["env.exec_timeout=-1"], "at least 0"),
    ],
    ids=["no program", "no backend", "effort", "no writer", "chat", "timeout"],
)
def test_what_does_not_fit_an_agent_is_told_before_anything_runs(place, overrides, said, server):
    done = call("train", "--config", "run.yaml", *overrides)
    assert done.exit_code != 0
    assert said in " ".join(done.output.split())
    assert server.answered == []


def test_a_client_of_another_name_is_not_taken_for_the_agent(place):
    done = call(
        "train", "--config", "run.yaml", "model.target_backend=codex_exec", "model.codex_exec_path=/bin/true"
    )
    assert "a program called codex" in done.output


def test_the_limits_are_those_of_the_settings_but_for_what_the_run_sets():
    settings = Settings()
    same = apply_config(settings, "codex", make({}))
    assert (same.replay.seconds, same.replay.turns) == (settings.replay.seconds, settings.replay.turns)
    assert (same.target.agent, same.target.model) == ("codex", "")
    own = {"env": {"exec_timeout": 30, "max_turns": 7, "workers": 3}}
    own |= {"model": {"target": "gpt-5.5", "reasoning_effort": "high"}}
    other = apply_config(settings, "codex", make(own))
    assert (other.replay.seconds, other.replay.turns, other.replay.concurrency) == (30, 7, 3)
    assert (other.target.model, other.target.effort) == ("gpt-5.5", "high")
    assert other.replay.sandbox == settings.replay.sandbox
    with pytest.raises(UsageError, match="effort"):
        apply_config(settings, "command", make(own))


@pytest.mark.real_cli
@pytest.mark.skipif(
    not Path(CLAUDE or "/nonexistent").is_file(),
    reason="SKILLOPT_TEST_CLAUDE names no program: `make clients` fetches it (needs npm)",
)
def test_a_real_client_is_evaluated_with_the_whole_folder(place, tmp_path, monkeypatch):
    from skillopt_replay.skill_files import SkillFile
    from skillopt_replay.skill_folders import write_skill
    from skillopt_replay.skills import Skill, new_skill

    for split in ("train", "val", "test"):
        lines = (place / "data" / f"{split}.jsonl").read_text().splitlines(keepends=True)
        (place / "data" / f"{split}.jsonl").write_text(lines[0])
    document = new_skill("trees", "Use for TREE-QUESTIONS.", "TREE-BODY: run scripts/answer.sh.")
    script = SkillFile("scripts/answer.sh", "#!/bin/sh\necho APPLE\n", executable=True)
    write_skill(Skill("trees", document.text, (script,)), tmp_path / "trees")
    find = "find / -path '*trees/scripts/answer.sh' 2>/dev/null | head -1"
    plays = [
        {
            "name": "obeys",
            "when": {"user_contains": "about a", "any_contains": "TREE-BODY"},
            "steps": [
                {"do": [{"say": "-"}]},
                {"do": [{"shell": f"$({find}) > out.txt"}]},
                {"do": [{"say": "Done."}]},
            ],
        },
        {
            "name": "loads",
            "when": {"user_contains": "about a", "any_contains": "TREE-QUESTIONS"},
            "steps": [{"do": [{"skill": "trees"}]}, {"do": [{"say": "No."}]}],
        },
        {
            "name": "knows no better",
            "when": {"user_contains": "about a"},
            "steps": [{"do": [{"say": "No."}]}],
        },
    ]
    model = MockModelServer({"plays": plays}, str(tmp_path / "requests.jsonl")).start()
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-fake")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", model.base_url)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "claude").symlink_to(CLAUDE)
    try:
        done = call(
            "eval", "--config", "run.yaml", "--skill", "trees", "--json",
            "model.target_backend=claude_code_exec", f"model.claude_code_exec_path={programs / 'claude'}",
        )  # fmt: skip
    finally:
        model.stop()
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["skill"]["hard"], found["other"]["hard"]) == (1.0, 0.0)
    assert list_workspaces() == []
