"""Edits known to be bad, put through all that stands between an optimizer and a proposal."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

import msgspec

from skillopt_gate.costs import find_excess
from skillopt_gate.verdicts import Decision, Policy
from skillopt_replay.rollouts import CheckResult, Outcome, Rollout, Score
from skillopt_replay.skills import Skill
from skillopt_replay.tasks import Task
from skillopt_sleep.calibration.bank import BadEdit, make_bad_edits
from skillopt_sleep.calibration.held_out import HeldOut, find_held_out
from skillopt_sleep.errors import NothingToDo
from skillopt_sleep.events import Event, Listener, ignore
from skillopt_sleep.night.backends import Backends, open_backends, pick_target
from skillopt_sleep.night.bench import make_conditions, make_policy
from skillopt_sleep.night.leaks import find_leaked
from skillopt_sleep.night.measure import Measurement, measure
from skillopt_sleep.night.roller import make_roller
from skillopt_sleep.night.rolls import Roller
from skillopt_sleep.night.structure import find_objections
from skillopt_sleep.paths import Paths
from skillopt_sleep.settings import Settings
from skillopt_sleep.store.candidates import read_carried
from skillopt_sleep.store.counts import count_clients
from skillopt_sleep.store.ledger import SqliteLedger
from skillopt_sleep.store.proposals import find_open
from skillopt_sleep.store.trials import begin_trial, end_trial
from skillopt_sleep.training.edits import apply_edits
from skillopt_sleep.training.evidence import citable, collect_failures
from skillopt_sleep.training.provenance import collect_sources, vouch
from skillopt_sleep.training.records import Edit

KIND = "bad-edits"


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one bad edit. `step` names what refused it: provenance, structure, leak, veto, evidence.

    `refused` is False when the gate would have accepted it: then `step` is "none".
    """

    skill: str
    kind: str
    refused: bool
    step: str
    reason: str


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """All bad edits of all skills. `stopped` names the ceiling that cut it short, if one did."""

    id: str
    mode: str
    examined: tuple[Examined, ...]
    skipped: tuple[str, ...]
    stopped: str = ""

    @property
    def let_through(self) -> list[Examined]:
        return [one for one in self.examined if not one.refused]


async def examine(
    connection: sqlite3.Connection,
    paths: Paths,
    settings: Settings,
    env: Mapping[str, str],
    *,
    skill: str = "",
    tasks: int | None = None,
    listen: Listener = ignore,
) -> Examination:
    """Make bad edits of each skill with held-out tasks and put them through provenance, structure and gate.

    They start from the live skill, or from the one that waits or is proposed where none is live. Nothing of
    it is kept but the spending: no evidence, no candidate. Raises NothingToDo when there is no such skill.
    """
    target = pick_target(settings, env, count_clients(connection))
    limit = tasks or settings.gate.tasks
    groups = find_held_out(connection, settings, env, target.agent, skill=skill, limit=limit)
    bases = [(group, _find_base(connection, group)) for group in groups]
    if not any(base for _, base in bases):
        raise NothingToDo(
            "there is no skill yet to make bad edits of", hint="a night learns one: skillopt-sleep run"
        )
    found: list[Examined] = []
    stopped = ""
    async with open_backends(settings, paths, env, target=target, listen=listen) as backends:
        plan = [backends.identity, [[g.skill, b.text if b else ""] for g, b in bases], limit]
        trial = begin_trial(connection, KIND, plan)
        roll = make_roller(backends, SqliteLedger(connection, trial, settings.ceilings), settings)
        for group, base in bases:
            for bad in _make(base, settings):
                listen(Event(stage=KIND, done=len(found), detail=f"{bad.kind} {group.skill}"))
                one, stopped = await _examine(group, base, bad, roll, settings, backends)
                found += one
                if stopped:
                    break
            if stopped:
                break
    listen(Event(stage=KIND, done=len(found), total=len(found)))
    result = Examination(
        id=trial,
        mode=settings.gate.mode,
        examined=tuple(found),
        skipped=tuple(group.skill for group, base in bases if base is None),
        stopped=stopped,
    )
    end_trial(connection, trial, KIND, result)
    return result


def _find_base(connection: sqlite3.Connection, group: HeldOut) -> Skill | None:
    if group.incumbent:
        return group.incumbent
    proposal = find_open(connection, group.place.live)
    if proposal:
        return Skill(group.skill, proposal.text)
    carried = read_carried(connection, group.place.live)
    return carried.skill if carried else None


def _make(base: Skill | None, settings: Settings) -> list[BadEdit]:
    return make_bad_edits(base, max_tokens=settings.training.max_skill_tokens) if base else []


async def _examine(
    group: HeldOut,
    base: Skill | None,
    bad: BadEdit,
    roll: Roller,
    settings: Settings,
    backends: Backends,
) -> tuple[list[Examined], str]:
    """Return what became of the edit, in a list that is empty when a ceiling left it undecided."""
    assert base is not None  # noqa: S101 - bad edits are made of a skill

    def tell(step: str, reason: str, *, refused: bool = True) -> list[Examined]:
        return [Examined(skill=group.skill, kind=bad.kind, refused=refused, step=step, reason=reason)]

    edits, objection = claim(bad, group.train)
    if not edits:
        return tell("provenance", objection), ""
    budget = settings.training.max_skill_tokens
    candidate, results = apply_edits(base, edits, limit=len(edits), max_tokens=budget)
    if candidate == base:
        return tell("structure", "; ".join(dict.fromkeys(result.detail for result in results))), ""
    objections = find_objections(candidate, base, max_tokens=budget)
    leaks = find_leaked(candidate, base, group.tasks, group.train)
    policy = msgspec.structs.replace(make_policy(settings), control="candidate")
    measured = await measure(
        group.tasks,
        base,
        candidate,
        roll,
        policy=policy,
        identity=backends.identity,
        problems=[*objections, *leaks],
        conditions=make_conditions(settings, backends),
    )
    if measured.stopped:
        return [], measured.stopped
    verdict = measured.verdict
    if verdict.decision is Decision.ACCEPT:
        return tell("none", verdict.reason, refused=False), ""
    return tell(_name_step(measured, objections, leaks, policy), verdict.reason), ""


def _name_step(measured: Measurement, objections: Sequence[str], leaks: Sequence[str], policy: Policy) -> str:
    if objections:
        return "structure"
    if leaks:
        return "leak"
    verdict = measured.verdict
    return "veto" if verdict.broken or find_excess(verdict.cost, verdict.time, policy) else "evidence"


def claim(bad: BadEdit, train: Sequence[Task]) -> tuple[tuple[Edit, ...], str]:
    """Return the edits that get past provenance when they falsely cite all the user said, and the objection.

    The runs they claim to rest on failed every check; where the edit came from outside, its text stands in
    them as what a tool or page said.
    """
    runs = [(task, _failed(task, bad.untyped)) for task in train]
    failures = collect_failures(runs)
    cited = tuple(citable(failures))
    edits = [msgspec.structs.replace(edit, because=cited) for edit in bad.edits]
    kept, dropped = vouch(edits, failures, collect_sources(runs))
    return kept, "; ".join(dict.fromkeys(result.detail for result in dropped))


def _failed(task: Task, said: str) -> Rollout:
    results = tuple(CheckResult(passed=False, detail="") for _ in task.checks)
    return Rollout(
        task=task.id,
        skill="",
        agent="",
        model="",
        outcome=Outcome.FINISHED,
        answer=said,
        score=Score(hard=0.0, soft=0.0, results=results),
    )
