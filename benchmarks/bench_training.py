"""What the training engine costs beside the models: seconds a step, and memory over 1,000 tasks.

    python benchmarks/bench_training.py

The models are scripted: a rollout and a question take no time, or `--latency` seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from skillopt_sleep.training import Trainer  # noqa: E402
from skillopt_sleep.training.reading import make  # noqa: E402
from tests.support.school import School, Teacher  # noqa: E402


class SlowSchool(School):
    def __init__(self, latency: float, **more) -> None:
        super().__init__(**more)
        self.latency = latency
        self.now = self.most = 0

    def load(self, split):
        return super().load(split)[: 40 if split != "train" else None]

    async def rollout(self, task, skill, sample):
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(self.latency)
        self.now -= 1
        rollout = await super().rollout(task, skill, sample)
        self.rolled.clear()
        return rollout


class SlowTeacher(Teacher):
    latency = 0.0

    async def complete(self, messages, **more):
        await asyncio.sleep(self.latency)
        return await super().complete(messages, **more)


def measure(size: int, workers: int, batch: int, latency: float, epochs: int = 1) -> None:
    school, teacher = SlowSchool(latency, size=size), SlowTeacher()
    teacher.latency = latency
    config = make(
        {
            "train": {"num_epochs": epochs, "batch_size": batch},
            "optimizer": {"learning_rate": 1, "min_learning_rate": 1},
            "evaluation": {"gate_mode": "strict", "eval_test": False},
            "env": {"workers": workers},
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        summary = asyncio.run(Trainer(school, teacher, config, out=Path(folder) / "run").train())
        seconds = time.perf_counter() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    each = seconds / summary.total_steps
    print(
        f"{size} train tasks, batch {batch}, {workers} workers, {latency} s a call:"
        f" {summary.total_steps} steps, {each * 1000:.0f} ms a step, at most {school.most} at once,"
        f" peak {peak:.0f} MiB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, default=0.0)
    latency = parser.parse_args().latency
    measure(200, 16, 40, latency)
    measure(1000, 64, 40, latency)
    measure(1000, 64, 1000, latency)


if __name__ == "__main__":
    main()
