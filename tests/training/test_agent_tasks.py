"""A skill is trained for an agent that works on files, in workspaces of replay."""

from __future__ import annotations

from skillopt_replay.executors.contract import Workbench
from skillopt_replay.executors.local import LocalExecutor
from skillopt_replay.rollouts import Outcome, Rollout, Usage
from skillopt_replay.sandbox.none import NoSandbox
from skillopt_replay.tasks import FileContains
from skillopt_sleep.training import AgentTarget, AgentTasks, Trainer, make_task
from tests.support.school import FAMILIES, Teacher, rule
from tests.training.test_trainer import config, read


class Clerk:
    """Writes what the rules of its skill say into a file."""

    identity = "clerk/1"
    estimate = Usage()
    needs_workspace = False
    secrets: tuple[str, ...] = ()

    async def run(self, task, skill, workspace, limits):
        text = task.family.upper() if rule(task.family) in skill.body else "nothing"
        (workspace / "out.txt").write_text(text)
        common = {"task": task.id, "skill": skill.digest, "agent": self.identity, "model": ""}
        return Rollout(**common, outcome=Outcome.FINISHED, answer="Written.")


def make_split(split):
    return [
        make_task(
            f"{split}-{n}",
            f"Question {n} about a {FAMILIES[n % 4]}?",
            FileContains(path="out.txt", text=FAMILIES[n % 4].upper()),
            family=FAMILIES[n % 4],
        )
        for n in range(8)
    ]


async def test_an_agent_learns_by_the_files_it_leaves(tmp_path):
    clerk = Clerk()
    bench = Workbench(agent=clerk, sandbox=NoSandbox(), root=tmp_path / "work")
    (tmp_path / "work").mkdir()
    splits = {split: make_split(split) for split in ("train", "val", "test")}
    executor = LocalExecutor(bench, slots=2)
    tasks = AgentTasks("clerk", splits, AgentTarget(agent=clerk, executor=executor))
    trainer = Trainer(tasks, Teacher(), config(optimizer={"learning_rate": 4}), out=tmp_path / "run")
    summary = await trainer.train()
    assert summary.best_test.hard == 1.0
    await executor.close()
    assert list((tmp_path / "work").iterdir()) == []


async def test_an_accepted_bundle_is_measured_without_each_of_its_edits(tmp_path):
    from tests.training.test_trainer import run

    await run(
        tmp_path,
        optimizer={"learning_rate": 4, "min_learning_rate": 4},
        evaluation={"attribute_edits": True},
    )
    worth = read(tmp_path, "history.json")[0]["attribution"]
    assert len(worth) > 1
    assert all(one["effect"] == 0.25 for one in worth)
