"""One skill's night: train a candidate (or go on with one that waits), measure it, act on the verdict."""

from __future__ import annotations

import difflib
import hashlib
import sqlite3
from dataclasses import dataclass

import msgspec

from skillopt_gate.verdicts import Decision, Policy, Verdict
from skillopt_replay.skills import Skill, find_problems
from skillopt_replay.tasks import Origin
from skillopt_sleep.config import Settings
from skillopt_sleep.events import Event, Listener
from skillopt_sleep.night.backends import Backends
from skillopt_sleep.night.leaks import find_leaked
from skillopt_sleep.night.measure import Measurement, measure
from skillopt_sleep.night.plan import SkillPlan
from skillopt_sleep.night.report import SkillReport
from skillopt_sleep.night.stage import stage_candidate
from skillopt_sleep.paths import Paths
from skillopt_sleep.records import EditEvidence, Note, TaskEvidence
from skillopt_sleep.store.candidates import (
    Carried,
    retire,
    save_carried,
    save_rejected_edits,
    save_settled,
)
from skillopt_sleep.store.database import transaction
from skillopt_sleep.store.ledger import SqliteLedger
from skillopt_sleep.training.describe import describe
from skillopt_sleep.training.epoch import train
from skillopt_sleep.training.records import Candidate, Roller, TrainingConfig
from skillopt_staging.errors import Busy, StagingError


@dataclass(frozen=True)
class Bench:
    """What all skills of a night are worked on with."""

    connection: sqlite3.Connection
    night: str
    paths: Paths
    settings: Settings
    backends: Backends
    ledger: SqliteLedger
    roll: Roller
    listen: Listener


async def work_on(plan: SkillPlan, bench: Bench) -> tuple[SkillReport, str]:
    """Return the skill's report, and the ceiling that cut it short ("" when none did).

    Raises CeilingReached when a ceiling stops the training, before there is anything to judge.
    """
    report = SkillReport(skill=plan.skill, title=plan.title, note="")
    incumbent = Skill(plan.skill, plan.place.text) if plan.place.text else None
    carried = plan.carried
    if carried and carried.base != plan.base:
        retire(bench.connection, carried.id, "outdated")
        carried = None
    if carried is None:
        candidate, report = await _train(plan, incumbent, bench, report)
        if candidate is None:
            return report, ""
        carried = _carry(plan, candidate)
    measurement = await _measure(plan, incumbent, carried, bench)
    return _conclude(plan, carried, measurement, bench, report), measurement.stopped


async def _train(
    plan: SkillPlan, incumbent: Skill | None, bench: Bench, report: SkillReport
) -> tuple[Candidate | None, SkillReport]:
    settings = bench.settings.training
    result = await train(
        incumbent,
        name=plan.skill,
        description=describe(plan.title, plan.train),
        tasks=plan.train,
        roll=bench.roll,
        optimizer=bench.backends.optimizer,
        ledger=bench.ledger,
        config=TrainingConfig(
            seed=settings.seed,
            learning_rate=settings.learning_rate,
            minibatch_size=settings.minibatch_size,
            candidates=settings.candidates,
            max_skill_tokens=settings.max_skill_tokens,
            concurrency=bench.settings.replay.concurrency,
        ),
        rejected=plan.rejected,
        on_event=lambda stage, done, total: bench.listen(
            Event(stage=stage, done=done, total=total, detail=plan.skill)
        ),
    )
    problems = f" ({'; '.join(result.problems[:2])})" if result.problems and not result.candidates else ""
    report = msgspec.structs.replace(report, note=result.note + problems, train_before=result.incumbent_hard)
    if not result.candidates:
        if result.incumbent_hard >= 1.0 and result.valid == len(plan.train):
            save_settled(bench.connection, plan.place.live, plan.base, [task.id for task in plan.train])
        return None, report
    best = result.candidates[0]
    return best, msgspec.structs.replace(report, train_before=best.base_hard, train_after=best.train_hard)


