"""`gate`: how a verdict came about, and the one look at the sealed tasks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from skillopt_sleep.cli.frame import STOPPED, Json, complete, database, explain, show, stoppable
from skillopt_sleep.cli.gate_again import measure_again
from skillopt_sleep.cli.gate_judges import list_examined
from skillopt_sleep.config import load
from skillopt_sleep.invocation import call

if TYPE_CHECKING:
    from skillopt_gate.explain import Step
    from skillopt_sleep.calibration.release import Release
    from skillopt_sleep.store.rulings import Ruled

app = typer.Typer(help="How a verdict came about; the sealed tasks; the judges.", no_args_is_help=True)
app.command("judges")(list_examined)
app.command("again")(measure_again)

_WIDTH = 40


@app.command("explain")
@explain
def explain_verdict(
    name: Annotated[
        str,
        typer.Argument(metavar="ID", help="A proposal, a candidate, or a night and a skill: NIGHT-SKILL."),
    ],
    as_json: Json = False,
) -> None:
    """Show how a verdict came about. Number by number, and the evidence night by night."""
    from skillopt_gate.explain import explain as list_steps
    from skillopt_sleep.noise import say_noise
    from skillopt_sleep.store.calibrations import find_calibration
    from skillopt_sleep.store.looks import read_looks
    from skillopt_sleep.store.rulings import find_ruling, read_rulings

    with database() as (_, connection):
        ruled = find_ruling(connection, name)
        before = [one for one in read_rulings(connection, ruled.candidate) if one.at <= ruled.at]
        calibration = find_calibration(connection, ruled.identity, ruled.skill)
        seen = read_looks(connection, ruled.place)
    nights = _since_restart(before)
    steps = list_steps(ruled.verdict, ruled.policy)
    noise = say_noise(calibration, ruled.identity)
    value = {
        "mode": ruled.verdict.mode,
        "night": ruled.night,
        "skill": ruled.skill,
        "candidate": ruled.candidate,
        "identity": ruled.identity,
        "steps": steps,
        "wealth": [
            {"night": one.night, "wealth": one.verdict.wealth, "tasks": one.verdict.n_all} for one in nights
        ],
        "needed": 1 / ruled.verdict.level,
        "candidates": ruled.candidates,
        "number": ruled.number,
        "looks": {"gate": seen.looks.gate, "sealed": seen.looks.test, "sealed_tasks": ruled.sealed},
        "noise": noise,
        "verdict": ruled.verdict,
    }
    facts = [
        f"looks at the held-out tasks of this skill: {seen.looks.gate}; sealed tasks: {ruled.sealed},"
        f" {'opened' if seen.looks.test else 'unopened'}",
        *([f"candidate {ruled.number} of all that were ever measured"] if ruled.number else []),
        *([f"{ruled.candidates} candidates shared alpha that night"] if ruled.candidates > 1 else []),
        *([noise] if noise else [f"not calibrated; to measure the noise of your tasks: {call('calibrate')}"]),
    ]
    show(value, as_json=as_json, render=lambda: "\n".join(_render(ruled, steps, nights, facts)))


@app.command("release")
@explain
def release_proposal(
    name: Annotated[str, typer.Argument(metavar="ID", help="A proposal.")],
    as_json: Json = False,
) -> None:
    """Run a proposal on the sealed tasks of its skill. Do it before you apply it: they open once."""
    from skillopt_sleep.calibration.release import release
    from skillopt_sleep.cli.progress import follow
    from skillopt_sleep.lock import hold
    from skillopt_sleep.store.proposals import read_proposal

    with stoppable(), database() as (paths, connection), hold(paths, "gate release"), follow() as listen:
        proposal = read_proposal(connection, name)
        settings = load(paths.config)
        found = complete(release(connection, paths, settings, os.environ, proposal, listen=listen))
    show(msgspec.to_builtins(found), as_json=as_json, render=lambda: "\n".join(_render_release(found)))
    if found.stopped:
        raise typer.Exit(STOPPED)


def _since_restart(rulings: Sequence[Ruled]) -> list[Ruled]:
    last = max((at for at, one in enumerate(rulings) if one.restarted), default=0)
    return list(rulings[last:])


def _render(
    ruled: Ruled, steps: Sequence[Step], nights: Sequence[Ruled], facts: Sequence[str]
) -> Iterator[str]:
    yield f"{ruled.skill}, night {ruled.night} (gate mode: {ruled.verdict.mode})"
    yield f"candidate {ruled.candidate}, run by {ruled.identity}"
    yield ""
    marks = {True: "✓", False: "✗", None: "·"}
    for step in steps:
        needed = f"  (needed: {step.needed})" if step.needed else ""
        yield f"{marks[step.passed]} {step.name}: {step.found}{needed}"
        yield f"    {step.sentence}"
    yield ""
    if ruled.verdict.mode == "evidence":
        yield from _plot(ruled, nights)
        yield ""
    yield from facts


def _plot(ruled: Ruled, nights: Sequence[Ruled]) -> Iterator[str]:
    from skillopt_sleep.review.charts import draw_growth
    from skillopt_sleep.review.wording import count, say_wealth

    needed = 1 / ruled.verdict.level
    yield f"evidence night by night; the mark stands at the {say_wealth(needed)} that accept"
    bars = draw_growth([one.verdict.wealth for one in nights], needed, _WIDTH)
    for one, bar in zip(nights, bars, strict=True):
        tasks = count(one.verdict.n_all, "task")
        yield f"  {one.night:<14} {bar}  {say_wealth(one.verdict.wealth):>10}  {tasks}"


def _render_release(found: Release) -> Iterator[str]:
    yield f"Sealed tasks of {found.proposal} (gate mode: {found.mode})"
    yield f"run by  {found.identity}"
    lost = f", {found.lost} not run" if found.lost else ""
    yield f"tasks   {found.n}: {found.wins} better, {found.losses} worse, {found.ties} as before{lost}"
    low, high = found.interval
    yield f"effect  {found.effect:+.2f} per task, 95 % interval {low:+.2f} to {high:+.2f}"
    yield f"chance  an identical skill does as well with a chance of {found.p_value:.2g}"
    looks = "once" if found.looks == 1 else f"{found.looks} times"
    yield f"looks   the held-out tasks had been looked at {looks}; the sealed ones are now open, and stay so"
    if found.stopped:
        yield f"stopped by a ceiling: {found.stopped}"
