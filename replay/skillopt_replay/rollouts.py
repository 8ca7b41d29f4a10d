"""The Rollout: what an agent did with a task, what it cost, and how it was scored."""

from __future__ import annotations

from enum import Enum

import msgspec


class Usage(msgspec.Struct, frozen=True):
    """Tokens and money of one or more calls; `cost_usd` is None when the price is not known."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = None

    @property
    def tokens(self) -> int:
        """All tokens that were read or written, cached ones included."""
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens

    def plus(self, other: Usage) -> Usage:
        """Return the sum; the cost is known when at least one side's is."""
        costs = [c for c in (self.cost_usd, other.cost_usd) if c is not None]
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            sum(costs) if costs else None,
        )


class Outcome(str, Enum):
    """How a run ended. Only `infrastructure` is missing data; the other two are scored."""

    FINISHED = "finished"
    LIMIT = "limit"  # the task's own limit on time, turns or money: a failure of the run
    INFRASTRUCTURE = "infrastructure"  # rate limit, sign-in, network, crash: not the skill's fault


class RolloutCall(msgspec.Struct, frozen=True):
    """One tool call of the agent; `command` is set when the tool ran a command line."""

    name: str
    command: str | None = None
    error: str | None = None


class CheckResult(msgspec.Struct, frozen=True):
    """The result of the check at the same index of the task; `detail` is one line for a person."""

    passed: bool
    detail: str


class Score(msgspec.Struct, frozen=True):
    """`hard` is 1.0 when every check passed, else 0.0; `soft` is the share of checks that passed."""

    hard: float
    soft: float
    results: tuple[CheckResult, ...]


class Rollout(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one task. `score` is None until checked, and stays None for infrastructure failures.

    `skill` is the digest of the skill in force ("" for none), `agent` names the agent with its version,
    `model` the model that answered ("" when none did). `seconds` is wall time. `notes` are facts for the
    report (which commit, which sandbox).
    """

    task: str
    skill: str
    agent: str
    model: str
    outcome: Outcome
    answer: str
    calls: tuple[RolloutCall, ...] = ()
    usage: Usage = Usage()
    seconds: float = 0.0
    score: Score | None = None
    skill_loaded: bool | None = None
    error: str | None = None
    notes: tuple[str, ...] = ()
