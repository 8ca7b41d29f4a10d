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

from skillopt_replay.protocols import Completion, Message
from skillopt_replay.rollouts import Usage
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


def test_the_environment_of_the_documentation_trains(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]
    assert len([line for line in code.splitlines() if line.strip()]) < 40
    names = {}
    exec(code, names)
    summary = names["train"](Model(), Model())
    assert "Add the numbers." in summary.best.text
    assert summary.best_test.hard == 1.0
    assert (tmp_path / "outputs" / "sums" / "first" / "best_skill.md").exists()


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
