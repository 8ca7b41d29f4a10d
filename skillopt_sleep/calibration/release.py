"""The one look at a skill's sealed tasks, when its proposal is about to be applied."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

import msgspec

from skillopt_gate.exact import sign_flip_test
from skillopt_gate.interval import bootstrap_interval
from skillopt_gate.pairs import compare, count
from skillopt_gate.sealed import SealBroken, open_sealed
from skillopt_gate.split import fingerprint
from skillopt_gate.standing import seeded_by
from skillopt_replay.skills import Skill
from skillopt_sleep.calibration.calibrate import run_tasks
from skillopt_sleep.calibration.held_out import HeldOut, find_held_out
from skillopt_sleep.errors import NeedsDecision, NothingToDo
from skillopt_sleep.events import Event, Listener, ignore
from skillopt_sleep.night.arms import Arms
from skillopt_sleep.night.backends import open_backends, pick_target
from skillopt_sleep.night.bench import make_conditions
from skillopt_sleep.night.identity import name_identity
from skillopt_sleep.night.measure import make_scorer
from skillopt_sleep.night.roller import make_roller
from skillopt_sleep.paths import Paths
from skillopt_sleep.records import Proposal
from skillopt_sleep.settings import Settings
from skillopt_sleep.store.counts import count_clients
from skillopt_sleep.store.database import transaction
from skillopt_sleep.store.ledger import SqliteLedger
from skillopt_sleep.store.looks import Seen, read_looks, save_looks
from skillopt_sleep.store.trials import begin_trial, end_trial, is_running

KIND = "release"


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """How a proposal did on the sealed tasks: differences of proposed minus replaced, over `n` tasks.

    `p_value` is the exact one-sided test of this one look; `lost` tasks lack a run on a side. `looks` is how
    often the skill's gate tasks had been looked at by then.
    """

    proposal: str
    mode: str
    identity: str
    n: int
    lost: int
    wins: int
    losses: int
    ties: int
    effect: float
    interval: tuple[float, float]
    p_value: float
    looks: int
    stopped: str = ""


async def release(
    connection: sqlite3.Connection,
    paths: Paths,
    settings: Settings,
    env: Mapping[str, str],
    proposal: Proposal,
    *,
    listen: Listener = ignore,
) -> Release:
    """Run the sealed tasks with what is live and with what is proposed, once and for all.

    The look is counted before anything runs. One that was cut off, or stopped by a ceiling, goes on where it
    was when it is called again. Raises NothingToDo without sealed tasks, NeedsDecision when they were opened
    before.
    """
    target = pick_target(settings, env, count_clients(connection))
    groups = find_held_out(connection, settings, env, target.agent, side="test", skill=proposal.skill)
    sealed = _of(groups, proposal)
    seen = read_looks(connection, proposal.staged.live)
    names = [task.id for task in sealed.tasks if task.id not in seen.opened]
    plan = [proposal.id, proposal.text, sorted(task.id for task in sealed.tasks)]
    if not is_running(connection, KIND, plan):
        seen = _break_seal(seen, names)
    async with open_backends(settings, paths, env, target=target, listen=listen) as backends:
        with transaction(connection):
            trial = begin_trial(connection, KIND, plan)
            save_looks(connection, proposal.staged.live, seen)
        ledger = SqliteLedger(connection, trial, settings.ceilings)
        conditions = make_conditions(settings, backends)
        arms = Arms(
            Skill(proposal.skill, proposal.base_text) if proposal.base_text else None,
            Skill(proposal.skill, proposal.text),
            make_roller(backends, ledger, settings),
            repeats=conditions.repeats,
            concurrency=conditions.concurrency,
            score=make_scorer(settings.gate.mode, conditions.weight),
        )
        tasks = [task for task in sealed.tasks if task.id in seen.last]
        listen(Event(stage=KIND, done=0, total=len(tasks), detail=proposal.skill))
        await run_tasks(arms, tasks, conditions)
        listen(Event(stage=KIND, done=len(tasks), total=len(tasks), detail=proposal.skill))
        agent = backends.identity
    differences, missing = compare(arms.pairs())
    values = [one.value for one in differences]
    wins, losses, ties = count(values)
    found = Release(
        proposal=proposal.id,
        mode=settings.gate.mode,
        identity=name_identity(agent, arms.model),
        n=len(values),
        lost=len(missing) + len(tasks) - len(arms.pairs()),
        wins=wins,
        losses=losses,
        ties=ties,
        effect=float(sum(values) / len(values)) if values else 0.0,
        interval=bootstrap_interval(values, rng=seeded_by(values)),
        p_value=float(sign_flip_test(values, rng=seeded_by(values))),
        looks=seen.looks.gate,
        stopped=arms.stopped,
    )
    if not arms.stopped:
        end_trial(connection, trial, KIND, found)
    return found


def _of(groups: list[HeldOut], proposal: Proposal) -> HeldOut:
    for group in groups:
        if group.place.live == proposal.staged.live:
            return group
    raise NothingToDo(
        f"no sealed tasks belong to {proposal.staged.live}",
        hint="they are set aside once a skill has eight sessions of its own (gate.sealed_share)",
    )


def _break_seal(seen: Seen, names: list[str]) -> Seen:
    """Count the look at tasks that were never opened; without any, whatever else changed, it is a second."""
    try:
        if not names:
            raise SealBroken("the sealed tasks of this skill were opened before")
        looks = open_sealed(seen.looks, fingerprint(dict.fromkeys(names, "test")))
    except SealBroken as error:
        raise NeedsDecision(str(error), hint="new sessions bring new sealed tasks") from error
    return msgspec.structs.replace(
        seen, looks=looks, opened=tuple(dict.fromkeys((*seen.opened, *names))), last=tuple(names)
    )
