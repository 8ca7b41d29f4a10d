"""What the training engine costs beside the models: its share of a step, and memory over 1,000 tasks.

    python benchmarks/bench_training.py

The models are scripted: a rollout and a question take `--latency` seconds each and no work. What the
process computes meanwhile, the scripts of the models included, is the engine's; the rest of a step is
waiting. Each row is a process of its own. The targets: at batch 40 the engine takes under 5 % of a step, and
1,000 tasks with 64 at a time need bounded memory.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from skillopt_sleep.training import Trainer  # noqa: E402
from skillopt_sleep.training.reading import make  # noqa: E402
from tests.support.school import School, Teacher  # noqa: E402

VAL = 40
ROWS = (  # train tasks, workers, batch, epochs
    (400, 64, 40, 1),
    (1000, 64, 40, 1),
    (1000, 64, 1000, 4),
    (4000, 64, 4000, 1),
)


class SlowSchool(School):
    def __init__(self, latency: float, **more) -> None:
        super().__init__(**more)
        self.latency = latency
        self.now = self.most = self.runs = 0

    def load(self, split):
        return super().load(split)[: VAL if split != "train" else None]

    async def rollout(self, task, skill, sample):
        self.now += 1
        self.runs += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(self.latency)
        self.now -= 1
        rollout = await super().rollout(task, skill, sample)
        self.rolled.clear()
        return rollout


class SlowTeacher(Teacher):
    latency = 0.0
    questions = 0

    async def complete(self, messages, **more):
        self.questions += 1
        await asyncio.sleep(self.latency)
        completion = await super().complete(messages, **more)
        self.asked.clear()
        return completion


def measure(size: int, workers: int, batch: int, epochs: int, latency: float) -> dict:
    # More rules to be learned than there are steps: no step is idle.
    families = [f"tree{number}" for number in range(40)]
    school, teacher = SlowSchool(latency, size=size, families=families), SlowTeacher()
    teacher.latency = latency
    config = make(
        {
            "train": {"num_epochs": epochs, "batch_size": batch},
            "optimizer": {"learning_rate": 1, "min_learning_rate": 1, "max_skill_tokens": 20_000},
            "evaluation": {"gate_mode": "strict", "eval_test": False},
            "env": {"workers": workers},
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        started, computed = time.perf_counter(), time.process_time()
        summary = asyncio.run(Trainer(school, teacher, config, out=Path(folder) / "run").train())
        seconds, computed = time.perf_counter() - started, time.process_time() - computed
    return {
        "tasks": size,
        "batch": batch,
        "steps": summary.total_steps,
        "step_s": seconds / summary.total_steps,
        "engine_s": computed / summary.total_steps,
        "runs": school.runs,
        "questions": teacher.questions,
        "at_once": school.most,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, default=1.0, help="seconds a call takes (default 1)")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.row:
        print(json.dumps(measure(*json.loads(given.row), given.latency)))
        return
    print(f"{given.latency} s a call")
    print(" tasks  batch  steps    runs  at once      step    engine   share      peak")
    for row in ROWS:
        command = [sys.executable, __file__, "--latency", str(given.latency), "--row", json.dumps(row)]
        found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        share = found["engine_s"] / found["step_s"]
        print(
            f"{found['tasks']:6} {found['batch']:6} {found['steps']:6} {found['runs']:7} {found['at_once']:8}"
            f" {found['step_s']:7.2f} s {found['engine_s']:7.3f} s {share:7.1%} {found['peak_mib']:5.0f} MiB"
        )


if __name__ == "__main__":
    main()
