"""`train`: the training core on a benchmark or on one's own tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from skillopt_sleep.cli.frame import Json, complete, explain, show, stoppable
from skillopt_sleep.cli.training import ConfigFile, Overrides, as_list, open_school
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
    from skillopt_sleep.training.reading import read

    settings = read(config, as_list(overrides))
    with stoppable(), follow(quiet=as_json) as listen:
        if dry_run:
            bounds = complete(_forecast(settings))
            show(msgspec.to_builtins(bounds), as_json=as_json, render=lambda: _render_forecast(bounds))
            return
        out, summary = complete(_train(settings, listen))
    value: dict[str, Any] = {"out_root": str(out), **summary.as_json()}
    show(value, as_json=as_json, render=lambda: _render(out, summary))


async def _forecast(config: Config) -> Forecast:
    from skillopt_sleep.training.forecast import forecast
    from skillopt_sleep.training.preparing import load_splits

    async with open_school(config, optimizer=True) as school:
        splits = load_splits(school.environment, config)
        question = school.optimizer.estimate if school.optimizer else school.environment.estimate
        return forecast(config, splits, rollout=school.environment.estimate, question=question)


async def _train(config: Config, listen: Listener) -> tuple[Path, Summary]:
    from skillopt_sleep.training.trainer import Trainer

    async with open_school(config, optimizer=True) as school:
        if school.optimizer is None:
            raise UsageError("model.optimizer is not set")
        name = school.environment.name
        out = Path(config.env.out_root or f"outputs/{name}/{now().replace(':', '').replace('-', '')}")

        def tell(line: str) -> None:
            listen(Event(stage=NOTE, detail=line))

        tell(f"run: {out} (to go on after an interruption: env.out_root={out})")
        trainer = Trainer(
            school.environment,
            school.optimizer,
            config,
            out=out,
            rewriter=school.rewriter,
            report=lambda stage, done, total: listen(Event(stage=stage, done=done, total=total)),
            say=tell,
        )
        return out, await trainer.train(Path(config.env.skill_init) if config.env.skill_init else None)


def _render_forecast(bounds: Forecast) -> str:
    runs = ", ".join(f"{number} for {name}" for name, number in bounds.rollouts.items() if number)
    money = "an unknown price" if bounds.usd is None else f"at most ${bounds.usd:.2f}"
    return "\n".join(
        [
            f"{bounds.steps} steps",
            f"at most {bounds.total_rollouts} rollouts: {runs}",
            f"at most {bounds.questions} questions to the optimizer",
            f"at most {bounds.tokens} tokens, {money}; model.max_usd, max_tokens and max_calls bound it",
            "nothing was run",
        ]
    )


def _render(out: Path, summary: Summary) -> str:
    lines = [
        f"{summary.total_steps} steps: {summary.total_accepts} accepted, {summary.total_rejects} rejected,"
        f" {summary.total_skips} skipped",
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
    return "\n".join(
        [*lines, f"the skill: {out / ('best_skill' if summary.best.files else 'best_skill.md')}"]
    )
