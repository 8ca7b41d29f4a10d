"""`eval`: one skill on a split, with intervals, and beside another on the same tasks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from skillopt_sleep.cli.frame import Json, complete, explain, show, stoppable
from skillopt_sleep.cli.training import ConfigFile, Overrides, open_school, read_settings
from skillopt_sleep.events import Event, Listener

if TYPE_CHECKING:
    from skillopt_sleep.training.comparing import Comparison
    from skillopt_sleep.training.config import Config


@explain
def evaluate(
    skill: Annotated[
        str, typer.Option(metavar="PATH", help="The skill to evaluate: a SKILL.md, or a folder with one.")
    ],
    overrides: Overrides = None,
    config: ConfigFile = None,
    split: Annotated[
        str, typer.Option(metavar="SPLIT", help="train, val, test, or all: each by itself.")
    ] = "test",
    against: Annotated[
        str, typer.Option(metavar="PATH", help="Another skill, on the same tasks (empty: env.skill_init).")
    ] = "",
    samples: Annotated[int, typer.Option(metavar="N", min=1, help="Runs of each task.")] = 1,
    as_json: Json = False,
) -> None:
    """Score a skill on a split, beside another.

    The score has an interval, and the tasks are those of the configuration.

    It is compared task by task with another skill: that of --against, or else the one training begins with.
    """
    from skillopt_sleep.cli.progress import follow
    from skillopt_sleep.cli.training_faults import explaining
    from skillopt_sleep.training.comparing import arrange
    from skillopt_sleep.training.environments import read_splits

    settings = read_settings(config, overrides)
    wanted = read_splits(split)
    with stoppable(), follow(quiet=as_json) as listen, explaining(settings.env.name):
        found = complete(_evaluate(settings, skill, against, wanted, samples, listen))
    value: dict[str, Any] = msgspec.to_builtins(arrange(found))
    show(value, as_json=as_json, render=lambda: "\n".join(map(_render, found)))


async def _evaluate(
    config: Config, skill: str, against: str, splits: Sequence[str], samples: int, listen: Listener
) -> list[Comparison]:
    from skillopt_sleep.training.comparing import compare_skills

    other = against or config.env.skill_init
    async with open_school(config, optimizer=False, listen=listen) as school:
        return await compare_skills(
            school.environment,
            config,
            Path(skill),
            Path(other) if other else None,
            splits=splits,
            samples=samples,
            report=lambda stage, done, total: listen(Event(stage=stage, done=done, total=total)),
        )


def _render(found: Comparison) -> str:
    lines = []
    for name, one in (("the skill", found.skill), ("the other", found.other)):
        low, high = one.interval
        lost = f", {one.lost} runs lost" if one.lost else ""
        lines.append(
            f"{name}: {one.hard:.1%} ({low:.1%} to {high:.1%}) hard, {one.soft:.1%} soft,"
            f" {one.n_items} tasks of {found.split}{lost}"
        )
    difference = found.difference
    low, high = difference.interval
    lines.append(
        f"difference: {difference.effect:+.1%} ({low:+.1%} to {high:+.1%}), {difference.wins} won,"
        f" {difference.losses} lost, {difference.ties} even, p = {difference.p_value:.2g}"
    )
    return "\n".join(lines)
