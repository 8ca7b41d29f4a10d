"""Opening what a machine makes rollouts with: the agent the settings name, and its sandbox."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt_replay.agents.chat import ChatAgent
from skillopt_replay.errors import Unavailable
from skillopt_replay.executors.contract import Workbench
from skillopt_replay.models.prices import Price, find_price, make_price
from skillopt_replay.rollouts import Usage
from skillopt_replay.sandbox import Probe, Toolchains, choose, keep_from_runs, list_moved, open_toolchains
from skillopt_sleep.agents import BY_NAME, CHAT, COMMAND, AgentKind, Wishes
from skillopt_sleep.night.choosing import LOCAL
from skillopt_sleep.paths import Paths, make_private
from skillopt_sleep.settings import Settings

if TYPE_CHECKING:
    from skillopt_replay.agents.clients import Client
    from skillopt_replay.protocols import Agent, ChatModel
    from skillopt_replay.sandbox import Endpoint, Sandbox

_NO_OWN = "a program of your own has no sandbox of its own"


class Unneeded:
    """The sandbox of a chat target, which runs nothing: whatever wants to run all the same is refused."""

    name = "not needed: a chat model runs no commands"
    offline = True
    filters = True
    stamps = True
    memory = None

    def wrap(
        self,
        argv: Sequence[str],
        *,
        writable: Sequence[Path],
        readable: Sequence[Path],
        cwd: Path,
        network: bool = True,
        reach: Sequence[Endpoint] | None = None,
    ) -> list[str]:
        """Raise Unavailable."""
        raise Unavailable(f"a chat model as target runs no commands, so {argv[0]} was not started")

    def probe(self) -> Probe:
        """Say that nothing will run."""
        return Probe(name=self.name, works=False, detail="nothing is run")


async def open_workbench(
    agent: str,
    settings: Settings,
    paths: Paths,
    env: Mapping[str, str],
    model: Callable[[str], Awaitable[ChatModel]],
) -> Workbench:
    """Return the workbench with the agent called `agent`. Raises Unavailable with what to do.

    `model` opens a chat model and closes it when the caller is done.
    """
    if agent == CHAT:
        chat = ChatAgent(
            await model(settings.target.model or LOCAL), max_tokens=settings.replay.answer_tokens
        )
        return Workbench(agent=chat, sandbox=Unneeded(), root=make_private(paths.replays))
    keep_from_runs((*_list_ours(paths), *list_moved(env)))
    toolchains = find_toolchains(settings, paths, env)
    if agent == COMMAND:
        sandbox = _choose(settings, _NO_OWN)
        opened = _open_command(settings, env, sandbox, toolchains)
    else:
        kind = BY_NAME[agent]
        client = _find_client(kind, env)
        sandbox = _choose(settings, kind.own(client))
        opened = _open_agent(kind, client, settings, paths, sandbox, toolchains)
    return Workbench(agent=opened, sandbox=sandbox, root=make_private(paths.replays), toolchains=toolchains)


def find_toolchains(settings: Settings, paths: Paths, env: Mapping[str, str]) -> Toolchains:
    """Return what runs may read besides the system. Raises ReplayError for what they must not."""
    return open_toolchains(settings.replay.toolchains, env, _list_ours(paths))


def _list_ours(paths: Paths) -> tuple[Path, ...]:
    return (paths.config.parent, paths.data, paths.cache, paths.log)


def check_agent(agent: str, settings: Settings, env: Mapping[str, str]) -> str:
    """Return the name of the agent called `agent`. Raises Unavailable when it could not run, with what to do.

    Nothing is opened and no service is asked.
    """
    if agent == CHAT:
        from skillopt_replay.models.registry import check_model

        return check_model(settings.target.model or LOCAL, env=env, prices=make_prices(settings))
    if agent == COMMAND:
        from skillopt_replay.agents.command import find_program

        return find_program(settings.target.command, env).name
    client = _find_client(BY_NAME[agent], env)
    if not client.signed_in:
        raise Unavailable(
            f"{BY_NAME[agent].title} is not signed in", hint=client.hint or BY_NAME[agent].sign_in
        )
    return BY_NAME[agent].title


def check_sandbox(agent: str, settings: Settings, env: Mapping[str, str]) -> None:
    """Raise Unavailable when the agent called `agent` gets no sandbox such as the settings want."""
    if agent == COMMAND:
        _choose(settings, _NO_OWN)
    elif agent != CHAT:
        _choose(settings, BY_NAME[agent].own(_find_client(BY_NAME[agent], env)))


def _choose(settings: Settings, own: Sandbox | str) -> Sandbox:
    return choose(settings.replay.sandbox, settings.replay.network, own=own)


def make_prices(settings: Settings) -> dict[str, Price]:
    """Return the prices that the settings give, by model name."""
    return {name: make_price(values) for name, values in settings.prices.items()}


def _open_command(
    settings: Settings, env: Mapping[str, str], sandbox: Sandbox, toolchains: Toolchains
) -> Agent:
    from skillopt_replay.agents.command import CommandAgent, find_program
    from skillopt_replay.sandbox.reach import read_endpoint

    target = settings.target
    return CommandAgent(
        find_program(target.command, env),
        sandbox,
        model=target.model or None,
        passed={name: env[name] for name in target.pass_env if name in env},
        # Named or not: with the network that "any" gives, it is not kept to them.
        reach=[read_endpoint(url) for url in target.reach],
        toolchains=toolchains,
        estimate=Usage(input_tokens=settings.replay.tokens),
    )


def _find_client(kind: AgentKind, env: Mapping[str, str]) -> Client:
    client = kind.find(env)
    if client is None:
        raise Unavailable(
            f"{kind.title} is not on the PATH", hint=f"install it ({kind.install}), or set target.agent"
        )
    return client


def _open_agent(
    kind: AgentKind,
    client: Client,
    settings: Settings,
    paths: Paths,
    sandbox: Sandbox,
    toolchains: Toolchains,
) -> Agent:
    wishes = Wishes(
        model=settings.target.model,
        effort=settings.target.effort,
        project_settings=settings.target.settings == "project",
        estimate=Usage(input_tokens=settings.replay.tokens, cost_usd=settings.replay.usd),
        price=partial(_price, make_prices(settings)),
        cache=paths.cache,
        toolchains=toolchains,
    )
    return kind.open(client, sandbox, wishes)


def _price(prices: Mapping[str, Price], model: str, usage: Usage) -> float | None:
    """Return what a usage of a model at a provider of the user's own costs: what the settings say."""
    price = find_price(model, "", prices)
    return None if price is None else price.cost(usage)
