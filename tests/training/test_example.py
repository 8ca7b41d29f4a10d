"""The example of the documentation, as printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from skillopt_replay.protocols import Completion
from skillopt_replay.rollouts import Usage

PAGE = Path(__file__).parents[2] / "docs" / "training.md"


class Model:
    """Adds up wrongly until the skill says how; proposes to say how."""

    identity = "model/1"
    estimate = Usage()

    async def complete(self, messages, *, schema=None, **_):
        if schema is None:
            first = int(re.match(r"\d+", messages[-1].content)[0])
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


def test_training_is_imported_without_the_app():
    code = (
        "import sys; from skillopt_sleep.training import Trainer;"
        "print(sorted(m for m in sys.modules if m.startswith('skillopt_') and any(p in m for p in"
        " ('night', 'store', 'watching', 'cli', 'harvesters', 'staging', 'review'))))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"
