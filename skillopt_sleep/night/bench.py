"""What all skills of a night are worked on with, and how the gate is asked on it."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from skillopt_gate.family import level_for
from skillopt_gate.verdicts import Policy
from skillopt_replay.skills import Skill
from skillopt_sleep.events import Listener
from skillopt_sleep.night.backends import Backends
from skillopt_sleep.night.leaks import find_leaked
from skillopt_sleep.night.measure import Conditions, Measurement, measure
from skillopt_sleep.night.planned import SkillPlan
from skillopt_sleep.night.rolls import Roller
from skillopt_sleep.night.structure import find_objections
from skillopt_sleep.paths import Paths
from skillopt_sleep.settings import Settings
from skillopt_sleep.store.candidates import Carried
from skillopt_sleep.store.family import count_in, read_family
from skillopt_sleep.store.ledger import SqliteLedger
from skillopt_sleep.store.looks import count_look
from skillopt_sleep.store.rulings import Ruled, save_ruling


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


def make_policy(settings: Settings) -> Policy:
    """Return the gate's policy as configured."""
    gate = settings.gate
    return Policy(
        mode=gate.mode,
        alpha=gate.alpha,
        min_effect=gate.min_effect,
        min_tasks=gate.min_tasks,
        max_nights=gate.max_nights,
        control=gate.control,
        family_alpha=gate.family_alpha,
        max_cost_ratio=gate.max_cost_ratio,
        max_time_ratio=gate.max_time_ratio,
    )


def make_conditions(settings: Settings, backends: Backends) -> Conditions:
    """Return how tasks are run and compared, as configured."""
    return Conditions(
        repeats=settings.replay.repeats,
        concurrency=backends.executor.slots,
        weight=settings.gate.soft_weight,
        timed=backends.agent.needs_workspace,
    )


async def measure_candidate(
    plan: SkillPlan, incumbent: Skill | None, carried: Carried, bench: Bench
) -> Measurement:
    """Have the gate rule about the candidate, and write down what it said.

    The candidate is counted among all once it runs, and the look at the held-out tasks as well.
    """
    policy = make_policy(bench.settings)
    budget = bench.settings.training.max_skill_tokens
    rules = [edit.content for edit in carried.edits]
    problems = find_objections(carried.skill, incumbent, max_tokens=budget, rules=rules)
    problems += find_leaked(carried.skill, incumbent, plan.gate, plan.train, plan.hidden)

    def find_level(identity: str) -> float:
        place = count_in(bench.connection, carried.id, identity)
        return level_for(read_family(bench.connection), place, alpha=policy.family_alpha)

    measured = await measure(
        plan.gate,
        incumbent,
        carried.skill,
        bench.roll,
        policy=policy,
        identity=bench.backends.identity,
        evidence=carried.evidence,
        aside=carried.aside,
        renewed=plan.renewed,
        problems=problems,
        candidates=carried.rivals,
        family_level=find_level,
        conditions=make_conditions(bench.settings, bench.backends),
        listen=bench.listen,
    )
    _write_down(plan, carried, measured, bench)
    return measured


def find_number(bench: Bench, carried: Carried, measured: Measurement) -> int | None:
    """Return the candidate's place among all, None when it never ran."""
    if not any(task.incumbent or task.candidate for task in measured.tasks):
        return None
    return count_in(bench.connection, carried.id, measured.ruling.identity)


def _write_down(plan: SkillPlan, carried: Carried, measured: Measurement, bench: Bench) -> None:
    ruling = measured.ruling
    number = find_number(bench, carried, measured)
    new = save_ruling(
        bench.connection,
        Ruled(
            night=bench.night,
            skill=plan.skill,
            place=plan.place.live,
            candidate=carried.id,
            digest=ruling.candidate,
            base=ruling.base,
            identity=ruling.identity,
            policy=ruling.policy,
            verdict=ruling.verdict,
            candidates=carried.rivals,
            number=number,
            restarted=measured.restarted,
            sealed=plan.sealed,
        ),
    )
    if new and number is not None:
        count_look(bench.connection, plan.place.live)
