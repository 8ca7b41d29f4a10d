"""Who a night would work with, in words, before any of it is opened."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from skillopt_replay.errors import Unavailable
from skillopt_replay.models.catalogue import Entry
from skillopt_replay.models.near import find_missing
from skillopt_sleep.agents import BY_NAME, CHAT, COMMAND
from skillopt_sleep.night.backends import pick_optimizer
from skillopt_sleep.night.choosing import LOCAL
from skillopt_sleep.settings import Settings


class Lineup(msgspec.Struct, frozen=True, kw_only=True):
    """Who would run the tasks, write the edits and judge ("": nobody); `notes` say what is fetched first.

    `models` are those of the optimizer and the judge as the settings write them.
    """

    target: str
    optimizer: str
    judge: str
    models: tuple[str, ...]
    notes: tuple[str, ...]


def name_lineup(agent: str, settings: Settings, env: Mapping[str, str], models: Path) -> Lineup:
    """Return it for the agent called `agent`; `models` is the folder where fetched models lie."""
    chat = settings.target.model or LOCAL
    writer = pick_optimizer(settings, env, agent)
    used = [*([chat] if agent == CHAT else []), writer.agent, settings.judge.model]
    missing = [entry for spec in dict.fromkeys(used) if (entry := _find_missing(spec, models))]
    return Lineup(
        target=f"{CHAT}, model {chat}" if agent == CHAT else _name_agent(agent, settings),
        optimizer=writer.agent + (f" ({writer.why})" if writer.why else ""),
        judge=settings.judge.model,
        models=tuple(spec for spec in dict.fromkeys((writer.agent, settings.judge.model)) if spec),
        notes=tuple(
            f"the model {entry.name} is not here yet: a night would fetch {entry.size / 1e9:.1f} GB first"
            for entry in missing
        ),
    )


def _name_agent(agent: str, settings: Settings) -> str:
    name = " ".join(settings.target.command) if agent == COMMAND else BY_NAME[agent].title
    return f"{name}, model {settings.target.model or 'as it chooses'}"


def _find_missing(spec: str, models: Path) -> Entry | None:
    try:
        return find_missing(spec, models)
    except Unavailable:
        return None  # why the night could not begin is told apart
