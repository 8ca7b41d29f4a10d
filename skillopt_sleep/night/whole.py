"""A whole night, from transcripts to proposals."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from skillopt_replay.errors import Unavailable
from skillopt_replay.folders import clear_leftovers
from skillopt_replay.models.registry import check_model
from skillopt_sleep.agents import AGENTS, CHAT
from skillopt_sleep.clients import find_home, read_roots
from skillopt_sleep.clock import today
from skillopt_sleep.corrections import watch_applied
from skillopt_sleep.errors import NeedsDecision
from skillopt_sleep.events import NOTE, Event, Listener, ignore
from skillopt_sleep.night.backends import open_backends, pick_target, suits
from skillopt_sleep.night.choosing import check_name
from skillopt_sleep.night.forecast import describe_forecast, make_forecast
from skillopt_sleep.night.harvesting import update_index
from skillopt_sleep.night.learning import find_trainings
from skillopt_sleep.night.lineup import Lineup, name_lineup
from skillopt_sleep.night.mining import keep_mined, mine_tasks
from skillopt_sleep.night.places import make_locator
from skillopt_sleep.night.plan import make_plan
from skillopt_sleep.night.planned import Forecast, Plan
from skillopt_sleep.night.renewal import renew
from skillopt_sleep.night.report import NightReport, SkillReport
from skillopt_sleep.night.run import run_night
from skillopt_sleep.night.workbenches import check_agent, make_prices
from skillopt_sleep.paths import Paths
from skillopt_sleep.review.wording import count, say_nothing_recurs
from skillopt_sleep.settings import Settings
from skillopt_sleep.store.candidates import is_settled, read_carried, read_rejected_edits
from skillopt_sleep.store.counts import count_clients, count_sessions
from skillopt_sleep.store.memories import read_learned
from skillopt_sleep.store.mined import read_repositories
from skillopt_sleep.store.nights import begin_night, close_night, find_unfinished
from skillopt_sleep.store.proposals import find_open
from skillopt_sleep.store.rulings import find_last_identity
from skillopt_sleep.store.spending import read_month
from skillopt_sleep.store.splits import read_splits
from skillopt_sleep.store.typical import read_typical
from skillopt_sleep.tending import tend
from skillopt_staging import StagingError, check_git


async def whole_night(
    connection: sqlite3.Connection,
    paths: Paths,
    settings: Settings,
    env: Mapping[str, str],
    *,
    only: str = "",
    listen: Listener = ignore,
) -> NightReport:
    """Harvest, mine, plan and work; `only` is the one skill to work on. A killed night keeps to its own plan.

    Call it only while holding the lock: what lies among the replays is taken for a killed run's, and removed.
    When nothing can be worked on, no night is begun and the report's state is "nothing". Raises NeedsDecision
    when `only` is not what a killed night works on, Unavailable without an agent, StagingError without a git
    that can stage.
    """
    check_name(settings)
    # Clones of projects, and copies of a sign-in, that a killed run could not remove.
    with contextlib.suppress(OSError):
        clear_leftovers(paths.replays, older_than=0)
    _harvest(connection, settings, env, listen, paths.snapshots)
    target = pick_target(settings, env, count_clients(connection))
    unfinished = _find_unfinished(connection)
    if only and unfinished and {skill.skill for skill in unfinished[1].skills} != {only}:
        raise NeedsDecision(
            f"night {unfinished[0]} was cut off, and goes on before one for {only} alone can begin",
            hint="to go on with it: skillopt-sleep run",
        )
    for told in tend(connection, paths):
        listen(Event(stage=NOTE, detail=told))
    plan = (
        unfinished[1]
        if unfinished
        else plan_night(connection, settings, env, target.agent, listen, snapshots=paths.snapshots, only=only)
    )
    if not plan.skills:
        return _make_report(plan, "nothing", settings, _say_nothing(connection, plan, only))
    # What is accepted becomes a branch: told now, not once everything is paid for.
    check_git()
    async with open_backends(settings, paths, env, target=target, listen=listen) as backends:
        if not unfinished:
            agent = backends.identity
            plan = renew(plan, agent=agent, answering=find_last_identity(connection))
            if not plan.skills:
                return _make_report(plan, "nothing", settings)
            forecast = _forecast(
                connection, settings, plan, backends.executor.slots, unpriced=backends.list_unpriced()
            )
            listen(Event(stage=NOTE, detail=describe_forecast(forecast)))
            plan = msgspec.structs.replace(plan, forecast=forecast)
        night = unfinished[0] if unfinished else begin_night(connection, plan, plan.splits).id
        if not unfinished:
            # What a night of this name wrote, of which the database knows no more, is none of this one's.
            shutil.rmtree(find_trainings(paths, night), ignore_errors=True)
        return await run_night(connection, paths, settings, backends, night, plan, listen=listen)


def _forecast(
    connection: sqlite3.Connection,
    settings: Settings,
    plan: Plan,
    slots: int,
    *,
    unpriced: Collection[str] = (),
) -> Forecast:
    """Return it; the calls of late may be another's, so those of `unpriced` kinds tell no dollars."""
    typical = {kind: read_typical(connection, kind) for kind in ("rollout", "optimizer", "judge")}
    for kind in unpriced:
        if lately := typical[kind]:
            typical[kind] = msgspec.structs.replace(lately, usd=None)
    return make_forecast(plan, settings, typical, slots=slots, month_usd=read_month(connection))


