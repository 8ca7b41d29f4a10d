"""An A/A run: tasks twice over with the very same skill, and what the gate would make of the difference."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence

from skillopt_gate.verdicts import Pair
from skillopt_replay.tasks import Task
from skillopt_sleep.calibration.held_out import HeldOut, find_held_out
from skillopt_sleep.calibration.lives import live
from skillopt_sleep.calibration.noise import measure_floor
from skillopt_sleep.clock import now
from skillopt_sleep.errors import AppError
from skillopt_sleep.events import Event, Listener, ignore
from skillopt_sleep.night.arms import Arms
from skillopt_sleep.night.backends import open_backends, pick_target
from skillopt_sleep.night.bench import make_conditions, make_policy
from skillopt_sleep.night.identity import name_identity
from skillopt_sleep.night.measure import Conditions, make_scorer
from skillopt_sleep.night.roller import make_roller
from skillopt_sleep.night.rolls import Roller
from skillopt_sleep.noise import Calibration
from skillopt_sleep.paths import Paths
from skillopt_sleep.settings import Settings
from skillopt_sleep.store.calibrations import save_calibration
from skillopt_sleep.store.counts import count_clients
from skillopt_sleep.store.ledger import SqliteLedger
from skillopt_sleep.store.trials import begin_trial, end_trial

KIND = "calibration"
LIVES = 1000


async def calibrate(
    connection: sqlite3.Connection,
    paths: Paths,
    settings: Settings,
    env: Mapping[str, str],
    *,
    skill: str = "",
    tasks: int | None = None,
    repeats: int | None = None,
    nights: int | None = None,
    listen: Listener = ignore,
) -> Calibration:
    """Run held-out tasks with the skill in force on both sides, and store what came out.

    `tasks` are run at most for each skill (default: as many as a night takes), `repeats` times a side
    (default: as nights do). `nights` is how long the simulated candidates wait (default: as configured).
    Call it only while holding the lock; one that was cut off goes on. A ceiling ends it: what was measured
    until then counts. Raises NothingToDo without held-out tasks, AppError when every run was lost.
    """
    target = pick_target(settings, env, count_clients(connection))
    limit = tasks or settings.gate.tasks
    groups = find_held_out(connection, settings, env, target.agent, skill=skill, limit=limit)
    async with open_backends(settings, paths, env, target=target, listen=listen) as backends:
        conditions = make_conditions(settings, backends)
        if repeats:
            conditions = Conditions(
                repeats=repeats,
                concurrency=conditions.concurrency,
                weight=conditions.weight,
                timed=conditions.timed,
            )
        agent = backends.identity
        plan = [agent, conditions, [[g.skill, g.place.text, [t.id for t in g.tasks]] for g in groups]]
        trial = begin_trial(connection, KIND, plan)
        ledger = SqliteLedger(connection, trial, settings.ceilings)
        roll = make_roller(backends, ledger, settings)
        pairs, model, stopped = await _run_all(groups, roll, conditions, settings, listen)
    floor = measure_floor(pairs)
    if not floor.tasks:
        end_trial(connection, trial, KIND, {"stopped": stopped})
        raise AppError(
            "no task ran on both sides, so nothing is known", hint=stopped or "see skillopt-sleep doctor"
        )
    policy = make_policy(settings)
    a_night = min(settings.gate.tasks, max(floor.tasks, policy.min_tasks))
    waiting = nights or policy.max_nights
    runs = [(*p.incumbent, *p.candidate) for p in pairs if p.incumbent and p.candidate]
    listen(Event(stage="resample", detail=f"{LIVES} candidates that change nothing"))
    lives = live(
        runs,
        policy,
        repeats=conditions.repeats,
        tasks=a_night,
        nights=waiting,
        lives=LIVES,
        seed=settings.training.seed,
    )
    spent = ledger.spend()
    calibration = Calibration(
        id=trial,
        at=now(),
        identity=name_identity(agent, model),
        skills=tuple(group.skill for group in groups),
        mode=policy.mode,
        alpha=policy.alpha,
        tasks=floor.tasks,
        lost=floor.lost,
        repeats=conditions.repeats,
        effect=floor.effect,
        error=floor.error,
        differing=floor.differing,
        flips=floor.flips,
        lives=LIVES,
        nights=waiting,
        tasks_a_night=a_night,
        accepts=lives.accepts,
        mean_once=lives.mean_once,
        mean_ever=lives.mean_ever,
        stopped=stopped,
        cost_usd=spent.usd,
        tokens=spent.tokens,
    )
    save_calibration(connection, calibration)
    end_trial(connection, trial, KIND, calibration)
    return calibration


async def _run_all(
    groups: Sequence[HeldOut], roll: Roller, conditions: Conditions, settings: Settings, listen: Listener
) -> tuple[list[Pair], str, str]:
    """Return the pairs of all groups, the model that answered, and the ceiling that ended it."""
    pairs: list[Pair] = []
    stopped = model = ""
    total = sum(len(group.tasks) for group in groups)
    for group in groups:
        arms = Arms(
            group.incumbent,
            group.incumbent,
            roll,
            repeats=conditions.repeats,
            concurrency=conditions.concurrency,
            score=make_scorer(settings.gate.mode, conditions.weight),
            timed=conditions.timed,
            against_itself=True,
        )
        await run_tasks(arms, group.tasks, conditions)
        pairs += sorted(arms.pairs(), key=lambda pair: pair.task)
        model = model or arms.model
        stopped = arms.stopped
        listen(Event(stage=KIND, done=len(pairs), total=total, detail=group.skill))
        if stopped:
            break
    return pairs, model, stopped


async def run_tasks(arms: Arms, tasks: Sequence[Task], conditions: Conditions) -> None:
    """Run every task, a few at a time, until a ceiling ends it."""
    slots = asyncio.Semaphore(max(1, -(-conditions.concurrency // (2 * conditions.repeats))))

    async def run(task: Task) -> None:
        async with slots:
            if not arms.stopped:
                arms.keep(await arms.run(task))

    await asyncio.gather(*(run(task) for task in tasks))
