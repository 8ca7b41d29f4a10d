"""A chat model behind any server that speaks the chat completions protocol."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from skillopt_replay.agents.clients import say_effort
from skillopt_replay.errors import Unavailable
from skillopt_replay.models.asking import Asking
from skillopt_replay.models.completing import complete_with_room
from skillopt_replay.models.places import strip_login
from skillopt_replay.models.presets import PLAIN, Preset
from skillopt_replay.models.prices import Price
from skillopt_replay.models.remote import RemoteModel
from skillopt_replay.models.replies import PASSING, ReplyUnreadable, read_reply
from skillopt_replay.models.service import Failure, Service
from skillopt_replay.protocols import Completion
from skillopt_replay.rollouts import Fault, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from skillopt_replay.models.retries import Patience
    from skillopt_replay.protocols import Message

TIMEOUT_S = 300.0


class OpenAICompatible(RemoteModel):
    """`base_url` may end in /v1 or not. One HTTP client is kept until `close` and serves one event loop.

    A schema is sent as the preset says, and one step less strictly each time the server says that it does
    not know the form; the reply is checked against it here in any case. A reply that carries no object to
    the schema, or was cut short, has `value` None and no error: the model failed, not the infrastructure.
    `timeout_s` bounds each attempt from connect to the last byte.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        identity: str | None = None,
        price: Price | None = None,
        timeout_s: float = TIMEOUT_S,
        connect_s: float = 10.0,
        patience: Patience | None = None,
        estimate: Usage | None = None,
        extra: Mapping[str, Any] | None = None,
        effort: str = "",
        preset: Preset = PLAIN,
        url: str | None = None,
        headers: Mapping[str, str] | None = None,
        remedies: Mapping[Fault, str] | None = None,
    ) -> None:
        """`extra` is added to each request body; `price` is needed to know costs (None: unknown).

        `effort` is how hard the model is told to think; a server that does not know that is asked without.

        `url` is the whole address where it does not follow from `base_url`. `headers` sign in another way
        than with the key as a bearer token. `remedies` says for a fault what the user can do.
        """
        address = url or completions_url(base_url)
        # Behind one gateway the path may tell one service from another.
        usual = url is not None or completions_url(base_url) == completions_url(preset.base_url or base_url)
        path = "" if usual else urlsplit(address).path.removesuffix("/chat/completions").removesuffix("/v1")
        said = f" with {msgspec.json.encode(extra, order='sorted').decode()}" if extra else ""
        host = urlsplit(strip_login(address)).netloc
        name = f"{preset.name}:{host}{path}#{model}{say_effort(effort)}{said}"
        identity = identity or name
        if effort:
            preset = msgspec.structs.replace(preset, extra={**preset.extra, "reasoning_effort": effort})
        signing = (
            headers if headers is not None else {"authorization": f"Bearer {api_key}"} if api_key else {}
        )
        service = Service(
            address,
            name=identity,
            headers=signing,
            secret=api_key,
            timeout_s=timeout_s,
            connect_s=connect_s,
            patience=patience,
            remedies=remedies,
            inspect=_inspect,
        )
        super().__init__(model, identity=identity, service=service, price=price, estimate=estimate)
        self._asking = Asking(preset, model, extra)

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

        async def ask(room: int) -> Completion:
            longest = max_tokens + room

            def build() -> dict[str, Any]:
                return self._asking.build(
                    messages, schema=schema, max_tokens=longest, temperature=temperature, seed=seed
                )

            most = self._bound(messages, schema, longest)
            return await self._complete(build, schema, longest, most)

        done, room = await complete_with_room(
            self._room, ask, lambda room: self._bound(messages, schema, max_tokens + room)
        )
        self._room = max(self._room, room)
        return done

    async def _complete(
        self,
        build: Callable[[], dict[str, Any]],
        schema: Mapping[str, Any] | None,
        max_tokens: int,
        most: Usage,
    ) -> Completion:
        started = time.monotonic()
        lost: list[Failure] = []
        answer = await self._ask(build, lost)
        seconds = time.monotonic() - started
        return self._conclude(
            answer, read_reply, schema, lost=lost, seconds=seconds, max_tokens=max_tokens, most=most
        )

    async def _ask(self, build: Callable[[], dict[str, Any]], lost: list[Failure]) -> bytes | Failure:
        sent = build()
        while True:
            answer = await self._service.ask(sent, lost)
            if isinstance(answer, bytes) or not self._asking.may_learn(answer):
                return answer
            self._asking.learn(answer, sent)
            again = build()
            if again == sent:
                return answer
            sent = again


def _inspect(body: bytes) -> Failure | None:
    """Return the failure in a reply with status 200 that another try may mend."""
    try:
        read_reply(body)
    except ReplyUnreadable as error:
        if error.fault in PASSING:
            return Failure(str(error), error.fault, transient=True, paid=error.fault is Fault.CUT)
    return None


def completions_url(base_url: str) -> str:
    """Return the address to post to. Raises Unavailable when `base_url` is no http(s) address.

    A base with a path is taken as it is; a bare host gets /v1.
    """
    parts = urlsplit(base_url.strip())
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise Unavailable(
            f"{strip_login(base_url)!r} is not the address of a model server",
            hint="give it as http(s)://HOST[:PORT][/v1]",
        )
    path = parts.path.rstrip("/")
    if path.endswith("/chat/completions"):
        path = path[: -len("/chat/completions")]
    return f"{parts.scheme}://{parts.netloc}{path or '/v1'}/chat/completions"
