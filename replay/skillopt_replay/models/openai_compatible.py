"""A chat model behind any server that speaks the chat completions protocol."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from skillopt_replay.errors import Unavailable
from skillopt_replay.models.places import is_loopback
from skillopt_replay.models.replies import Price, find_object, read_error, read_reply
from skillopt_replay.models.retries import Patience, is_transient, requested_wait
from skillopt_replay.protocols import Completion
from skillopt_replay.rollouts import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    import httpx2

    from skillopt_replay.protocols import Message

MAX_REPLY_BYTES = 16_000_000
_LOG = logging.getLogger(__name__)


class _Failure(msgspec.Struct, frozen=True):
    """One attempt that failed: what to say, whether to try again, and what the server asked to wait."""

    message: str
    transient: bool
    wait_s: float | None = None
    param: str = ""


class OpenAICompatible:
    """`base_url` may end in /v1 or not. One HTTP client is kept until `close` and serves one event loop.

    A schema is sent as a strict `json_schema` response format and passed on as it is. A reply that carries
    no JSON object, or was cut short, has `value` None and no error: the model failed, not the
    infrastructure. `timeout_s` bounds each attempt from connect to the last byte.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        identity: str | None = None,
        price: Price | None = None,
        timeout_s: float = 300.0,
        connect_s: float = 10.0,
        patience: Patience | None = None,
        estimate: Usage | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """`extra` is added to each request body; `price` is needed to know costs (None: unknown)."""
        self._url = completions_url(base_url)
        self._model = model
        self._key = api_key
        self._identity = identity or f"openai:{urlsplit(self._url).netloc}#{model}"
        self._price = price
        self._timeout_s = timeout_s
        self._connect_s = connect_s
        self._patience = patience or Patience()
        self._estimate = estimate or Usage(6_000, 2_048)
        self._extra = dict(extra or {})
        # Only for jitter; nothing secret or reproducible hangs on it.
        self._rng = random.Random()  # noqa: S311
        self._client: httpx2.AsyncClient | None = None
        self._renamed: dict[str, str] = {}
        self._refused: set[str] = set()

    @property
    def identity(self) -> str:
        """Server and model; changes when a reply could."""
        return self._identity

    @property
    def estimate(self) -> Usage:
        """What one call may use at most, priced when the price is known."""
        if self._price is None:
            return self._estimate
        return msgspec.structs.replace(self._estimate, cost_usd=self._price.cost(self._estimate))

    async def __aenter__(self) -> OpenAICompatible:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections; a later `complete` opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int = 2048,
        temperature: float = 0.0,
        seed: int | None = None,
    ) -> Completion:
        """Return the reply; failures that may pass are tried again. Raises nothing for a failed call."""
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": m.role, "content": _to_valid(m.content)} for m in messages],
            "max_tokens": max_tokens,
            "temperature": temperature,
            **self._extra,
        }
        if seed is not None:
            body["seed"] = seed
        if schema is not None:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "reply", "strict": True, "schema": dict(schema)},
            }
        started = time.monotonic()
        answer = await self._try_until_answered(body)
        seconds = time.monotonic() - started
        if isinstance(answer, _Failure):
            return Completion(text="", model=self._model, seconds=seconds, error=answer.message)
        try:
            reply = read_reply(answer, price=self._price)
        except ValueError as error:
            return Completion(text="", model=self._model, seconds=seconds, error=str(error))
        value = find_object(reply.text) if schema is not None and not reply.truncated else None
        return Completion(
            text=reply.text,
            model=reply.model or self._model,
            value=value,
            usage=reply.usage,
            seconds=seconds,
        )

    async def _try_until_answered(self, body: dict[str, Any]) -> bytes | _Failure:
        attempt = 0
        while True:
            sent = self._adapt(body)
            answer = await self._post_once(sent)
            if isinstance(answer, bytes):
                return answer
            if self._learn(answer, sent):
                continue
            attempt += 1
            if not answer.transient or attempt >= self._patience.attempts:
                return answer
            wait = self._patience.wait(attempt - 1, self._rng)
            if answer.wait_s is not None:
                if answer.wait_s > self._patience.longest_wait_s:
                    return msgspec.structs.replace(
                        answer, message=f"{answer.message} (asked to wait {answer.wait_s:.0f} s)"
                    )
                wait = max(wait, answer.wait_s)
            _LOG.info("%s: %s; trying again in %.1f s", self._identity, answer.message, wait)
            await asyncio.sleep(wait)

    async def _post_once(self, body: dict[str, Any]) -> bytes | _Failure:
        import httpx2

        try:
            return await asyncio.wait_for(self._exchange(body), self._timeout_s)
        except asyncio.TimeoutError:
            return _Failure(f"no reply within {self._timeout_s:.0f} s", transient=True)
        except httpx2.TransportError as error:
            return _Failure(f"{urlsplit(self._url).netloc}: {_describe(error)}", transient=True)
        except httpx2.HTTPError as error:
            return _Failure(f"{urlsplit(self._url).netloc}: {_describe(error)}", transient=False)

    async def _exchange(self, body: dict[str, Any]) -> bytes | _Failure:
        client = self._open()
        async with client.stream("POST", self._url, content=msgspec.json.encode(body)) as response:
            received = bytearray()
            async for chunk in response.aiter_bytes():
                received += chunk
                if len(received) > MAX_REPLY_BYTES:
                    return _Failure(f"the reply is larger than {MAX_REPLY_BYTES} bytes", transient=False)
        if response.status_code == 200:
            return bytes(received)
        told = read_error(bytes(received))
        message = f"HTTP {response.status_code} from {urlsplit(self._url).netloc}"
        if told.message:
            message += f": {told.message}"
        if self._key:
            message = message.replace(self._key, "***")
        return _Failure(
            message,
            is_transient(response.status_code, told.code),
            requested_wait(response.headers),
            told.param if response.status_code == 400 else "",
        )

    def _open(self) -> httpx2.AsyncClient:
        if self._client is None:
            import httpx2

            headers = {"content-type": "application/json"}
            if self._key:
                headers["authorization"] = f"Bearer {self._key}"
            self._client = httpx2.AsyncClient(
                headers=headers,
                timeout=httpx2.Timeout(self._timeout_s, connect=self._connect_s),
                # A proxy of the environment cannot reach this machine's own loopback.
                trust_env=not is_loopback(self._url),
            )
        return self._client

    def _learn(self, failure: _Failure, sent: Mapping[str, Any]) -> bool:
        """Note that this model does not take a parameter by that name; tell whether to ask again now.

        Some models take `max_completion_tokens` only, or sample in one way only and refuse `temperature`
        and `seed`. Only a parameter that was sent and that the server names in its refusal is changed.
        """
        if failure.param not in sent or failure.param in self._extra:
            return False
        if failure.param == "max_tokens":
            self._renamed["max_tokens"] = "max_completion_tokens"
            return True
        if failure.param in {"temperature", "seed"}:
            self._refused.add(failure.param)
            _LOG.warning("%s refuses %s; asking without it", self._identity, failure.param)
            return True
        return False

    def _adapt(self, body: dict[str, Any]) -> dict[str, Any]:
        return {self._renamed.get(k, k): v for k, v in body.items() if k not in self._refused}


def completions_url(base_url: str) -> str:
    """Return the address to post to. Raises Unavailable when `base_url` is no http(s) address.

    A base with a path is taken as it is; a bare host gets /v1.
    """
    parts = urlsplit(base_url.strip())
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise Unavailable(
            f"{base_url!r} is not the address of a model server",
            hint="give it as http(s)://HOST[:PORT][/v1]",
        )
    path = parts.path.rstrip("/")
    if path.endswith("/chat/completions"):
        path = path[: -len("/chat/completions")]
    return f"{parts.scheme}://{parts.netloc}{path or '/v1'}/chat/completions"


def _to_valid(text: str) -> str:
    """Replace what UTF-8 cannot carry (half of a surrogate pair, as transcripts do hold)."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
