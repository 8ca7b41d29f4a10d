"""What the client says of tokens and money, in both of its spellings."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from skillopt_replay.rollouts import Usage


class Tokens(msgspec.Struct, frozen=True):
    """The `usage` of a reply or a result."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


class ModelTokens(msgspec.Struct, frozen=True, rename="camel"):
    """An entry of a result's `modelUsage`."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


def to_usage(tokens: Tokens | ModelTokens) -> Usage:
    """Return the tokens as a Usage without a price."""
    return Usage(
        tokens.input_tokens,
        tokens.output_tokens,
        tokens.cache_read_input_tokens,
        tokens.cache_creation_input_tokens,
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
