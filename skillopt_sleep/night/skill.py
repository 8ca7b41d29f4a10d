"""One skill's night: train a candidate (or go on with one that waits), measure it, act on the verdict."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import msgspec

from skillopt_gate.verdicts import Decision
from skillopt_replay.skills import Skill
from skillopt_sleep.night.bench import Bench, find_number, measure_candidate
from skillopt_sleep.night.carrying import carry, grow
from skillopt_sleep.night.learning import teach
from skillopt_sleep.night.measure import Measurement
from skillopt_sleep.night.planned import SkillPlan
from skillopt_sleep.night.report import SkillReport
from skillopt_sleep.night.retries import Known, recall
from skillopt_sleep.night.stage import stage_candidate
from skillopt_sleep.noise import say_noise
from skillopt_sleep.records import Note
from skillopt_sleep.store.calibrations import find_calibration
from skillopt_sleep.store.candidates import (
    Carried,
    make_rejected,
    retire,
    save_carried,
    save_rejected_edits,
    save_settled,
)
from skillopt_sleep.store.database import transaction
from skillopt_sleep.store.family import note_accepted
from skillopt_sleep.store.looks import read_looks
from skillopt_staging.errors import Busy, StagingError


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
        waiting, report = await _train(plan, bench, report)
    else:
        waiting = [carried]
    if not waiting:
        return report, ""
    measured: list[tuple[Carried, Measurement]] = []
    for one in waiting:
        measured.append((one, await measure_candidate(plan, incumbent, one, bench)))
        if measured[-1][1].stopped:
            break
    best, others = _choose(measured)
    for other, measurement in others:
        _turn_down(plan, other, measurement, bench)
    report = _conclude(plan, *best, bench, report)
    return _mention(report, others), best[1].stopped or measured[-1][1].stopped


_ORDER = (Decision.ACCEPT, Decision.NOT_ENOUGH, Decision.REJECT)
_Measured = tuple[Carried, Measurement]


def _choose(measured: Sequence[_Measured]) -> tuple[_Measured, list[_Measured]]:
    """Return the candidate to go on with, accepted before undecided and then by evidence, and the others."""
    ranked = sorted(measured, key=lambda one: (_ORDER.index(one[1].verdict.decision), -one[1].verdict.wealth))
    return ranked[0], ranked[1:]


def _turn_down(plan: SkillPlan, carried: Carried, measured: Measurement, bench: Bench) -> None:
    verdict = measured.verdict
    rejected = verdict.decision is Decision.REJECT
    with transaction(bench.connection):
        save_carried(bench.connection, grow(carried, measured))
        retire(bench.connection, carried.id, "rejected" if rejected else "passed over")
        if rejected:
            edits = make_rejected(carried.edits, verdict.reason, effect=verdict.effect)
            save_rejected_edits(bench.connection, plan.place.live, edits)


def _mention(report: SkillReport, others: Sequence[_Measured]) -> SkillReport:
    said = "; ".join(measurement.verdict.reason for _, measurement in others)
    return msgspec.structs.replace(report, note=f"{report.note}; also judged: {said}") if said else report


async def _train(plan: SkillPlan, bench: Bench, report: SkillReport) -> tuple[list[Carried], SkillReport]:
    lesson = await teach(plan, bench)
    report = msgspec.structs.replace(report, note=lesson.note, train_before=lesson.before)
    if lesson.settled:
        save_settled(bench.connection, plan.place.live, plan.base, [task.id for task in plan.train])
    if not lesson.candidates:
        return [], report
    best = lesson.candidates[0]
    if best.raced:
        report = msgspec.structs.replace(report, train_before=best.base_hard, train_after=best.train_hard)
    rivals = len(lesson.candidates)
    recalled = [_recall(carry(plan, one, rivals=rivals), bench).carried for one in lesson.candidates]
    return [one for one in recalled if one], report


def _recall(proposed: Carried, bench: Bench) -> Known:
    return recall(
        bench.connection,
        proposed,
        night=bench.night,
        agent=bench.backends.agent.identity,
        mode=bench.settings.gate.mode,
    )


def _conclude(
    plan: SkillPlan, carried: Carried, measured: Measurement, bench: Bench, report: SkillReport
) -> SkillReport:
    verdict = measured.verdict
    grown = grow(carried, measured)
    seen = read_looks(bench.connection, plan.place.live)
    identity = measured.ruling.identity
    noise = say_noise(find_calibration(bench.connection, identity, plan.skill), identity)
    report = msgspec.structs.replace(
        report,
        verdict=verdict,
        note=report.note or "went on with last night's candidate",
        diff=_diff(plan, grown.skill),
        runs=measured.notes,
        restarted=measured.restarted,
        looks=seen.looks.gate,
        sealed=plan.sealed,
        noise=noise,
    )
    connection = bench.connection
    if verdict.decision is Decision.NOT_ENOUGH:
        save_carried(connection, grown)
        return report
    if verdict.decision is Decision.REJECT:
        with transaction(connection):
            retire(connection, grown.id, "rejected")
            edits = make_rejected(grown.edits, verdict.reason, effect=verdict.effect)
            save_rejected_edits(connection, plan.place.live, edits)
        return report
    # Until it is staged it waits, to be measured once more: when git refuses, it need not be learned anew.
    save_carried(connection, carried)
    note = _make_note(plan, grown, measured, bench, looks=seen.looks.gate, noise=noise)
    try:
        proposal = stage_candidate(connection, bench.paths, plan, grown.skill.text, note, measured.ruling)
    except Busy:
        raise
    except StagingError as error:
        return msgspec.structs.replace(report, note=f"accepted, but it cannot be staged: {error.message}")
    number = find_number(bench, carried, measured)
    with transaction(connection):
        retire(connection, grown.id, "accepted")
        if number is not None:
            note_accepted(connection, number)
    return msgspec.structs.replace(report, proposal=proposal.id)


def _make_note(
    plan: SkillPlan, carried: Carried, measured: Measurement, bench: Bench, *, looks: int, noise: str
) -> Note:
    return Note(
        night=bench.night,
        skill=plan.skill,
        client=plan.client,
        verdict=measured.verdict,
        policy=measured.ruling.policy,
        tasks=carried.tasks,
        edits=carried.edits,
        usage=bench.ledger.usage(),
        wealth=carried.wealth,
        target=measured.ruling.identity,
        optimizer=bench.backends.optimizer.identity,
        sandbox=bench.backends.sandbox.name,
        reasoning=carried.reasoning,
        looks=looks,
        noise=noise,
        sealed=plan.sealed,
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
