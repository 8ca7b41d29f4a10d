"""Tasks, skills and a replay that needs no model, for the tests of a night."""

from __future__ import annotations

from skillopt_replay.errors import CeilingReached
from skillopt_replay.rollouts import CheckResult, Outcome, Rollout, Score, Usage
from skillopt_replay.skills import Skill, new_skill
from skillopt_replay.tasks import Contains, Origin, Task

CORRECTION = Origin(session="s1", turn=1, quote="no, use `uv add`, not `pip install`")


def make_task(number: int, *, skill: str = "add-packages", failed: bool = False, checks: bool = True) -> Task:
    name = f"{skill}-{number:02}"
    return Task(
        id=name,
        family=skill,
        title="Add a package",
        prompt=f"Which command adds package number {number}?",
        sessions=(f"s{number}",),
        occurrences=1,
        client="claude",
        skill=skill,
        group=f"group-{name}",
        checks=(Contains(text="uv add", origin=CORRECTION),) if checks else (),
        started=f"2026-01-{number % 28 + 1:02}T20:00:00Z",
        corrections=(CORRECTION,),
        failed_before=failed,
    )


def make_tasks(count: int, **options) -> list[Task]:
    return [make_task(number, failed=number % 4 == 0, **options) for number in range(count)]


CANDIDATE = new_skill("add-packages", "Use when asked to add a package", "- Use `uv add`.")


class ScriptedRoller:
    """Scores a run by what `passes` says of (task id, has a skill); None stands for a lost run."""

    def __init__(self, passes, *, ceiling: int | None = None) -> None:
        self.passes = passes
        self.ceiling = ceiling
        self.runs: list[tuple[str, bool, int]] = []

    async def __call__(self, task: Task, skill: Skill | None, repeat: int) -> Rollout:
        if self.ceiling is not None and len(self.runs) >= self.ceiling:
            raise CeilingReached("the night's calls are used up")
        self.runs.append((task.id, skill is not None, repeat))
        passed = self.passes(task.id, skill is not None)
        lost = passed is None
        return Rollout(
            task=task.id,
            skill=skill.digest if skill else "",
            agent="scripted",
            model="none",
            outcome=Outcome.INFRASTRUCTURE if lost else Outcome.FINISHED,
            answer="uv add x" if passed else "pip install x",
            usage=Usage(10, 1, cost_usd=0.0),
            score=None if lost else Score(float(passed), float(passed), (CheckResult(bool(passed), ""),)),
            error="429" if lost else None,
        )
