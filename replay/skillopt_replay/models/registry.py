"""Opens a chat model by what the user calls it: `local`, `openai:MODEL`, `claude`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from skillopt_replay.agents.clients import Client
from skillopt_replay.errors import Unavailable
from skillopt_replay.models.catalogue import Entry, Source
from skillopt_replay.models.fetch import Progress, fetch
from skillopt_replay.models.places import is_path, look_up, strip_logins
from skillopt_replay.models.places import locate as locate_local
from skillopt_replay.models.presets import ANTHROPIC, BY_NAME, PRESETS, Preset
from skillopt_replay.models.prices import Price, find_price
from skillopt_replay.models.servers import describe_server, locate_server, make_remedies
from skillopt_replay.protocols import ChatModel


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """What an opener may use. `rest` is the spec behind the first colon ("" when there is none).

    `env` is where keys, PATH and the client's settings are looked up; `cache_dir` keeps model files.
    `key_name` names the variable that holds a server's key (None: the one of its preset). `price` is what
    the model's tokens cost; else `prices`, by model name, and the table of list prices tell. `slots` is how
    many requests a local model works on. `work` is where a client's private folders are made (None: the
    temporary folder). `effort` is how hard a model that thinks is told to do so ("": as it does by itself).
    `extra` are fields of each request to a server, and `timeout_s` how long one may take (None: the usual).
    """

    rest: str
    env: Mapping[str, str]
    cache_dir: Path
    progress: Progress | None = None
    key_name: str | None = None
    price: Price | None = None
    prices: Mapping[str, Price] = {}
    sources: tuple[Source, ...] | None = None
    slots: int = 4
    work: Path | None = None
    effort: str = ""
    extra: Mapping[str, Any] = {}
    timeout_s: float | None = None


Opener: TypeAlias = Callable[[Opening], AbstractAsyncContextManager[ChatModel]]

_OPENERS: dict[str, tuple[Opener, str]] = {}
_WITHOUT_EFFORT = ("local", "anthropic")


def register(kind: str, form: str) -> Callable[[Opener], Opener]:
    """Make `kind` a known model kind; `form` shows a user how to write it."""

    def add(opener: Opener) -> Opener:
        _OPENERS[kind] = (opener, form)
        return opener

    return add


def list_forms() -> list[str]:
    """Return how each known kind is written."""
    return [form for _, form in _OPENERS.values()]


@asynccontextmanager
async def open_model(
    spec: str,
    *,
    env: Mapping[str, str],
    cache_dir: Path,
    progress: Progress | None = None,
    key_name: str | None = None,
    price: Price | None = None,
    prices: Mapping[str, Price] | None = None,
    sources: tuple[Source, ...] | None = None,
    slots: int = 4,
    work: Path | None = None,
    effort: str = "",
    extra: Mapping[str, Any] | None = None,
    timeout_s: float | None = None,
) -> AsyncIterator[ChatModel]:
    """Open the model that `spec` names and close it at the end; see Opening for the arguments.

    A local model that is not there yet is downloaded first. Raises Unavailable when the spec is unknown or
    the model cannot be had.
    """
    kind, _, rest = spec.strip().partition(":")
    if kind not in _OPENERS:
        raise _unknown(spec)
    opening = Opening(
        rest=rest,
        env=env,
        cache_dir=cache_dir,
        progress=progress,
        key_name=key_name,
        price=price,
        prices=prices or {},
        sources=sources,
        slots=slots,
        work=work,
        effort=effort,
        extra=extra or {},
        timeout_s=timeout_s,
    )
    if kind in _WITHOUT_EFFORT and effort:
        raise Unavailable(f"{spec} takes no reasoning effort", hint="leave it empty for this model")
    if extra and kind not in BY_NAME:
        raise Unavailable(f"{spec} takes no {', '.join(extra)}", hint="leave it out for this model")
    async with _OPENERS[kind][0](opening) as model:
        yield model


def check_model(spec: str, *, env: Mapping[str, str], prices: Mapping[str, Price] | None = None) -> str:
    """Return a few words on what `spec` would open: which server, whose key, what it costs.

    Nothing is started, fetched or asked. Raises Unavailable as `open_model` would, as far as that shows here.
    """
    kind, _, rest = spec.strip().partition(":")
    if kind not in _OPENERS:
        raise _unknown(spec)
    if kind == "local":
        from skillopt_replay.models.serving import require_runtime

        require_runtime()
        look_up(rest)
        return f"{spec}, on this machine"
    if kind in CLIENTS:
        return f"{spec} {CLIENTS[kind](env).version}"
    preset = ANTHROPIC if kind == ANTHROPIC.name else BY_NAME.get(kind)
    return describe_server(locate_server(preset, rest, env, prices=prices)) if preset else spec


def check_spelling(spec: str) -> None:
    """Raise Unavailable when there is no such kind of model, or no local one of that name."""
    kind, _, rest = spec.strip().partition(":")
    if kind not in _OPENERS:
        raise _unknown(spec)
    if kind == "local" and not is_path(rest.strip()):
        look_up(rest)


def _unknown(spec: str) -> Unavailable:
    known = "; ".join(list_forms())
    return Unavailable(f"no model is called {strip_logins(spec)!r}", hint=f"known are {known}")


@register("local", "local[:NAME or :/PATH/MODEL.gguf]")
@asynccontextmanager
async def _open_local(opening: Opening) -> AsyncIterator[ChatModel]:
    from skillopt_replay.models.local import LocalModel
    from skillopt_replay.models.serving import ServerSettings, require_runtime

    # Before a gigabyte is downloaded for nothing.
    require_runtime()
    path, name, sha256 = await _run_stoppable(opening)
    settings = ServerSettings(slots=opening.slots)
    async with LocalModel(path, name=name, sha256=sha256, settings=settings) as model:
        yield model


async def _run_stoppable(opening: Opening) -> tuple[Path, str, str]:
    """Find or fetch the file in a thread that ends soon after we are cancelled."""
    stopped = threading.Event()

    def report(done: int, total: int) -> None:
        if stopped.is_set():
            raise _Stopped
        if opening.progress is not None:
            opening.progress(done, total)

    def work() -> tuple[Path, str, str]:
        found = locate_local(opening.rest, opening.cache_dir, report)
        if isinstance(found, Entry):
            return (
                fetch(found, opening.cache_dir, progress=report, sources=opening.sources),
                found.name,
                found.sha256,
            )
        return found

    try:
        return await asyncio.to_thread(work)
    finally:
        stopped.set()


class _Stopped(Exception):
    """The one who waits for the download is gone."""


def _make_opener(preset: Preset) -> Opener:
    @asynccontextmanager
    async def open_preset(opening: Opening) -> AsyncIterator[ChatModel]:
        from skillopt_replay.models.openai_compatible import TIMEOUT_S, OpenAICompatible

        server = locate_server(
            preset,
            opening.rest,
            opening.env,
            key_name=opening.key_name,
            price=opening.price,
            prices=opening.prices,
        )
        async with OpenAICompatible(
            server.base_url,
            server.model,
            api_key=server.key,
            price=server.price,
            preset=server.preset,
            url=server.url,
            headers=dict(server.headers) if server.headers is not None else None,
            remedies=make_remedies(server),
            effort=opening.effort,
            extra=opening.extra,
            timeout_s=opening.timeout_s or TIMEOUT_S,
        ) as client:
            yield client

    return open_preset


for _preset in PRESETS:
    register(_preset.name, _preset.form)(_make_opener(_preset))


@register("anthropic", "anthropic:MODEL")
@asynccontextmanager
async def _open_anthropic(opening: Opening) -> AsyncIterator[ChatModel]:
    from skillopt_replay.models.anthropic import AnthropicModel
    from skillopt_replay.models.servers import locate_anthropic

    server = locate_anthropic(
        opening.rest,
        opening.env,
        key_name=opening.key_name,
        price=opening.price,
        prices=opening.prices,
    )
    async with AnthropicModel(
        server.model,
        base_url=server.base_url,
        headers=dict(server.headers or ()),
        secret=server.key,
        price=server.price,
        remedies=make_remedies(server),
    ) as client:
        yield client


def _require_claude(env: Mapping[str, str]) -> Client:
    from skillopt_replay.agents.claude_cli import find_claude

    cli = find_claude(env)
    if cli is None:
        raise Unavailable(
            "Claude Code is not installed", hint="install it (npm install -g @anthropic-ai/claude-code)"
        )
    cli.sign_in("Claude Code")
    return cli


@register("claude", "claude[:MODEL]")
@asynccontextmanager
async def _open_claude(opening: Opening) -> AsyncIterator[ChatModel]:
    from skillopt_replay.models.claude import ClaudeModel

    cli = await asyncio.to_thread(_require_claude, opening.env)
    yield ClaudeModel(cli, model=opening.rest or None, effort=opening.effort, work=opening.work)


def _require_codex(env: Mapping[str, str]) -> Client:
    from skillopt_replay.agents.codex_cli import find_codex

    cli = find_codex(env)
    if cli is None:
        raise Unavailable("Codex is not installed", hint="install it (npm install -g @openai/codex)")
    cli.sign_in("Codex")
    return cli


@register("codex", "codex[:MODEL]")
@asynccontextmanager
async def _open_codex(opening: Opening) -> AsyncIterator[ChatModel]:
    from skillopt_replay.models.codex import CodexModel

    cli = await asyncio.to_thread(_require_codex, opening.env)
    # The list price holds at the maker's own service, and not on a route of the user's.
    vendor = "" if cli.credentials and cli.credentials.route else "openai"
    price = opening.price or find_price(opening.rest, vendor, opening.prices)
    yield CodexModel(cli, model=opening.rest or None, effort=opening.effort, price=price, work=opening.work)


CLIENTS: dict[str, Callable[[Mapping[str, str]], Client]] = {
    "claude": _require_claude,
    "codex": _require_codex,
}
