"""A chat model behind the Messages API."""

from __future__ import annotations

import logging
import re
import time
from enum import IntEnum
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from skillopt_replay.errors import Unavailable
from skillopt_replay.models.anthropic_replies import TOOL, read_message
from skillopt_replay.models.asking import to_valid
from skillopt_replay.models.completing import complete_with_room
from skillopt_replay.models.places import strip_login
from skillopt_replay.models.remote import RemoteModel
from skillopt_replay.models.replies import PASSING, ReplyUnreadable
from skillopt_replay.models.schemas import describe, simplify
from skillopt_replay.models.service import Failure, Service
from skillopt_replay.protocols import Completion
from skillopt_replay.rollouts import Fault, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from skillopt_replay.models.prices import Price
    from skillopt_replay.models.retries import Patience
    from skillopt_replay.protocols import Message

BASE_URL = "https://api.anthropic.com"
VERSION = "2023-06-01"
_REFUSED = frozenset({400, 422})
_LOG = logging.getLogger(__name__)


class Structure(IntEnum):
    """How an object is asked for."""

    FORMAT = 0  # output_config.format: the service keeps the text to the schema
    TOOL = 1  # a tool that the model has to call
    OFFERED = 2  # a tool that it is told to call
    WORDS = 3  # the schema in words


_NAMES = {
    Structure.FORMAT: re.compile(
        r"output_config|output_format|structured output|json_schema|schema", re.IGNORECASE
    ),
    Structure.TOOL: re.compile(r"tool_choice|tool use|forc", re.IGNORECASE),
    Structure.OFFERED: re.compile(r"\btools?\b", re.IGNORECASE),
}


class AnthropicModel(RemoteModel):
    """A ChatModel at `base_url`, which may end in /v1 or not.

    Older models do not know the output format and newer ones refuse a tool they must call, or a temperature:
    what the service refuses by name is asked for in the next way, or left out, from then on. The service
    has no seed. Reasoning counts towards `max_tokens` and is never part of the answer.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = BASE_URL,
        headers: Mapping[str, str],
        secret: str | None = None,
        price: Price | None = None,
        timeout_s: float = 300.0,
        patience: Patience | None = None,
        estimate: Usage | None = None,
        remedies: Mapping[Fault, str] | None = None,
    ) -> None:
        """`headers` sign in; `secret` of them is blanked in errors. `price` None: costs are not known."""
        address = messages_url(base_url)
        path = urlsplit(address).path.removesuffix("/v1/messages")
        identity = f"anthropic:{urlsplit(strip_login(address)).netloc}{path}#{model}"
        service = Service(
            address,
            name=identity,
            headers={"anthropic-version": VERSION, **headers},
            secret=secret,
            timeout_s=timeout_s,
            patience=patience,
            remedies=remedies,
            inspect=_inspect,
        )
        super().__init__(model, identity=identity, service=service, price=price, estimate=estimate)
        self._structure = Structure.FORMAT
        self._takes_temperature = True

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
            return await self._complete(messages, schema, max_tokens + room, temperature)

        done, room = await complete_with_room(
            self._room, ask, lambda room: self._bound(messages, schema, max_tokens + room)
        )
        self._room = max(self._room, room)
        return done

    async def _complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None,
        max_tokens: int,
        temperature: float,
    ) -> Completion:
        started = time.monotonic()
        sent = self._build(messages, schema, max_tokens, temperature)
        lost: list[Failure] = []
        while True:
            answer = await self._service.ask(sent, lost)
            if isinstance(answer, bytes):
                break
            self._learn(answer, sent)
            again = self._build(messages, schema, max_tokens, temperature)
            if answer.status not in _REFUSED or again == sent:
                break
            sent = again
        seconds = time.monotonic() - started
        most = self._bound(messages, schema, max_tokens)
        return self._conclude(
            answer, read_message, schema, lost=lost, seconds=seconds, max_tokens=max_tokens, most=most
        )

    def _build(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None,
        max_tokens: int,
        temperature: float,
    ) -> dict[str, Any]:
        system = [to_valid(m.content) for m in messages if m.role == "system"]
        body: dict[str, Any] = {"model": self._model, "max_tokens": max_tokens}
        if self._takes_temperature:
            body["temperature"] = temperature
        if schema is not None:
            system += self._ask_for_object(schema, body)
        if system:
            body["system"] = "\n\n".join(system)
        body["messages"] = _alternate(messages)
        return body

    def _ask_for_object(self, schema: Mapping[str, Any], body: dict[str, Any]) -> list[str]:
        """Put into the body what asks for the object; return what the system text has to say of it."""
        if self._structure is Structure.FORMAT:
            body["output_config"] = {"format": {"type": "json_schema", "schema": simplify(schema)}}
            return []
        if self._structure is Structure.WORDS:
            return [describe(schema)]
        body["tools"] = [
            {"name": TOOL, "description": "Hands in your reply.", "input_schema": dict(schema)},
        ]
        if self._structure is Structure.TOOL:
            body["tool_choice"] = {"type": "tool", "name": TOOL}
            return []
        return [f"Hand in your reply by calling the tool {TOOL} once, and write nothing else."]

    def _learn(self, failure: Failure, sent: Mapping[str, Any]) -> None:
        if failure.status not in _REFUSED:
            return
        if "temperature" in sent and self._takes_temperature and "temperature" in failure.message:
            self._takes_temperature = False
            _LOG.warning("%s refuses temperature; asking without it", self._identity)
            return
        asked = "output_config" in sent or "tools" in sent
        named = _NAMES.get(self._structure)
        if asked and self._stands_at(sent) and named is not None and named.search(failure.message):
            self._structure = Structure(self._structure + 1)
            _LOG.warning("%s refuses to be asked so; now: %s", self._identity, self._structure.name.lower())

    def _stands_at(self, sent: Mapping[str, Any]) -> bool:
        """Say whether it was sent with the structure that is in force, and not with one left meanwhile."""
        if "output_config" in sent:
            return self._structure is Structure.FORMAT
        return self._structure is (Structure.TOOL if "tool_choice" in sent else Structure.OFFERED)


def messages_url(base_url: str) -> str:
    """Return the address to post to. Raises Unavailable when `base_url` is no http(s) address."""
    parts = urlsplit(base_url.strip())
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise Unavailable(
            f"{strip_login(base_url)!r} is not the address of a service",
            hint="give it as http(s)://HOST[:PORT]",
        )
    path = parts.path.rstrip("/").removesuffix("/messages").removesuffix("/v1")
    return f"{parts.scheme}://{parts.netloc}{path}/v1/messages"


def _alternate(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Return the conversation without the system messages; what one side says in a row becomes one turn."""
    turns: list[dict[str, str]] = []
    for message in messages:
        if message.role == "system":
            continue
        content = to_valid(message.content)
        if turns and turns[-1]["role"] == message.role:
            turns[-1]["content"] += f"\n\n{content}"
        else:
            turns.append({"role": message.role, "content": content})
    return turns


def _inspect(body: bytes) -> Failure | None:
    try:
        read_message(body)
    except ReplyUnreadable as error:
        if error.fault in PASSING:
            return Failure(str(error), error.fault, transient=True, paid=error.fault is Fault.CUT)
    return None
