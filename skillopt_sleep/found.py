"""Check-ups of the agents and models: which are there, who would run the tasks, who would write the edits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from skillopt_replay.errors import Unavailable
from skillopt_sleep.agents import AGENTS, CHAT, AgentKind
from skillopt_sleep.config import load
from skillopt_sleep.errors import Explained, UsageError
from skillopt_sleep.findings import Finding, explained
from skillopt_sleep.paths import Paths
from skillopt_sleep.settings import Settings

if TYPE_CHECKING:
    from skillopt_sleep.night.choosing import Choice


def find_agents(env: Mapping[str, str]) -> Iterator[Finding]:
    """Say of each agent whether it is installed and signed in."""
    for kind in AGENTS:
        yield _of_agent(kind, env)


def find_backends(paths: Paths, env: Mapping[str, str]) -> Iterator[Finding]:
    """Say who would run the tasks and which models would write the edits and judge, and why."""
    try:
        settings = load(paths.config)
    except UsageError as error:
        # The settings have a finding of their own; nobody knows what they want.
        said, hint = "the settings cannot be read", error.hint or "mend the settings"
        yield Finding(name="target", ok=False, detail=said, hint=hint, needed=True)
        return
    target = explained("target", lambda: _target(settings, paths, env))
    yield target
    if settings.replay.toolchains:
        yield explained("toolchains", lambda: _toolchains(settings, paths, env))
    if settings.replay.executor != "local":
        yield explained("executor", lambda: _executor(settings))
    optimizer = explained("optimizer", lambda: _optimizer(settings, paths, env))
    if not optimizer.ok and not target.ok and optimizer.detail.startswith(target.detail):
        # The agent that runs the tasks would write the edits, too.
        optimizer = msgspec.structs.replace(
            optimizer, detail="missing as the target is", hint="what mends the target mends it, too"
        )
    yield optimizer
    if settings.judge.model:
        yield explained("judge", lambda: f"{_check(settings.judge.model, settings, env)} would judge")


def _of_agent(kind: AgentKind, env: Mapping[str, str]) -> Finding:
    try:
        client = kind.find(env)
    except Exception as error:
        if not isinstance(error, Explained):
            raise
        return Finding(name=kind.client, ok=False, detail=error.message, hint=error.hint)
    if client is None:
        hint = f"install {kind.title} to replay with it ({kind.install})"
        return Finding(name=kind.client, ok=False, detail="not on PATH", hint=hint)
    by = f"sign-in by {client.credentials.source}" if client.credentials else "not signed in"
    return Finding(
        name=kind.client,
        ok=client.signed_in,
        detail=f"{client.version} at {client.binary}, {by}",
        hint=client.hint,
    )


def _target(settings: Settings, paths: Paths, env: Mapping[str, str]) -> str:
    from skillopt_replay.models.near import knock
    from skillopt_sleep.night.choosing import LOCAL
    from skillopt_sleep.night.workbenches import check_agent, check_sandbox

    picked = _pick(settings, paths, env)
    because = f": {picked.why}" if picked.why else ""
    kind = ""
    if picked.agent == CHAT:
        kind = "the chat model "
        # Workers of a pool ask the servers of their own machines.
        if settings.replay.executor == "local":
            knock(settings.target.model or LOCAL, env=env)
    check_sandbox(picked.agent, settings, env)
    return f"a night would replay with {kind}{check_agent(picked.agent, settings, env)}{because}"


def _toolchains(settings: Settings, paths: Paths, env: Mapping[str, str]) -> str:
    from skillopt_sleep.night.workbenches import find_toolchains

    folders = find_toolchains(settings, paths, env).folders
    return f"runs may read {', '.join(map(str, folders))}"


def _executor(settings: Settings) -> str:
    from skillopt_sleep.night.executors import check_executor

    return check_executor(settings)


def _optimizer(settings: Settings, paths: Paths, env: Mapping[str, str]) -> str:
    from skillopt_sleep.night.backends import pick_optimizer

    target = CHAT if settings.optimizer.model != "auto" else _pick(settings, paths, env).agent
    picked = pick_optimizer(settings, env, target)
    because = f": {picked.why}" if picked.why else ""
    try:
        return f"{_check(picked.agent, settings, env)} would write the edits{because}"
    except Unavailable as error:
        if not picked.why:
            raise
        # Somebody with Copilot alone has asked for no local model.
        other = "or name another: skillopt-sleep config set optimizer.model MODEL"
        raise Unavailable(f"{error.message}{because}", hint=f"{error.hint}, {other}") from error


def _pick(settings: Settings, paths: Paths, env: Mapping[str, str]) -> Choice:
    from skillopt_sleep.night.backends import pick_target
    from skillopt_sleep.store.counts import count_clients
    from skillopt_sleep.store.database import connect

    connection = connect(paths.database)
    try:
        clients = count_clients(connection)
    finally:
        connection.close()
    return pick_target(settings, env, clients)


def _check(spec: str, settings: Settings, env: Mapping[str, str]) -> str:
    from skillopt_replay.models.near import knock
    from skillopt_replay.models.registry import check_model
    from skillopt_sleep.night.workbenches import make_prices

    said = check_model(spec, env=env, prices=make_prices(settings))
    knock(spec, env=env)
    return said
