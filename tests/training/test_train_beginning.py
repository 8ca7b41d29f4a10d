"""What `train` and `eval` say before anything is spent or written: data, prices, modules, addresses."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from skillopt_replay.ledger import MemoryLedger
from skillopt_replay.rollouts import Usage
from skillopt_replay.skills import Skill
from skillopt_sleep.cli import app
from skillopt_sleep.config import load, set_value
from skillopt_sleep.errors import UsageError
from skillopt_sleep.paths import locate
from skillopt_sleep.training import Config, Trainer, read_config
from skillopt_sleep.training.config import ModelSection
from skillopt_sleep.training.forecast import forecast
from tests.support.chat_server import serve
from tests.support.school import School, Teacher
from tests.training.test_train_command import SchoolServer

AWAY = "openai:https://models.invalid/v1#lent"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with forty tasks and a configuration whose models are behind a server nobody knows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    rows = [{"prompt": f"{n} + {n}?", "answer": f"{2 * n}"} for n in range(40)]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    values = {
        "model": {"target": AWAY, "optimizer": AWAY},
        "train": {"num_epochs": 1},
        "env": {"name": "tasks", "data_path": "sums.jsonl", "split_ratio": "1:1:1", "out_root": "out"},
    }
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(values))
    return tmp_path


def call(*arguments):
    return CliRunner().invoke(app, list(arguments))


def train(*arguments):
    return call("train", "--config", "run.yaml", *arguments)


# --- prices --------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [(), ("--dry-run",)])
def test_a_ceiling_in_dollars_is_refused_where_a_price_is_not_known(place, how):
    told = train("model.max_usd=20", *how)
    assert told.exit_code == 2, told.output
    assert "lent" in told.output
    assert "prices.MODEL" in told.output
    assert "model.max_tokens" in told.output
    assert not (place / "out").exists()
    scored = call("eval", "--config", "run.yaml", "--skill", "run.yaml", "model.max_usd=20")
    assert scored.exit_code == 2, scored.output


def test_the_prices_of_the_users_settings_are_those_of_training(place):
    path = locate().config
    path.parent.mkdir(parents=True, exist_ok=True)
    set_value(path, "prices.lent", "[3.0, 15.0]")
    assert load(path).prices
    told = train("model.max_usd=20", "--dry-run", "--json")
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["usd"] > 1


async def test_a_trainer_refuses_it_as_well_unless_the_ledger_is_anothers(tmp_path):
    config = Config(model=ModelSection(max_usd=1.0))
    with pytest.raises(UsageError, match="pupil/1"):
        await Trainer(School(), Teacher(), config, out=tmp_path / "out").train()
    assert not (tmp_path / "out").exists()
    other = Trainer(School(), Teacher(), config, out=tmp_path / "out", ledger=MemoryLedger())
    assert (await other.train()).total_steps > 0


def test_what_an_agent_costs_is_unknown_though_the_optimizer_is_free(place):
    splits = {split: School().load(split) for split in ("train", "val", "test")}
    bounds = forecast(Config(), splits, rollout=Usage(10), question=Usage(10, cost_usd=0.0))
    assert bounds.usd is None
    told = train("--dry-run").output
    assert "at an unknown price; model.max_tokens and max_calls bound it" in told
    assert "$" not in told
    assert "\n1 step\n" in f"\n{told}"
    tokens = next(line for line in told.splitlines() if "tokens" in line)
    assert "," in tokens.split(" tokens")[0]


# --- what training begins with -------------------------------------------------------------------


@pytest.mark.parametrize("how", [(), ("--dry-run",)])
def test_a_first_skill_that_is_not_there_is_told_before_anything_is_made(place, how):
    told = train("env.skill_init=none.md", *how)
    assert told.exit_code == 1, told.output
    assert "none.md cannot be read" in told.output
    assert not (place / "out").exists()


async def test_a_trainer_makes_no_folder_for_a_skill_that_is_not_there(tmp_path):
    with pytest.raises(Exception, match="cannot be read"):
        await Trainer(School(), Teacher(), out=tmp_path / "out").train(tmp_path / "none.md")
    assert not (tmp_path / "out").exists()


def test_faults_of_the_data_are_told_before_a_key_that_is_missing(place):
    models = ("model.target=openai:gpt-5-mini", "model.optimizer=openai:gpt-5-mini")
    (place / "broken.jsonl").write_text("{\n")
    told = train(*models, "env.data_path=broken.jsonl", "--dry-run")
    assert "broken.jsonl, line 1" in told.output
    told = train(*models, "--dry-run")
    assert "OPENAI_API_KEY is not set" in told.output
    assert ".env" in told.output


def test_data_that_nothing_heeds_is_refused(place):
    (place / "data").mkdir()
    told = train("env.split_dir=data", "--dry-run")
    assert told.exit_code == 2, told.output
    assert "env.data_path and env.split_ratio" in told.output
    assert train("env.split_dir=data", "env.split_mode=ratio", "--dry-run").exit_code == 0


def test_a_ratio_is_text_with_and_without_quotes(tmp_path):
    path = tmp_path / "run.yaml"
    for written in ("2:1:7", '"2:1:7"', "'1:1:1'", "1:30:0"):
        path.write_text(f"env: {{split_ratio: {written}}}\ntrain: {{batch_size: 12}}\n")
        config = read_config(path)
        assert config.env.split_ratio == written.strip("'\"")
        assert config.train.batch_size == 12
    assert read_config(None, ["env.split_ratio=2:1:7"]).env.split_ratio == "2:1:7"


# --- an environment of one's own -----------------------------------------------------------------

OWN = """
from skillopt_replay.tasks import Exact
from skillopt_sleep.training import answer, make_task


