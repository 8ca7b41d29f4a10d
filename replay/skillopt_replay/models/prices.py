"""What tokens cost: one table by model name, noted with its date, that the settings can override."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from skillopt_replay.rollouts import Usage

NOTED = "2026-11-29"
_MILLION = 1_000_000
# What may follow a model's name without making it another model: the date of a version, or "latest".
_VERSION = re.compile(r"[-@](?:\d{4}-\d{2}-\d{2}|\d{8}|latest|default)")


class Price(msgspec.Struct, frozen=True):
    """US dollars per million tokens; None means that cached input costs as much as fresh input.

    A request that reads more than `long_from` tokens (cached ones included; 0: never) costs
    `long_input` and `long_output` times as much for all its tokens.
    """

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    long_from: int = 0
    long_input: float = 1.0
    long_output: float = 1.0

    def cost(self, usage: Usage) -> float:
        """Return what the tokens of one request cost in US dollars."""
        read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        long = 0 < self.long_from < read
        into = (
            usage.input_tokens * self.input
            + usage.cache_read_tokens * (self.input if self.cache_read is None else self.cache_read)
            + usage.cache_write_tokens * (self.input if self.cache_write is None else self.cache_write)
        )
        out = usage.output_tokens * self.output
        return (
            into * (self.long_input if long else 1.0) + out * (self.long_output if long else 1.0)
        ) / _MILLION

    def bound(self, read: int, written: int) -> float:
        """Return the most that a request of so many tokens costs, however the service's cache takes them."""
        ways = (Usage(read, written), Usage(0, written, read), Usage(0, written, 0, read))
        return max(self.cost(usage) for usage in ways)


FREE = Price(0.0, 0.0, 0.0, 0.0)

# The list prices of the makers' own services. A model that is not here has no known price.
_ANTHROPIC = {
    "claude-fable-5-1": Price(10.0, 50.0, 0.25, 12.5),
    "claude-fable-5": Price(10.0, 50.0, 1.0, 12.5),
    "claude-opus-5-5": Price(4.0, 20.0, 0.2, 5.0),
    "claude-opus-5": Price(5.0, 25.0, 0.5, 6.25),
    "claude-opus-4-8": Price(5.0, 25.0, 0.5, 6.25),
    "claude-opus-4-7": Price(5.0, 25.0, 0.5, 6.25),
    "claude-opus-4-6": Price(5.0, 25.0, 0.5, 6.25),
    "claude-opus-4-5": Price(5.0, 25.0, 0.5, 6.25),
    "claude-opus-4-1": Price(15.0, 75.0, 1.5, 18.75),
    "claude-opus-4": Price(15.0, 75.0, 1.5, 18.75),
    "claude-sonnet-5-5": Price(2.0, 10.0, 0.1, 2.5),
    "claude-sonnet-5": Price(2.0, 10.0, 0.2, 2.5),
    "claude-sonnet-4-6": Price(3.0, 15.0, 0.3, 3.75),
    "claude-sonnet-4-5": Price(3.0, 15.0, 0.3, 3.75),
    "claude-sonnet-4": Price(3.0, 15.0, 0.3, 3.75),
    "claude-haiku-5-5": Price(0.1, 0.5, 0.01, 0.125, 100_000, 5.0, 5.0),
    "claude-haiku-4-5": Price(1.0, 5.0, 0.1, 1.25),
}
_OPENAI = {
    "gpt-5.6-luna": Price(0.2, 1.2, 0.02, 0.25, 272_000, 2.0, 1.5),
    "gpt-5.4-nano": Price(0.2, 1.25, 0.02),
    "gpt-5.1": Price(1.25, 10.0, 0.125),
    "gpt-5": Price(1.25, 10.0, 0.125),
    "gpt-5-mini": Price(0.25, 2.0, 0.025),
    "gpt-5-nano": Price(0.05, 0.4, 0.005),
    "gpt-4.1": Price(2.0, 8.0, 0.5),
    "gpt-4.1-mini": Price(0.4, 1.6, 0.1),
    "gpt-4.1-nano": Price(0.1, 0.4, 0.025),
    # The first version was dearer than those the plain name has meant since.
    "gpt-4o-2024-05-13": Price(5.0, 15.0),
    "gpt-4o": Price(2.5, 10.0, 1.25),
    "gpt-4o-mini": Price(0.15, 0.6, 0.075),
    "o3": Price(2.0, 8.0, 0.5),
    "o4-mini": Price(1.1, 4.4, 0.275),
}
TABLES: Mapping[str, Mapping[str, Price]] = {"anthropic": _ANTHROPIC, "openai": _OPENAI}


def make_price(values: Sequence[float]) -> Price:
    """Return a price from its two to four numbers: input, output, cache read, cache write."""
    into, out, *cached = values
    read, write = (*cached, None, None)[:2]
    return Price(into, out, read, write)


def find_price(model: str, vendor: str, overrides: Mapping[str, Price] | None = None) -> Price | None:
    """Return the price of a model, None when it is not known.

    `overrides` go first and hold for every server; the table holds for the maker's own service (`vendor`)
    only. A name stands for its dated versions as well, and the longest one that fits counts; one of the
    overrides that ends in * stands for whatever begins like it.
    """
    for table in (overrides or {}, TABLES.get(vendor, {})):
        fitting = [name for name in table if _fits(model, name)]
        if fitting:
            return table[max(fitting, key=len)]
    return None


def _fits(model: str, name: str) -> bool:
    if name.endswith("*"):
        return model.startswith(name[:-1])
    rest = model.removeprefix(name)
    return model.startswith(name) and (not rest or _VERSION.fullmatch(rest) is not None)
