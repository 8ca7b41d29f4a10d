"""A model on this machine: llama.cpp's server in a child process, reached over loopback."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from skillopt_replay.errors import Unavailable
from skillopt_replay.models.openai_compatible import OpenAICompatible
from skillopt_replay.models.prices import FREE
from skillopt_replay.models.retries import Patience
from skillopt_replay.models.serving import Server, ServerSettings
from skillopt_replay.protocols import Completion
from skillopt_replay.reserves import bound_prompt
from skillopt_replay.rollouts import Fault, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from skillopt_replay.protocols import Message

MAX_RESTARTS = 2


class LocalModel:
    """A ChatModel that costs nothing.

    Use it as an async context manager, or call `start` and `close`. At most `slots` requests are in
    flight; more wait their turn here. A server that dies is started again, at most twice.

    At temperature 0 the likeliest token is taken each time; near a tie rounding may tip it, and rounding
    depends on how much of the prompt was kept from earlier requests and on what else is computed at the
    same moment. `reuse_prefix=False` in the settings removes the first cause, for about half as much work
    again.
    """

    def __init__(self, path: Path, *, name: str, sha256: str, settings: ServerSettings | None = None) -> None:
        self._path = path
        self._name = name
        self._identity = f"local:{name}@{sha256[:8]}"
        self._settings = settings or ServerSettings()
        self._server: Server | None = None
        self._client: OpenAICompatible | None = None
        self._restarts = 0
        self._turns: asyncio.Semaphore | None = None
        self._starting: asyncio.Lock | None = None

    @property
    def identity(self) -> str:
        """Model name and the start of the file's SHA-256."""
        return self._identity

    @property
    def estimate(self) -> Usage:
        """One slot's context, free of charge."""
        return Usage(self._settings.context_per_slot, 1024, cost_usd=0.0)

    def bound(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int = 2048
    ) -> Usage:
        """Return the most that one call may use: a slot's context holds prompt and reply."""
        read = min(bound_prompt(messages, schema), self._settings.context_per_slot)
        return Usage(read, max_tokens, cost_usd=0.0)

    async def __aenter__(self) -> LocalModel:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def start(self) -> None:
        """Start the server and wait until the model is loaded. Raises Unavailable."""
        self._turns = asyncio.Semaphore(self._settings.slots)
        self._starting = asyncio.Lock()
        await self._launch()

    async def close(self) -> None:
        """End the server; safe to call twice."""
        client, self._client = self._client, None
        server, self._server = self._server, None
        if client is not None:
            await client.close()
        if server is not None:
            await server.stop()

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int = 2048,
        temperature: float = 0.0,
        seed: int | None = None,
    ) -> Completion:
        """Return the reply. Without a seed 0 is used, so that sampling repeats too."""
        if self._turns is None or self._starting is None:
            return self._failed("the local model was not started")
        async with self._turns:
            async with self._starting:
                client = self._client
                if client is None or self._server is None or not self._server.alive:
                    try:
                        client = await self._restart()
                    except Unavailable as error:
                        return self._failed(error.message)
            done = await client.complete(
                messages,
                schema=schema,
                max_tokens=max_tokens,
                temperature=temperature,
                seed=0 if seed is None else seed,
            )
        # Nobody else has to start it: the next call does.
        return msgspec.structs.replace(done, fault=Fault.NETWORK) if done.fault is Fault.ABSENT else done

    def _failed(self, error: str) -> Completion:
        spent = Usage(cost_usd=0.0)
        return Completion(text="", model=self._name, usage=spent, error=error, fault=Fault.CLIENT)

    async def _restart(self) -> OpenAICompatible:
        if self._server is None:
            raise Unavailable("the local model was closed")
        if self._restarts >= MAX_RESTARTS:
            raise Unavailable(f"the local model's server ended again: {self._server.last_words()}")
        self._restarts += 1
        await self.close()
        return await self._launch()

    async def _launch(self) -> OpenAICompatible:
        self._server = Server(self._path, self._name, self._settings)
        try:
            url = await self._server.start()
        except BaseException:
            await self._server.stop()
            raise
        self._client = OpenAICompatible(
            url,
            self._name,
            api_key=self._server.key,
            identity=self._identity,
            price=FREE,
            timeout_s=self._settings.reply_s,
            extra={"cache_prompt": self._settings.reuse_prefix},
            # When it is gone, waiting does not bring it back; the next call starts it again.
            patience=Patience(attempts=2, first_wait_s=0.2),
        )
        return self._client