class Sums:
    name = "own-sums"

    def __init__(self, config, target):
        self.target, self.identity, self.estimate = target, "own", target.estimate

    def load(self, split):
        return [make_task(f"{split}{n}", f"{n}?", Exact(text=str(n))) for n in range(6)]

    async def rollout(self, task, skill, sample):
        return await answer(self.target, task, skill)
"""


def run_program(folder, *arguments):
    program = Path(sys.executable).parent / "skillopt-train"
    return subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, check=False)


def test_a_module_in_the_working_folder_or_beside_the_configuration_is_found(place):
    (place / "near_by.py").write_text(OWN)
    (place / "elsewhere").mkdir()
    asked = ("--dry-run", "env.name=near_by:Sums")
    here = run_program(place, "--config", "run.yaml", *asked)
    assert here.returncode == 0, here.stderr
    beside = run_program(place / "elsewhere", "--config", "../run.yaml", *asked)
    assert beside.returncode == 0, beside.stderr


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("not_there_at_all:Sums", "in the working folder"),
        ("half_of_it:Sums", "half_of_it.py"),
        ("torn:Sums", "torn"),
    ],
)
def test_a_module_that_is_not_found_is_told_with_where_it_is_looked_for(place, name, said):
    (place / "half_of_it.py").write_text("Product = 1\n")
    (place / "torn.py").write_text("class Sums(\n")
    told = train(f"env.name={name}", "--dry-run")
    assert told.exit_code == 2, told.output
    assert "cannot be imported" in told.output
    assert said in told.output.partition("hint: ")[2]


# --- servers, folders and progress ---------------------------------------------------------------


def test_a_server_that_nobody_started_is_told_at_once_with_how_to_start_it(place, monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and nobody listens
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{taken.getsockname()[1]}")
        begun = time.monotonic()
        told = train("model.target=ollama:qwen3:4b", "model.optimizer=ollama:qwen3:4b")
    assert time.monotonic() - begun < 8
    assert told.exit_code == 1
    assert "`ollama serve`" in told.output
    assert "`ollama pull qwen3:4b`" in told.output


def test_the_best_skill_of_a_run_that_has_not_come_so_far_is_told_as_that(place):
    told = call("eval", "--config", "run.yaml", "--skill", "out/best_skill.md")
    assert told.exit_code == 1, told.output
    assert "training has not finished there" in told.output
    assert "env.out_root=out" in told.output
    (place / "out" / "best_skill").mkdir(parents=True)
    told = call("eval", "--config", "run.yaml", "--skill", "out/best_skill.md")
    assert "is out/best_skill\n" in told.output


@pytest.fixture
def near(place):
    """The same folder, with the models behind a server here, which answers."""
    with serve(SchoolServer()) as server:
        rows = [
            {"prompt": f"{n}: an apple?", "checks": [{"type": "contains", "text": "APPLE"}]}
            for n in range(15)
        ]
        (place / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        values = yaml.safe_load((place / "run.yaml").read_text())
        values["model"] = dict.fromkeys(("target", "optimizer"), f"openai:{server.url}/v1#school")
        (place / "run.yaml").write_text(yaml.safe_dump(values))
        yield place


def test_progress_of_all_splits_tells_splits_and_sides_apart(near):
    (near / "one.md").write_text("# One")
    told = call("eval", "--config", "run.yaml", "--skill", "one.md", "--split", "all")
    assert told.exit_code == 0, told.output
    for split in ("train", "val", "test"):
        for side in ("the skill", "the other"):
            assert f"{split}, {side} 5/5" in told.output


def test_a_skill_begun_from_nothing_says_how_to_describe_it(near):
    told = train()
    assert told.exit_code == 0, told.output
    assert "run: out\n" in told.output
    assert 'its description is "Use for every task of tasks."' in told.output
    told = train("env.out_root=two", "env.skill_description=Use when trees are asked about.")
    assert "its description is" not in told.output
    best = Skill("best", (near / "two" / "best_skill.md").read_text())
    assert best.description == "Use when trees are asked about."


def test_a_run_without_a_folder_of_its_own_says_how_to_go_on(near):
    told = train("env.out_root=")
    assert "to go on after an interruption: env.out_root=outputs/tasks/" in told.output


@pytest.mark.parametrize("name", ["skillopt-train", "skillopt-eval"])
def test_the_help_of_a_short_name_has_no_other_word_in_it(tmp_path, name):
    program = Path(sys.executable).parent / name
    done = subprocess.run([program, "--help"], capture_output=True, text=True, check=True)
    usage = " ".join(done.stdout.partition("\n\n")[0].split())
    assert usage.startswith(f"Usage: {name} [OPTIONS] [SECTION.KEY=VALUE]")
    assert "Exit codes" in done.stdout