def _carry(plan: SkillPlan, candidate: Candidate) -> Carried:
    quotes = {(o.session, o.turn): o for task in plan.train for o in task.corrections}
    edits = tuple(
        EditEvidence(
            op=result.edit.op,
            content=result.edit.content,
            target=result.edit.target,
            sessions=result.edit.sessions,
            quotes=_quotes(result.edit.sessions, quotes),
        )
        for result in candidate.edits
        if result.applied
    )
    name = hashlib.sha256(f"{plan.place.live}\n{plan.base}\n{candidate.skill.text}".encode()).hexdigest()[:16]
    return Carried(
        id=name,
        place=plan.place.live,
        skill=candidate.skill,
        base=plan.base,
        edits=edits,
        evidence=None,
        wealth=(),
        tasks=(),
        reasoning=candidate.reasoning,
    )


def _quotes(sessions: tuple[str, ...], quotes: dict[tuple[str, int], Origin]) -> tuple[Origin, ...]:
    return tuple(origin for (session, _), origin in quotes.items() if session in sessions)


async def _measure(plan: SkillPlan, incumbent: Skill | None, carried: Carried, bench: Bench) -> Measurement:
    problems = find_problems(carried.skill)
    problems += find_leaked(carried.skill, incumbent, plan.gate, plan.train)
    return await measure(
        plan.gate,
        incumbent,
        carried.skill,
        bench.roll,
        policy=make_policy(bench.settings),
        identity=bench.backends.agent.identity,
        evidence=carried.evidence,
        problems=problems,
        repeats=bench.settings.replay.repeats,
        concurrency=bench.settings.replay.concurrency,
        listen=bench.listen,
    )


def _conclude(
    plan: SkillPlan, carried: Carried, measured: Measurement, bench: Bench, report: SkillReport
) -> SkillReport:
    verdict = measured.verdict
    grown = msgspec.structs.replace(
        carried,
        evidence=measured.evidence,
        wealth=(*carried.wealth, verdict.wealth),
        tasks=_merge_tasks(carried, measured),
    )
    report = msgspec.structs.replace(
        report,
        verdict=verdict,
        note=report.note or "went on with last night's candidate",
        diff=_diff(plan, grown.skill),
        runs=measured.notes,
    )
    connection = bench.connection
    if verdict.decision is Decision.NOT_ENOUGH:
        save_carried(connection, grown)
        return report
    if verdict.decision is Decision.REJECT:
        with transaction(connection):
            retire(connection, grown.id, "rejected")
            save_rejected_edits(
                connection, plan.place.live, [e.content for e in grown.edits], verdict.reason, verdict.effect
            )
        return report
    # Until it is staged it waits, to be measured once more: when git refuses, it need not be learned anew.
    save_carried(connection, carried)
    note = _make_note(plan, grown, verdict, bench)
    try:
        proposal = stage_candidate(connection, bench.paths, plan, grown.skill.text, note)
    except Busy:
        raise
    except StagingError as error:
        return msgspec.structs.replace(report, note=f"accepted, but it cannot be staged: {error.message}")
    retire(connection, grown.id, "accepted")
    return msgspec.structs.replace(report, proposal=proposal.id)


def _merge_tasks(carried: Carried, measured: Measurement) -> tuple[TaskEvidence, ...]:
    fresh = {task.task for task in measured.tasks if task.change != "not run"}
    return tuple(t for t in carried.tasks if t.task not in fresh) + measured.tasks


def make_policy(settings: Settings) -> Policy:
    """Return the gate's policy as configured."""
    gate = settings.gate
    return Policy(
        mode=gate.mode,
        alpha=gate.alpha,
        min_effect=gate.min_effect,
        min_tasks=gate.min_tasks,
        max_nights=gate.max_nights,
    )


def _make_note(plan: SkillPlan, carried: Carried, verdict: Verdict, bench: Bench) -> Note:
    return Note(
        night=bench.night,
        skill=plan.skill,
        client=plan.client,
        verdict=verdict,
        policy=make_policy(bench.settings),
        tasks=carried.tasks,
        edits=carried.edits,
        usage=bench.ledger.usage(),
        wealth=carried.wealth,
        target=bench.backends.agent.identity,
        optimizer=bench.backends.optimizer.identity,
        sandbox=bench.backends.sandbox.name,
        reasoning=carried.reasoning,
    )


def _diff(plan: SkillPlan, skill: Skill) -> str:
    name = f"{plan.skill}/SKILL.md"
    return "".join(
        difflib.unified_diff(
            plan.place.text.splitlines(keepends=True),
            skill.text.splitlines(keepends=True),
            f"a/{name}" if plan.place.text else "/dev/null",
            f"b/{name}",
        )
    )
