"""The demo's night: the same code as any other, on sample transcripts and a local model."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import nullcontext

from skillopt_replay.errors import KeyMissing, ServiceRefused
from skillopt_replay.models.registry import check_model
from skillopt_sleep.demo.home import DemoHome, find_sign_in, furnish, lend_sign_in, make_env
from skillopt_sleep.events import Listener
from skillopt_sleep.night.report import NightReport
from skillopt_sleep.night.whole import whole_night
from skillopt_sleep.paths import Paths
from skillopt_sleep.settings import Ceilings, Gate, Night, Optimizer, Replay, Settings, Target, Training
from skillopt_sleep.store.database import connect

# Sized so that the night ends within four minutes on two cores.
_TRAIN_TASKS = 6
_HELD_OUT_TASKS = 12
_SLOTS = 4
_ANSWER_TOKENS = 96
_KEYLESS = "name a model on this machine; with your own settings, `skillopt-sleep run` works a night"


def make_settings(agent: str, model: str) -> Settings:
    """Return the demo's settings: everything is a default except what keeps it short."""
    chat = agent == "chat"
    return Settings(
        target=Target(agent=agent, model=model if chat else ""),
        optimizer=Optimizer(model=model if chat else "claude"),
        replay=Replay(concurrency=_SLOTS if chat else 2, seconds=120.0, answer_tokens=_ANSWER_TOKENS),
        ceilings=Ceilings(minutes=15.0),
        training=Training(tasks=_TRAIN_TASKS, candidates=2, learning_rate=1, minibatch_size=_TRAIN_TASKS),
        gate=Gate(tasks=_HELD_OUT_TASKS),
        night=Night(skills=1),
    )


def check_ready(paths: Paths, agent: str, model: str, env: Mapping[str, str]) -> None:
    """Raise what would end the night before it began, while what the last demo left is still there."""
    if agent == "claude_code":
        find_sign_in(env)
        return
    try:
        check_model(model, env=make_env(paths, env))
    except KeyMissing as error:
        raise _refuse_key(model) from error


def _refuse_key(model: str) -> KeyMissing:
    return KeyMissing(f"the demo takes no key of yours along, and {model} needs one", hint=_KEYLESS)


async def run_demo(
    home: DemoHome, agent: str, model: str, env: Mapping[str, str], *, listen: Listener
) -> NightReport:
    """Work the demo's night and return its report. `env` is the user's, for the sign-in of claude_code.

    Raises ServiceRefused as `run_night` does, without its promise to go on: the next demo begins anew.
    """
    settings = make_settings(agent, model)
    connection = connect(home.paths.database)
    try:
        lent = lend_sign_in(home, env) if agent == "claude_code" else nullcontext(home.env)
        with lent as seen:
            report = await _work(home, connection, settings, seen, listen)
    except ServiceRefused as error:
        raise (error.__cause__ if isinstance(error.__cause__, ServiceRefused) else error) from None
    except KeyMissing as error:
        raise _refuse_key(model) from error
    else:
        furnish(home, settings)
        return report
    finally:
        connection.close()


async def _work(
    home: DemoHome,
    connection: sqlite3.Connection,
    settings: Settings,
    env: Mapping[str, str],
    listen: Listener,
) -> NightReport:
    return await whole_night(
        connection,
        home.paths,
        settings,
        env,
        listen=listen,
    )
