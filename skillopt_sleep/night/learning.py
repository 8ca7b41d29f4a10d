"""Training one skill in a night: a run of the trainer, in a folder below the night's own."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from skillopt_replay.skills import Skill
from skillopt_sleep.events import Event
from skillopt_sleep.night.bench import Bench
from skillopt_sleep.night.carrying import carry
from skillopt_sleep.night.curriculum import PlannedTasks, make_config
from skillopt_sleep.night.planned import SkillPlan
from skillopt_sleep.night.retries import recall
from skillopt_sleep.paths import Paths
from skillopt_sleep.store.candidates import save_rejected_edits
from skillopt_sleep.store.memories import Learned, save_learned
from skillopt_sleep.training.contract import TrainingError
from skillopt_sleep.training.lineage import collect_candidates
from skillopt_sleep.training.memory import Memory
from skillopt_sleep.training.records import Candidate
from skillopt_sleep.training.rejected import RejectedEdits, remember_rejected
from skillopt_sleep.training.run_folder import RunFolder, RunUnusable
from skillopt_sleep.training.summary import Summary
from skillopt_sleep.training.trainer import Trainer


class Lesson(msgspec.Struct, frozen=True, kw_only=True):
    """What a night's training of one skill came to: the candidates, best first, and the report in a line.

    `before` is the share of train tasks that passed without them, None when none was run. `settled`: all
    train tasks were run and passed.
    """

    candidates: tuple[Candidate, ...] = ()
    note: str
    before: float | None = None
    settled: bool = False


def find_trainings(paths: Paths, night: str) -> Path:
    """Return where a night's trainings are written down, each in the folder of its skill."""
    return paths.nights / night / "training"


async def teach(plan: SkillPlan, bench: Bench) -> Lesson:
    """Train candidates on the plan's train tasks, or go on with training them.

    What it leaves for the next night is kept: the optimizer's notes, and edits that did harm. Raises
    CeilingReached, ServiceRefused.
    """
    tasks = PlannedTasks(
        plan, bench.roll, identity=bench.backends.agent.identity, estimate=bench.backends.agent.estimate
    )
    memory = Memory(
        rejected=remember_rejected(RejectedEdits(), reversed(plan.rejected)),
        notes=plan.learned.notes,
        before=plan.learned.skill,
    )
    folder = find_trainings(bench.paths, bench.night) / plan.skill
    try:
        try:
            summary, history, candidates = await _train(plan, tasks, memory, bench, folder)
        except RunUnusable:
            # Everything that was paid for is in the ledger, so nothing is lost but this account of it.
            shutil.rmtree(folder)
            summary, history, candidates = await _train(plan, tasks, memory, bench, folder)
    except TrainingError as error:
        return Lesson(note=f"the training could not go on: {error.message}")
    _keep(plan, memory, summary, tasks.initial, bench)
    first = [record for record in history if record["epoch"] == 1]
    valid = sum(record["rollout_n"] for record in first)
    passed = sum(record["rollout_hard"] * record["rollout_n"] for record in first)
    whole = valid == len(plan.train) * bench.settings.training.samples
    note = explain(history, learning_rate=bench.settings.training.learning_rate)
    if not candidates and any(record["race"]["lost"] for record in history):
        note += f"; what they said and how each run went: {folder}"
    return Lesson(
        candidates=candidates,
        note=note,
        before=passed / valid if valid else None,
        settled=whole and passed == valid,
    )


async def _train(
    plan: SkillPlan,
    tasks: PlannedTasks,
    memory: Memory,
    bench: Bench,
    folder: Path,
) -> tuple[Summary, list[dict[str, Any]], tuple[Candidate, ...]]:
    """Return the summary of the run, the records of its steps, and its candidates."""

    def admit(skill: Skill) -> str:
        candidate = Candidate(skill=skill, edits=(), train_hard=0.0, train_soft=0.0)
        known = recall(
            bench.connection,
            carry(plan, candidate, rivals=1),
            night=bench.night,
            agent=bench.backends.agent.identity,
            mode=bench.settings.gate.mode,
        )
        return known.told

    def report(stage: str, done: int, total: int) -> None:
        bench.listen(Event(stage=stage, done=done, total=total, detail=plan.skill))

    trainer = Trainer(
        tasks,
        bench.backends.optimizer,
        make_config(
            bench.settings,
            len(plan.train),
            bench.backends.executor.slots,
            optimizer=bench.backends.optimizer.identity,
        ),
        out=folder,
        ledger=bench.ledger,
        admit=admit,
        report=report,
    )
    summary = await trainer.train(tasks.initial, memory)
    written = RunFolder(folder)
    return summary, written.load_history(summary.total_steps), collect_candidates(written)


def _keep(plan: SkillPlan, begun: Memory, summary: Summary, initial: Skill, bench: Bench) -> None:
    place = plan.place.live
    save_learned(bench.connection, place, Learned(notes=summary.memory.notes, skill=initial))
    # An edit that only did nothing on tonight's train tasks may be of use on another night's.
    known = {edit.content for edit in begun.rejected.edits}
    harmful = [
        edit
        for edit in summary.memory.rejected.edits
        if edit.content not in known and edit.effect is not None and edit.effect < 0
    ]
    save_rejected_edits(bench.connection, place, harmful)


def explain(history: Sequence[Mapping[str, Any]], *, learning_rate: int) -> str:
    """Return in one sentence what the steps of a training came to; there is at least one."""
    accepted = [record for record in history if "accept" in record["action"]]
    record = accepted[-1] if accepted else history[-1]
    race = record["race"]
    raced = race["n_won"] + len(race["lost"])
    problems = "; ".join(record["problems"][:3])
    reasons = {
        "; ".join(dict.fromkeys(race["told"])): bool(race["told"]) and not race["n_won"],
        f"{race['n_won']} of {raced} candidates did better on the train tasks than what is there": raced > 0,
        "nothing to learn: every train task already passes": record["rollout_hard"] >= 1.0,
        "the learning rate is 0: no edit may be made": learning_rate < 1,
        "nothing to learn from: no failed task rests on words the user typed": not record["n_minibatches"],
        f"the optimizer proposed nothing that could be used: {problems}": True,
    }
    return next(reason for reason, holds in reasons.items() if holds)
