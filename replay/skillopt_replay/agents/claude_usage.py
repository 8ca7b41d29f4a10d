"""What the client says of tokens and money, in both of its spellings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

from skillopt_replay.admission import Amount, find_bound
from skillopt_replay.agents.spending import find_larger
from skillopt_replay.rollouts import Usage

Price: TypeAlias = Callable[[str, Usage], float | None]

TOKEN_LETTERS = 4  # as it is mostly, a letter that takes several bytes being as many


class Tokens(msgspec.Struct, frozen=True):
    """The `usage` of a reply or a result."""

    input_tokens: int = 0
    output_tokens: int = 0
    # Services without a cache tell nothing of it.
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class ModelTokens(msgspec.Struct, frozen=True, rename="camel"):
    """An entry of a result's `modelUsage`."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


def weigh(text: str) -> int:
    """Return the bytes of a text: a token holds fewer letters where each takes several, as in Chinese."""
    return len(text.encode("utf-8", "surrogatepass"))


def to_usage(tokens: Tokens | ModelTokens) -> Usage:
    """Return the tokens as a Usage without a price."""
    return Usage(
        tokens.input_tokens,
        tokens.output_tokens,
        tokens.cache_read_input_tokens or 0,
        tokens.cache_creation_input_tokens or 0,
    )


def add_up(by_model: Mapping[str, ModelTokens] | None, plain: Tokens | None, cost_usd: float | None) -> Usage:
    """Return a result's total.

    The sums by model go first: the plain numbers are zero after a stop for the budget, and leave helpers out.
    """
    parts = [to_usage(part) for part in (by_model or {}).values()]
    total = Usage()
    for part in parts or [to_usage(plain or Tokens())]:
        total = total.plus(part)
    return msgspec.structs.replace(total, cost_usd=cost_usd)


class _Reply(msgspec.Struct, frozen=True):
    model: str = ""
    usage: Usage = Usage()
    said: int = 0
    usd: float = 0.0


class ReplyCount:
    """Adds up replies, each of which comes once for each of its blocks; those of helpers come in between.

    Of a reply under way the client tells what it read, but not yet what it wrote. `usage` is what was told;
    `priced` also guesses at the latter, and has the dollars that `price` returns for a model (None: unknown).
    """

    def __init__(self, price: Price | None = None) -> None:
        self._price = price
        self._replies: dict[str, _Reply] = {}
        self._open: dict[str | None, str] = {}
        self._written = 0
        self._usd: float | None = 0.0
        self.usage = self.largest = Usage()
        self.dearest = Amount()

    def __len__(self) -> int:
        return len(self._replies)

    @property
    def ended(self) -> int:
        """How many are known to have come to their end."""
        return len(self._replies) - len(self._open)

    @property
    def priced(self) -> Usage:
        written = self.usage.output_tokens + self._written
        return msgspec.structs.replace(self.usage, output_tokens=written, cost_usd=self._usd)

    def take(self, key: str, model: str, told: Usage, *, said: int, helper: str | None) -> bool:
        """Count a block of `said` bytes of the reply `key`; return whether it is that one's first."""
        is_new = key not in self._replies
        before = self._replies.get(key, _Reply())
        reply = _Reply(model, told, before.said + said)
        priced = msgspec.structs.replace(told, output_tokens=_guess(reply))
        usd = self._price(model, priced) if self._price else None
        priced = msgspec.structs.replace(priced, cost_usd=usd)
        self._usd = None if usd is None or self._usd is None else self._usd + usd - before.usd
        self._replies[key] = msgspec.structs.replace(reply, usd=usd or 0.0)
        self._written += _guess(reply) - told.output_tokens - (_guess(before) - before.usage.output_tokens)
        self.usage = self.usage.plus(told) if is_new else _move(self.usage, before.usage, told)
        self.largest = find_larger(self.largest, priced)
        self.dearest = find_bound(priced, self.dearest)
        self._open[helper] = key
        return is_new

    def end(self, helper: str | None) -> None:
        """Note that the last reply to this helper, or to the client itself, has come to its end."""
        self._open.pop(helper, None)

    def end_all(self) -> None:
        """Note that the run has come to its end."""
        self._open.clear()

    def settle(self, result: Usage) -> Usage:
        """Return a result's total, and never less than what the replies told before it.

        A tool that the client runs can write a result in the client's name.
        """
        if result.tokens < self.usage.tokens:
            return self.priced
        if result.cost_usd is None or self._price is None:
            return result
        told = [self._price(reply.model, reply.usage) or 0.0 for reply in self._replies.values()]
        return msgspec.structs.replace(result, cost_usd=max(result.cost_usd, sum(told)))


def _guess(reply: _Reply) -> int:
    return max(reply.usage.output_tokens, reply.said // TOKEN_LETTERS)


def _move(total: Usage, before: Usage, after: Usage) -> Usage:
    return Usage(
        total.input_tokens - before.input_tokens + after.input_tokens,
        total.output_tokens - before.output_tokens + after.output_tokens,
        total.cache_read_tokens - before.cache_read_tokens + after.cache_read_tokens,
        total.cache_write_tokens - before.cache_write_tokens + after.cache_write_tokens,
    )
