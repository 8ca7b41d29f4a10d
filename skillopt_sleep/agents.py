"""The agents that can run tasks: one table. Adding one is a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from skillopt_sleep.paths import locate

if TYPE_CHECKING:
    from skillopt_replay.agents.clients import Client
    from skillopt_replay.protocols import Agent
    from skillopt_replay.rollouts import Usage
    from skillopt_replay.sandbox import Sandbox, Toolchains


_COPILOT = "copilot"  # the folder it unpacks itself into

Pricing: TypeAlias = "Callable[[str, Usage], float | None]"


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """How an agent is to work: its model ("" for its default), and what one run may cost at most.

    `effort` is how hard the model is told to think ("": as it does by itself).
    `project_settings` lets the project's own instructions and settings count. `price` returns the dollars
    of a usage of a model, None where nobody knows; `cache` is the folder for what clients unpack, and
    `toolchains` are what runs may read besides the system.
    """

    model: str
    effort: str = ""
    project_settings: bool
    estimate: Usage
    price: Pricing
    cache: Path
    toolchains: Toolchains


class AgentKind(msgspec.Struct, frozen=True, kw_only=True):
    """One agent: `name` as in target.agent, `title` for people.

    `client` is whose sessions it continues, `program` what it is called on the PATH. `find` returns the
    program and its sign-in, None when it is not installed. `own` returns the client's own sandbox, or says
    why it is none for us. `model` is the client as a chat model, as optimizer.model names it ("" when it is
    none), and `sign_in` says how to be let in again.
    """

    name: str
    title: str
    client: str
    program: str
    find: Callable[[Mapping[str, str]], Client | None]
    open: Callable[[Client, Sandbox, Wishes], Agent]
    own: Callable[[Client], Sandbox | str]
    model: str
    install: str
    sign_in: str


def _refuse_partial(title: str) -> Callable[[Client], str]:
    # Both say so of themselves: what edits and reads files in their own process is outside.
    return lambda _client: f"{title}'s own sandbox holds its shell commands only, not its file tools"


def _own_codex(client: Client) -> Sandbox:
    from skillopt_replay.agents.codex_sandbox import CodexSandbox

    return CodexSandbox(client)


def _find_claude(env: Mapping[str, str]) -> Client | None:
    from skillopt_replay.agents.claude_cli import find_claude

    return find_claude(env)


def _open_claude(client: Client, sandbox: Sandbox, wishes: Wishes) -> Agent:
    from skillopt_replay.agents.claude_code import ClaudeCode

    # Whatever the service takes, what the client tells in the end is by its maker's list.
    return ClaudeCode(
        client,
        sandbox,
        model=wishes.model or None,
        toolchains=wishes.toolchains,
        project_settings=wishes.project_settings,
        effort=wishes.effort,
        estimate=wishes.estimate,
        price=_with_list(wishes.price, "anthropic"),
    )


def _find_codex(env: Mapping[str, str]) -> Client | None:
    from skillopt_replay.agents.codex_cli import find_codex

    return find_codex(env)


def _open_codex(client: Client, sandbox: Sandbox, wishes: Wishes) -> Agent:
    from skillopt_replay.agents.codex import Codex

    # The list price holds at the maker's own service, and not on a route of the user's.
    vendor = "" if client.credentials and client.credentials.route else "openai"
    return Codex(
        client,
        sandbox,
        model=wishes.model or None,
        toolchains=wishes.toolchains,
        project_settings=wishes.project_settings,
        effort=wishes.effort,
        estimate=wishes.estimate,
        price=_with_list(wishes.price, vendor),
    )


def _with_list(said: Pricing, vendor: str) -> Pricing:
    """Return the prices of `vendor`'s list ("": of none) where the user says none."""
    from skillopt_replay.models.prices import find_price

    def price(model: str, usage: Usage) -> float | None:
        usd = said(model, usage)
        listed = find_price(model, vendor) if usd is None and vendor else None
        return usd if listed is None else listed.cost(usage)

    return price


def _find_copilot(env: Mapping[str, str]) -> Client | None:
    from skillopt_replay.agents.copilot_cli import find_copilot

    return find_copilot(env, cache=locate(env).cache / _COPILOT)


def _open_copilot(client: Client, sandbox: Sandbox, wishes: Wishes) -> Agent:
    from skillopt_replay.agents.copilot import Copilot

    return Copilot(
        client,
        sandbox,
        cache=wishes.cache / _COPILOT,
        model=wishes.model or None,
        toolchains=wishes.toolchains,
        project_settings=wishes.project_settings,
        effort=wishes.effort,
        estimate=wishes.estimate,
        price=wishes.price,
    )


# What comes first is preferred where nothing else decides.
AGENTS = (
    AgentKind(
        name="claude_code",
        title="Claude Code",
        client="claude",
        program="claude",
        find=_find_claude,
        open=_open_claude,
        own=_refuse_partial("Claude Code"),
        model="claude",
        install="npm install -g @anthropic-ai/claude-code",
        sign_in="start `claude` and sign in, or check ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN",
    ),
    AgentKind(
        name="codex",
        title="Codex",
        client="codex",
        program="codex",
        find=_find_codex,
        open=_open_codex,
        own=_own_codex,
        model="codex",
        install="npm install -g @openai/codex",
        sign_in="run `codex login`, or check CODEX_API_KEY or the key of your own model provider",
    ),
    AgentKind(
        name="copilot",
        title="GitHub Copilot CLI",
        client="copilot",
        program="copilot",
        find=_find_copilot,
        open=_open_copilot,
        own=_refuse_partial("GitHub Copilot CLI"),
        model="",
        install="npm install -g @github/copilot",
        sign_in="check COPILOT_GITHUB_TOKEN, or the key of the provider in COPILOT_PROVIDER_BASE_URL",
    ),
)
BY_NAME = {kind.name: kind for kind in AGENTS}
# A program of the user's own, which the settings name; and a chat model.
COMMAND, CHAT = "command", "chat"
# What target.agent may be.
NAMES = ("auto", *BY_NAME, COMMAND, CHAT)