def _harvest(
    connection: sqlite3.Connection,
    settings: Settings,
    env: Mapping[str, str],
    listen: Listener,
    snapshots: Path | None = None,
) -> None:
    update_index(
        connection,
        env,
        snapshots=snapshots,
        listen=listen,
        clients=settings.harvest.clients,
        roots=read_roots(settings.harvest.roots, find_home(env)),
    )


def _find_unfinished(connection: sqlite3.Connection) -> tuple[str, Plan] | None:
    """Return the night to go on with and its plan; one whose plan cannot be read any more is closed."""
    while night := find_unfinished(connection):
        plan = _read_plan(night.plan or b"")
        if plan:
            return night.id, plan
        note = "another version of this program planned it, so it cannot go on"
        close_night(connection, night.id, "failed", {"notes": [note]})
    return None


def _read_plan(data: bytes) -> Plan | None:
    try:
        return msgspec.msgpack.decode(data, type=Plan)
    except msgspec.DecodeError:
        return None


def dry_night(
    connection: sqlite3.Connection,
    settings: Settings,
    env: Mapping[str, str],
    *,
    models: Path,
    only: str = "",
    listen: Listener = ignore,
) -> NightReport:
    """Harvest, mine and plan; call no model, begin no night, stage nothing.

    `models` is the folder where fetched models lie: what is missing there is told.
    """
    notes: tuple[str, ...] = ()
    lineup = None
    _harvest(connection, settings, env, listen)
    try:
        target = pick_target(settings, env, count_clients(connection)).agent
    except Unavailable as error:
        target = AGENTS[0].name
        notes = (f"{error.message}: this is what a night with one would work on", *_say_hint(error))
    else:
        lineup = name_lineup(target, settings, env, models)
        notes = (*_say_trouble(target, lineup, settings, env), *lineup.notes)
    unfinished = find_unfinished(connection)
    night = unfinished.id if unfinished and _read_plan(unfinished.plan or b"") else ""
    if unfinished and night:
        notes = (*notes, f"night {unfinished.id} was cut off: the next run goes on with it first")
    plan = renew(plan_night(connection, settings, env, target, listen, only=only), agent=None)
    notes = (*notes, *_say_nothing(connection, plan, only))
    forecast = _forecast(connection, settings, plan, settings.replay.concurrency) if plan.skills else None
    report = _make_report(plan, "planned", settings, notes)
    report = msgspec.structs.replace(report, unfinished=night, forecast=forecast)
    if lineup is None:
        return report
    return msgspec.structs.replace(
        report, target=lineup.target, optimizer=lineup.optimizer, judge=lineup.judge
    )


def _say_trouble(target: str, lineup: Lineup, settings: Settings, env: Mapping[str, str]) -> tuple[str, ...]:
    try:
        check_git()
        check_agent(target, settings, env)
        for spec in lineup.models:
            check_model(spec, env=env, prices=make_prices(settings))
    except (Unavailable, StagingError) as error:
        said = f"no night could begin now: {error.message}; this is what one would work on"
        return (said, *_say_hint(error))
    return ()


def _say_nothing(connection: sqlite3.Connection, plan: Plan, only: str) -> tuple[str, ...]:
    """Say why not one task was found to plan for, if so."""
    if plan.skills or plan.skipped:
        return ()
    if only:
        return (f"no task is of the skill {only}",)
    return (say_nothing_recurs(count_sessions(connection), harvested=True),)


def _say_hint(error: Unavailable | StagingError) -> tuple[str, ...]:
    return (f"hint: {error.hint}",) if error.hint else ()


def plan_night(
    connection: sqlite3.Connection,
    settings: Settings,
    env: Mapping[str, str],
    target: str,
    listen: Listener,
    snapshots: Path | None = None,
    only: str = "",
) -> Plan:
    """Return what a night would work on now, from what was harvested; `only` is the one skill to plan for."""
    listen(Event(stage="mine"))
    tasks = mine_tasks(connection, settings, env)
    if snapshots is not None:
        keep_mined(connection, snapshots, tasks, listen=listen)
        for told in watch_applied(connection, tasks):
            listen(Event(stage=NOTE, detail=told))
    listen(Event(stage="mine", done=len(tasks), total=len(tasks), detail=count(len(tasks), "task")))
    return make_plan(
        [task for task in tasks if not only or task.skill == only],
        read_splits(connection),
        settings,
        seed=today(),
        locate=make_locator(env, repositories=read_repositories(connection)),
        waiting=lambda live: read_carried(connection, live),
        rejected=lambda live: read_rejected_edits(connection, live),
        learned=lambda live: read_learned(connection, live),
        is_open=lambda live: find_open(connection, live) is not None,
        is_settled=lambda live, base, train: is_settled(connection, live, base, train),
        suits=lambda task: suits(target, task, judged=bool(settings.judge.model)),
        is_there=lambda task: target == CHAT or not task.project or Path(task.project).is_dir(),
    )


def _make_report(plan: Plan, state: str, settings: Settings, notes: tuple[str, ...] = ()) -> NightReport:
    return NightReport(
        night="",
        state=state,
        target="",
        optimizer="",
        sandbox="",
        tasks=sum(len(skill.train) + len(skill.gate) for skill in plan.skills),
        skills=tuple(
            SkillReport(
                skill=skill.skill,
                title=skill.title,
                note=f"would learn from {count(len(skill.train), 'task')}"
                f" and be judged on {len(skill.gate)} others",
            )
            for skill in plan.skills
        ),
        skipped=plan.skipped,
        notes=notes,
        rollouts=0,
        tokens=0,
        cost_usd=0.0,
        seconds=0.0,
        mode=settings.gate.mode,
        control=settings.gate.control,
    )
