"""Opens a chat model by what the user calls it: `local`, `openai:URL#MODEL`, `claude:MODEL`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

import msgspec

from skillopt_replay.errors import Unavailable
from skillopt_replay.models.catalogue import Entry, Source
from skillopt_replay.models.fetch import Progress, fetch
from skillopt_replay.models.places import is_loopback
from skillopt_replay.models.places import locate as locate_local
from skillopt_replay.models.replies import FREE, Price
from skillopt_replay.protocols import ChatModel

OPENAI_KEY = "OPENAI_API_KEY"


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """What an opener may use. `rest` is the spec behind the first colon ("" when there is none).

    `env` is where keys, PATH and the client's settings are looked up; `cache_dir` keeps model files.
    `key_name` names the variable that holds the key of an OpenAI-compatible server (None: OPENAI_API_KEY,
    which is sent to servers on other machines only). `slots` is how many requests a local model works on.
    `work` is where a client's private folders are made (None: the temporary folder).
    """

    rest: str
    env: Mapping[str, str]
    cache_dir: Path
    progress: Progress | None = None
    key_name: str | None = None
    price: Price | None = None
    sources: tuple[Source, ...] | None = None
    slots: int = 4
    work: Path | None = None


Opener: TypeAlias = Callable[[Opening], AbstractAsyncContextManager[ChatModel]]

_OPENERS: dict[str, tuple[Opener, str]] = {}


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
    sources: tuple[Source, ...] | None = None,
    slots: int = 4,
    work: Path | None = None,
) -> AsyncIterator[ChatModel]:
    """Open the model that `spec` names and close it at the end; see Opening for the arguments.

    A local model that is not there yet is downloaded first. Raises Unavailable when the spec is unknown or
    the model cannot be had.
    """
    kind, _, rest = spec.strip().partition(":")
    if kind not in _OPENERS:
        raise Unavailable(f"no model is called {spec!r}", hint=f"known are {'; '.join(list_forms())}")
    opening = Opening(
        rest=rest,
        env=env,
        cache_dir=cache_dir,
        progress=progress,
        key_name=key_name,
        price=price,
        sources=sources,
        slots=slots,
        work=work,
    )
    async with _OPENERS[kind][0](opening) as model:
        yield model


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


@register("openai", "openai:BASE_URL#MODEL")
@asynccontextmanager
async def _open_openai(opening: Opening) -> AsyncIterator[ChatModel]:
    from skillopt_replay.models.openai_compatible import OpenAICompatible

    base_url, _, model = opening.rest.rpartition("#")
    if not base_url or not model:
        raise Unavailable(
            f"'openai:{opening.rest}' does not name a server and a model",
            hint="write it as openai:https://HOST/v1#MODEL",
        )
    near = is_loopback(base_url)
    key = _find_key(opening, near=near)
    if key and not near and urlsplit(base_url).scheme != "https":
        raise Unavailable(
            f"a key would go to {base_url} unencrypted", hint="use https, or a server on this machine"
        )
    price = FREE if near and opening.price is None else opening.price
    async with OpenAICompatible(base_url, model, api_key=key, price=price) as client:
        yield client


def _find_key(opening: Opening, *, near: bool) -> str | None:
    if opening.key_name is not None:
        key = opening.env.get(opening.key_name)
        if not key:
            raise Unavailable(f"{opening.key_name} is not set", hint="it must hold the model server's key")
        return key
    return None if near else opening.env.get(OPENAI_KEY) or None


@register("claude", "claude[:MODEL]")
@asynccontextmanager
async def _open_claude(opening: Opening) -> AsyncIterator[ChatModel]:
    from skillopt_replay.agents.claude_cli import find_claude
    from skillopt_replay.models.claude import ClaudeModel

    cli = await asyncio.to_thread(find_claude, opening.env)
    if cli is None:
        raise Unavailable(
            "Claude Code is not installed", hint="install it (npm install -g @anthropic-ai/claude-code)"
        )
    yield ClaudeModel(cli, model=opening.rest or None, work=opening.work)
