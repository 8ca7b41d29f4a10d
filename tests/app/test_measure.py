"""A candidate meets the incumbent on held-out tasks, pair by pair."""

from __future__ import annotations

import asyncio

from skillopt_gate.verdicts import Decision, Policy
from skillopt_sleep.night.measure import Conditions, measure
from tests.app.night_samples import CANDIDATE, ScriptedRoller, make_tasks

TASKS = make_tasks(12)


async def gate(roller, *, tasks=TASKS, **options):
    return await measure(
        tasks,
        None,
        CANDIDATE,
        roller,
        policy=Policy(),
        identity="scripted",
        conditions=Conditions(concurrency=6),
        **options,
    )


async def test_a_skill_that_fixes_every_task_is_accepted():
    roller = ScriptedRoller(lambda task, skilled: skilled)
    measured = await gate(roller)
    assert measured.verdict.decision is Decision.ACCEPT
    assert {t.change for t in measured.tasks} == {"fixed", "not run"}, "it ends once the evidence suffices"
    assert 7 <= measured.verdict.n < len(TASKS)
    assert measured.tasks[0].before == "pip install x"
    assert measured.tasks[0].after == "uv add x"


async def test_both_sides_of_a_task_run_side_by_side():
    roller = ScriptedRoller(lambda task, skilled: skilled)
    await gate(roller)
    first_six = roller.runs[:6]
    assert {task for task, _, _ in first_six} == {task.id for task in TASKS[:3]}


async def test_a_skill_that_changes_nothing_is_never_accepted():
    measured = await gate(ScriptedRoller(lambda task, skilled: task.endswith("1")))
    assert measured.verdict.decision is not Decision.ACCEPT
    assert {t.change for t in measured.tasks} == {"same"}


async def test_one_broken_task_vetoes_however_many_are_fixed():
    roller = ScriptedRoller(lambda task, skilled: skilled != task.endswith("03"))
    measured = await gate(roller)
    assert measured.verdict.decision is Decision.REJECT
    assert measured.verdict.broken == ("add-packages-03",)
    rechecks = [run for run in roller.runs if run[2] > 0]
    assert {task for task, _, _ in rechecks} == {"add-packages-03"}, "it was run again before it vetoed"


async def test_a_task_that_only_failed_once_by_chance_does_not_veto():
    seen: dict[tuple[str, bool], int] = {}

    def passes(task, skilled):
        seen[task, skilled] = seen.get((task, skilled), 0) + 1
        if task.endswith("03"):
            return not skilled or seen[task, skilled] > 1
        return skilled

    measured = await gate(ScriptedRoller(passes))
    assert measured.verdict.broken == ()


async def test_lost_runs_are_missing_and_not_failures():
    measured = await gate(ScriptedRoller(lambda task, skilled: None if task.endswith("5") else skilled))
    lost = [t for t in measured.tasks if t.task.endswith("5")]
    assert {t.change for t in lost} == {"not run"}
    assert "429" in lost[0].before
    assert measured.verdict.missing == tuple(t.task for t in lost)
    assert measured.verdict.losses == 0


async def test_a_problem_of_the_document_rejects_before_anything_is_run():
    roller = ScriptedRoller(lambda task, skilled: skilled)
    measured = await gate(roller, problems=["the front matter is not YAML"])
    assert measured.verdict.decision is Decision.REJECT
    assert roller.runs == []


async def test_a_ceiling_ends_the_measuring_and_keeps_what_was_measured():
    measured = await gate(ScriptedRoller(lambda task, skilled: skilled, ceiling=8))
    assert measured.stopped == "the night's calls are used up"
    assert measured.verdict.decision is Decision.NOT_ENOUGH
    assert measured.verdict.n == 4


async def test_evidence_of_an_earlier_night_counts_on():
    first = await gate(ScriptedRoller(lambda task, skilled: skilled), tasks=TASKS[:5])
    assert first.verdict.decision is Decision.NOT_ENOUGH
    second = await gate(
        ScriptedRoller(lambda task, skilled: skilled), tasks=TASKS[5:], evidence=first.evidence
    )
    assert second.verdict.decision is Decision.ACCEPT
    assert second.verdict.nights == 2


async def test_what_the_gate_is_asked_does_not_depend_on_which_run_ends_first():
    class Unsteady(ScriptedRoller):
        def __init__(self, passes, slow) -> None:
            super().__init__(passes)
            self.slow = slow

        async def __call__(self, task, skill, repeat):
            result = await super().__call__(task, skill, repeat)
            for _ in range(50 if self.slow(task.id) else 0):
                await asyncio.sleep(0)
            return result

    def passes(task: str, skilled: bool) -> bool:
        return skilled != (task[-1] in "27")

    ran = []
    for slow in (lambda task: task[-1] in "05", lambda task: task[-1] in "1346", lambda task: False):
        roller = Unsteady(passes, slow)
        measured = await gate(roller)
        ran.append((sorted(roller.runs), measured.verdict))
    assert ran[0] == ran[1] == ran[2]
