"""`train`: the training core on a benchmark or on one's own tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from skillopt_sleep.cli.frame import Json, complete, explain, show, stoppable
from skillopt_sleep.cli.training import ConfigFile, Overrides, find_initial, open_school, read_settings
from skillopt_sleep.clock import now
from skillopt_sleep.errors import UsageError
from skillopt_sleep.events import NOTE, Event, Listener

if TYPE_CHECKING:
    from skillopt_sleep.training.config import Config
    from skillopt_sleep.training.forecast import Forecast
    from skillopt_sleep.training.summary import Summary


@explain
def train(
    overrides: Overrides = None,
    config: ConfigFile = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, tell what it may cost, and spend nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Train a skill on tasks with known answers.

    Roll out, reflect, edit and gate, step by step and epoch by epoch.

    The run lies in env.out_root (default: outputs/<benchmark>/<time>). Started again with the same
    env.out_root it goes on where it ended.
    """
    from skillopt_sleep.cli.progress import follow
    from skillopt_sleep.cli.training_faults import explaining

    settings = read_settings(config, overrides)
    with stoppable(), follow(quiet=as_json) as listen, explaining(settings.env.name):
        if dry_run:
            bounds = complete(_forecast(settings, listen))
            show(msgspec.to_builtins(bounds), as_json=as_json, render=lambda: _render_forecast(bounds))
            return
        out, summary = complete(_train(settings, listen))
    value: dict[str, Any] = {"out_root": str(out), **summary.as_json()}
    show(value, as_json=as_json, render=lambda: _render(out, summary, settings))


async def _forecast(config: Config, listen: Listener) -> Forecast:
    from skillopt_sleep.training.forecast import forecast
    from skillopt_sleep.training.preparing import check_priced, list_shared, load_splits, make_initial

    async with open_school(config, optimizer=True, listen=listen) as school:
        splits = load_splits(school.environment, config)
        for line in list_shared(splits):
            listen(Event(stage=NOTE, detail=line))
        make_initial(find_initial(config), school.environment.name, config)
        check_priced(config, school.environment, school.optimizer, school.rewriter)
        question = school.optimizer.estimate if school.optimizer else school.environment.estimate
        return forecast(config, splits, rollout=school.environment.estimate, question=question)


async def _train(config: Config, listen: Listener) -> tuple[Path, Summary]:
    from skillopt_sleep.training.trainer import Trainer

    async with open_school(config, optimizer=True, listen=listen) as school:
        if school.optimizer is None:
            raise UsageError("model.optimizer is not set")
        name = school.environment.name
        out = Path(config.env.out_root or f"outputs/{name}/{now().replace(':', '').replace('-', '')}")

        def tell(line: str) -> None:
            listen(Event(stage=NOTE, detail=line))

        again = "" if config.env.out_root else f" (to go on after an interruption: env.out_root={out})"
        tell(f"run: {out}{again}")
        trainer = Trainer(
            school.environment,
            school.optimizer,
            config,
            out=out,
            rewriter=school.rewriter,
            report=lambda stage, done, total: listen(Event(stage=stage, done=done, total=total)),
            say=tell,
        )
        return out, await trainer.train(find_initial(config))


def _render_forecast(bounds: Forecast) -> str:
    from skillopt_sleep.training.words import say_number

    runs = ", ".join(f"{number:,} for {name}" for name, number in bounds.rollouts.items() if number)
    keys = (
        "model.max_tokens and max_calls" if bounds.usd is None else "model.max_usd, max_tokens and max_calls"
    )
    money = "at an unknown price" if bounds.usd is None else f"${bounds.usd:,.2f} at most"
    return "\n".join(
        [
            say_number(bounds.steps, "step"),
            f"at most {say_number(bounds.total_rollouts, 'rollout')}: {runs}",
            f"at most {say_number(bounds.questions, 'question')} to the optimizer",
            f"at most {say_number(bounds.tokens, 'token')}, {money}; {keys} bound it",
            "nothing was run",
        ]
    )


def _render(out: Path, summary: Summary, config: Config) -> str:
    from skillopt_sleep.training.preparing import is_undescribed
    from skillopt_sleep.training.words import say_number

    lines = [
        f"{say_number(summary.total_steps, 'step')}: {summary.total_accepts} accepted,"
        f" {summary.total_rejects} rejected, {summary.total_skips} skipped",
    ]
    if summary.stopped:
        lines.append(f"stopped early: {summary.stopped}")
    for name, test in (("initial", summary.baseline_test), ("best", summary.best_test)):
        if test is not None:
            low, high = test.interval
            lines.append(
                f"test, {name} skill: {test.hard:.1%} ({low:.1%} to {high:.1%}) of {test.n_items} tasks"
            )
    difference = summary.test_difference
    if difference is not None:
        low, high = difference.interval
        lines.append(
            f"difference: {difference.effect:+.1%} ({low:+.1%} to {high:+.1%}), {difference.wins} won,"
            f" {difference.losses} lost, p = {difference.p_value:.2g}"
        )
    lines.append(f"the skill: {out / ('best_skill' if summary.best.files else 'best_skill.md')}")
    if not config.env.skill_init and is_undescribed(summary.best):
        lines.append(
            f'its description is "{summary.best.description}", by which a client decides when to load it:'
            " write what it is for in its place, or train with env.skill_description"
        )
    return "\n".join(lines)
