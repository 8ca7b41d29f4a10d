"""The examples of the documentation, as printed."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

from typer.testing import CliRunner

from skillopt_replay.protocols import Completion, Message
from skillopt_replay.rollouts import Fault, Usage
from skillopt_replay.tasks import Exact
from skillopt_sleep.cli import app
from skillopt_sleep.training import Config, make_task
from skillopt_sleep.training.task_files import split_by_ratio
from tests.support.chat_server import serve

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "training.md"


class Model:
    """Adds up wrongly until the skill says how; proposes to say how."""

    identity = "model/1"
    estimate = Usage()

    async def complete(self, messages, *, schema=None, **_):
        if schema is None:
            first = int(re.search(r"\d+", messages[-1].content)[0])
            right = "Add the numbers." in messages[0].content
            return Completion(text=str(2 * first if right else 0), model="m")
        edit = {"op": "add", "target": "", "content": "Add the numbers.", "support": 1}
        value = {"reasoning": "", "patterns": [], "edits": [edit]}
        value |= {"slow_update_content": "Add.", "meta_skill_content": "Adding helps."}
        return Completion(text="", value=value, model="m")


def read_example(number):
    """Return the names that an example in Python of the page defines."""
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[number]
    assert len([line for line in code.splitlines() if line.strip()]) < 40
    names = {"__name__": "my_module"}
    exec(code, names)
    return names


def check_learned(summary, folder):
    assert "Add the numbers." in summary.best.text
    assert summary.best_test.hard == 1.0
    assert (folder / "outputs" / "sums" / "first" / "best_skill.md").exists()


def test_the_environment_of_the_documentation_trains_with_a_model_by_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with serve(Sums()) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url.partition("://")[2])
        check_learned(asyncio.run(read_example(0)["main"]("ollama:qwen3:4b")), tmp_path)


def test_the_environment_of_the_documentation_trains_with_the_model_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    async def ask(messages, schema):
        said = [Message(one["role"], one["content"]) for one in messages]
        done = await Model().complete(said, schema=schema)
        return done.text or json.dumps(done.value)

    model = read_example(1)["Mine"](ask)
    check_learned(asyncio.run(read_example(0)["train"](model, model)), tmp_path)


async def test_a_model_of_ones_own_that_is_not_reached_is_missing_data():
    async def ask(messages, schema):
        raise OSError("the line is dead")

    done = await read_example(1)["Mine"](ask).complete([Message("user", "Hi")])
    assert done.error == "the line is dead"
    assert done.fault is Fault.NETWORK


def test_the_settings_of_the_documentation_are_bound_as_they_say(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for split in ("train", "val", "test"):
        rows = "".join(f'{{"prompt": "{n}?", "answer": "{n}"}}\n' for n in range(5))
        (tmp_path / "data" / f"{split}.jsonl").write_text(rows)
    (tmp_path / "SKILL.md").write_text("# Sums")
    (tmp_path / "run.yaml").write_text(re.search(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)[1])
    (tmp_path / ".env").write_text("OPENAI_API_KEY=sk-none\n")
    told = CliRunner().invoke(app, ["train", "--config", "run.yaml", "--dry-run", "--json"])
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["usd"] > 0


def test_the_ratio_of_the_documentation_has_enough_val_tasks_for_the_front_pages_forty():
    ratio = re.search(r"`env.split_ratio` to, say, `([\d:]+)`", PAGE.read_text())[1]
    tasks = [make_task(f"{n}", "?", Exact(text="1")) for n in range(40)]
    splits = split_by_ratio(tasks, ratio, 42)
    assert len(splits["val"]) >= Config().evaluation.gate_min_tasks


class Sums:
    """Ollama's stand-in: adds up wrongly until the skill says how; proposes to say how."""

    def __init__(self):
        self.url = ""
        self.answered = []
        self.release = threading.Event()

    def take(self, body):
        messages = [Message(m["role"], m["content"]) for m in body["messages"]]
        schema = body["response_format"]["json_schema"]["schema"] if "response_format" in body else None
        done = asyncio.run(Model().complete(messages, schema=schema))
        text = done.text or json.dumps({key: done.value[key] for key in schema["properties"]})
        message = {"role": "assistant", "content": text}
        return 200, {
            "model": body["model"],
            "choices": [{"message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5},
        }


def test_the_training_example_of_the_front_page_runs(tmp_path, private_home):
    section = (ROOT / "README.md").read_text().partition("## A skill for tasks with known answers")[2]
    code = re.search(r"```sh\n(.*?)```", section, re.DOTALL)[1]
    with serve(Sums()) as server:
        env = {**os.environ, "OLLAMA_HOST": server.url.partition("://")[2]}
        env["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), env["PATH"]])
        done = subprocess.run(
            ["bash", "-e", "-c", code],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing was run" in done.stdout
    assert "test, best skill: 100.0%" in done.stdout
    assert "Add the numbers." in (tmp_path / "outputs" / "sums" / "best_skill.md").read_text()
    assert "13 won, 0 lost" in done.stdout


def test_training_is_imported_without_the_app():
    code = (
        "import sys; from skillopt_sleep.training import Trainer;"
        "print(sorted(m for m in sys.modules if m.startswith('skillopt_') and any(p in m for p in"
        " ('night', 'store', 'watching', 'cli', 'harvesters', 'staging', 'review'))))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"
