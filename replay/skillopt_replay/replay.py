"""Replays a task: a workspace, a run, a score, and nothing left behind."""

from __future__ import annotations

import asyncio
import hashlib
import time
from typing import TYPE_CHECKING

import msgspec

from skillopt_replay.baseline import show_changes
from skillopt_replay.checks import evaluate, needs_files
from skillopt_replay.errors import ReplayError
from skillopt_replay.folders import RUN_PREFIX, make_folder
from skillopt_replay.masking import mask
from skillopt_replay.rollouts import CheckResult, Fault, Outcome, Rollout, Score, Usage
from skillopt_replay.sandbox.contract import Toolchains
from skillopt_replay.setup import Setup, prepare_with
from skillopt_replay.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from skillopt_replay.protocols import Agent, Limits
    from skillopt_replay.sandbox.contract import Sandbox
    from skillopt_replay.skills import Skill
    from skillopt_replay.tasks import Task
    from skillopt_replay.templates import Templates

_MAX_REASON = 200
_KEY_VERSION = 1


async def replay(
    task: Task,
    skill: Skill | None,
    agent: Agent,
    *,
    root: Path,
    sandbox: Sandbox,
    limits: Limits,
    toolchains: Toolchains = Toolchains(),  # noqa: B008 - frozen
    setup: Setup | None = None,
    templates: Templates | None = None,
) -> Rollout:
    """Run the task with exactly this skill in a new workspace under `root`, and score it.

    `setup` makes the workspace ready before the run; `templates` for the same `root` lend it. A run that hit
    its limit scores 0; an infrastructure failure, also one of the workspace or of a check, has no score. What
    the agent's runs are lent is masked in the rollout. The workspace is removed or given back in every case,
    cancelled runs included. Raises ValueError for a task without checks, before anything is spent.
    """
    if not task.checks:
        raise ValueError(f"task {task.id} has no checks, so it cannot be scored")
    started = time.monotonic()
    try:
        if not agent.needs_workspace and not needs_files(task.checks):
            folder = await asyncio.to_thread(make_folder, root, RUN_PREFIX)
            workspace = Workspace(folder, folder)
        elif templates is not None:
            workspace = await templates.take(task, setup, sandbox, toolchains)
        else:
            workspace = await prepare_with(setup, task, root, sandbox, toolchains)
    except (ReplayError, OSError) as error:
        return _unprepared(task, skill, agent, str(error), time.monotonic() - started)
    again = False
    try:
        notes = [*workspace.notes, *_sandbox_notes(task, agent, sandbox)]
        rollout = await agent.run(task, skill, workspace.path, limits)
        notes += rollout.notes
        untouched = False
        if agent.needs_workspace and workspace.baseline is not None:
            # Before the checks, whose commands leave files of their own.
            if templates is not None and sandbox.stamps:
                untouched = await templates.is_untouched(workspace)
            if not untouched:
                diff, trouble = await show_changes(workspace.baseline, workspace.hidden)
                rollout = msgspec.structs.replace(rollout, diff=diff)
                notes += trouble
        rollout = await _score(task, rollout, workspace.path, sandbox, toolchains)
        # What was stopped half-way is not looked into, and checks may have left something too.
        again = untouched and rollout.outcome is Outcome.FINISHED
        if again and templates is not None and needs_files(task.checks):
            again = await templates.is_untouched(workspace)
    finally:
        if templates is not None:
            left = await templates.give_back(workspace, untouched=again)
        else:
            left = await workspace.dispose()
    return mask(msgspec.structs.replace(rollout, notes=(*notes, *left)), agent.secrets)


def replay_key(task: Task, skill: Skill | None, agent_identity: str, repeat: int, setup: str = "") -> str:
    """Return the hex digest under which this rollout is stored.

    It covers what can change the result: prompt, project state, checks, skill text, agent, repeat and the
    set-up command; and nothing that cannot, such as the task's split, its occurrences, whose words a check
    rests on, or how the recorded session fared with it.
    """
    checks = [msgspec.to_builtins(msgspec.structs.replace(check, origin=None)) for check in task.checks]
    for check in checks:
        # Left out rather than emptied: keys stored before there was such a mark stay as they are.
        del check["met_before"]
    parts = [
        _KEY_VERSION,
        task.id,
        task.prompt,
        task.project,
        task.commit,
        task.started,
        task.skill,
        checks,
        _list_content(skill) if skill else None,
        agent_identity,
        repeat,
        *([setup] if setup else []),
    ]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def _list_content(skill: Skill) -> list[object]:
    # A skill without other files keeps the key it was stored under before there were any.
    return [skill.name, skill.text, *([skill.files] if skill.files else [])]


async def _score(
    task: Task, rollout: Rollout, workspace: Path, sandbox: Sandbox, toolchains: Toolchains
) -> Rollout:
    if rollout.outcome is Outcome.INFRASTRUCTURE:
        return rollout
    if rollout.outcome is Outcome.LIMIT:
        reason = " ".join((rollout.error or "the run hit its limit").split())
        results = tuple(
            CheckResult(passed=False, detail=f"not reached: {reason[:_MAX_REASON]}") for _ in task.checks
        )
        return msgspec.structs.replace(rollout, score=Score(hard=0.0, soft=0.0, results=results))
    try:
        score = await evaluate(task.checks, rollout, workspace, sandbox, toolchains)
    except (ReplayError, OSError) as error:
        return msgspec.structs.replace(
            rollout,
            outcome=Outcome.INFRASTRUCTURE,
            error=f"the checks could not be run: {error}",
            fault=Fault.CHECK,
        )
    return msgspec.structs.replace(rollout, score=score)


def _sandbox_notes(task: Task, agent: Agent, sandbox: Sandbox) -> tuple[str, ...]:
    if not agent.needs_workspace and not needs_files(task.checks):
        return ()
    notes = [f"sandbox {sandbox.name}"]
    if agent.needs_workspace and not sandbox.filters:
        notes.append("the run had the whole network")
    if needs_files(task.checks) and not sandbox.offline:
        notes.append("checks ran with the network")
    return tuple(notes)


def _unprepared(task: Task, skill: Skill | None, agent: Agent, error: str, seconds: float) -> Rollout:
    return Rollout(
        task=task.id,
        skill=skill.digest if skill else "",
        agent=agent.identity,
        model="",
        outcome=Outcome.INFRASTRUCTURE,
        answer="",
        usage=Usage(cost_usd=0.0),
        seconds=seconds,
        error=f"no workspace: {error}",
        fault=Fault.SANDBOX,
    )
