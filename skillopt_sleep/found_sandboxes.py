"""Check-ups of the sandbox: which one runs would get, for which agent, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from skillopt_sleep.agents import AGENTS, COMMAND, AgentKind
from skillopt_sleep.config import load
from skillopt_sleep.errors import Explained, UsageError
from skillopt_sleep.findings import Finding
from skillopt_sleep.paths import Paths
from skillopt_sleep.settings import Replay, Settings

if TYPE_CHECKING:
    from skillopt_replay.agents.clients import Client


def find_sandboxes(paths: Paths, env: Mapping[str, str]) -> Iterator[Finding]:
    """Say which sandbox is in force, and for each agent that is here where it differs from one to another."""
    from skillopt_replay.errors import ReplayError
    from skillopt_replay.sandbox import choose

    try:
        loaded = load(paths.config)
    except UsageError:
        loaded = Settings()  # they have a finding of their own
    settings = loaded.replay
    if settings.sandbox == "none":
        yield Finding(
            name="sandbox",
            ok=False,
            detail="switched off by replay.sandbox: replays can read and change what you can",
            hint="skillopt-sleep config set replay.sandbox auto",
        )
        return
    if settings.sandbox == "client" and loaded.target.agent == COMMAND:
        yield Finding(
            name="sandbox",
            ok=False,
            detail="replay.sandbox wants the client's own, and a program of your own has none",
            hint="skillopt-sleep config set replay.sandbox auto",
        )
        return
    if settings.sandbox == "client":
        yield Finding(name="sandbox", ok=True, detail="the client's own, as replay.sandbox says")
        yield from _of_clients(settings, env)
        return
    try:
        probe = choose(settings.sandbox, settings.network).probe()
    except ReplayError as error:
        yield Finding(name="sandbox", ok=False, detail=error.message, hint=error.hint)
        if settings.sandbox == "auto":
            yield from _of_clients(settings, env)
        return
    yield Finding(name="sandbox", ok=True, detail=f"{probe.name} at {probe.detail}")


def _of_clients(settings: Replay, env: Mapping[str, str]) -> Iterator[Finding]:
    for kind in AGENTS:
        try:
            client = kind.find(env)
        except Exception as error:
            if not isinstance(error, Explained):
                raise
            continue  # the agent has a finding of its own
        if client is not None:
            yield _of_client(kind, client, settings)


def _of_client(kind: AgentKind, client: Client, settings: Replay) -> Finding:
    from skillopt_replay.errors import ReplayError
    from skillopt_replay.sandbox import choose

    name = f"{kind.client} sandbox"
    try:
        probe = choose("client", settings.network, own=kind.own(client)).probe()
    except ReplayError as error:
        return Finding(name=name, ok=False, detail=f"it cannot replay: {error.message}", hint=error.hint)
    why = "" if settings.sandbox == "client" else ", because the system's does not work"
    return Finding(name=name, ok=True, detail=f"{probe.name} at {probe.detail}{why}")
