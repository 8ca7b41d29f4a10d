"""What chat models behind a service share: who they are, what a call may cost, how a reply is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from skillopt_replay.masking import mask
from skillopt_replay.models.completing import charge, conclude, decline, fill_in
from skillopt_replay.models.replies import Reply, ReplyUnreadable
from skillopt_replay.models.service import Failure, Service
from skillopt_replay.protocols import Completion
from skillopt_replay.reserves import bound_prompt
from skillopt_replay.rollouts import Fault, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
    from typing import Protocol

    from skillopt_replay.models.prices import Price
    from skillopt_replay.protocols import Message

    class Reader(Protocol):
        """Decodes the body of a reply. Raises ReplyUnreadable."""

        def __call__(self, body: bytes, *, price: Price | None = None) -> Reply: ...


_Model = TypeVar("_Model", bound="RemoteModel")


class RemoteModel:
    """The beginning of a ChatModel behind a `service`; what derives from it adds `complete`.

    `identity` is server and model, and changes when a reply could. One HTTP client is kept until `close`.
    """

    def __init__(
        self, model: str, *, identity: str, service: Service, price: Price | None, estimate: Usage | None
    ) -> None:
        """`price` None: costs are not known."""
        self._model = model
        self._identity = identity
        self._service = service
        self._price = price
        self._estimate = estimate or Usage(6_000, 2_048)
        self._room = 0

    @property
    def identity(self) -> str:
        """Server and model; changes when a reply could."""
        return self._identity

    @property
    def estimate(self) -> Usage:
        """What one call of the usual size uses, priced when the price is known; see `bound`."""
        output = self._estimate.output_tokens + self._room
        usage = msgspec.structs.replace(self._estimate, output_tokens=output)
        if self._price is None:
            return usage
        return msgspec.structs.replace(usage, cost_usd=self._price.cost(usage))

    def bound(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int = 2048
    ) -> Usage:
        """Return the most that one call may use, priced when the price is known."""
        return self._bound(messages, schema, max_tokens + self._room)

    def _bound(self, messages: Sequence[Message], schema: Mapping[str, Any] | None, longest: int) -> Usage:
        read = bound_prompt(messages, schema)
        cost = None if self._price is None else self._price.bound(read, longest)
        return Usage(read, longest, cost_usd=cost)

    async def __aenter__(self: _Model) -> _Model:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections; a later `complete` opens new ones."""
        await self._service.close()

    def _conclude(
        self,
        answer: bytes | Failure,
        read: Reader,
        schema: Mapping[str, Any] | None,
        *,
        lost: Sequence[Failure],
        seconds: float,
        max_tokens: int,
        most: Usage,
    ) -> Completion:
        """Return what came of a call: its answer, and the tries before it that were `lost`.

        `most` is the most that one try may have used: so much counts where nothing was told. A server may say
        the key that it was sent, which is masked.
        """
        if isinstance(answer, Failure):
            return self._failed(answer.message, answer.fault, seconds, charge(None, most, lost))
        try:
            reply = read(answer, price=self._price)
        except ReplyUnreadable as error:
            # An answer that cannot be read was paid for, unlike an error told in its place.
            usage = charge(most if error.fault is Fault.REPLY else None, most, lost)
            return self._failed(self._service.advise(str(error), error.fault), error.fault, seconds, usage)
        told = conclude(
            reply.text,
            schema,
            value=reply.value,
            model=reply.model or self._model,
            usage=charge(fill_in(reply.usage, most), most, lost),
            seconds=seconds,
            truncated=reply.truncated,
            refused=reply.refused,
            thought=reply.thought,
            max_tokens=max_tokens,
        )
        return mask(told, self._service.secrets)

    def _failed(self, message: str, fault: Fault, seconds: float, usage: Usage) -> Completion:
        message = mask(message, self._service.secrets)
        if fault is Fault.REFUSAL:
            return decline(message, model=self._model, usage=usage, seconds=seconds)
        return Completion(
            text="", model=self._model, seconds=seconds, error=message, fault=fault, usage=usage
        )
