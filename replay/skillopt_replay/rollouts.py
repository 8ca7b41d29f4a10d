"""The Rollout: what an agent did with a task, what it cost, and how it was scored."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TypeAlias

import msgspec

_MOST_TOKENS = 1 << 60  # no number that can be stored is much larger


class Usage(msgspec.Struct, frozen=True):
    """Tokens and money of one or more calls; `cost_usd` is None when the price is not known.

    Counts beyond 2**60 either way, which a run or a server may tell, are taken as that.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = None

    def __post_init__(self) -> None:
        for name in ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"):
            count = getattr(self, name)
            if not -_MOST_TOKENS <= count <= _MOST_TOKENS:
                msgspec.structs.force_setattr(self, name, _MOST_TOKENS if count > 0 else -_MOST_TOKENS)

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
    # A failure of the run: it hit its limit on time, turns or money, gave up, or was refused an answer.
    LIMIT = "limit"
    INFRASTRUCTURE = "infrastructure"  # rate limit, sign-in, network, crash: not the skill's fault


class Fault(str, Enum):
    """Why a call failed. A permanent fault meets every later call as well."""

    SIGN_IN = "sign-in"  # the key or account is refused
    MODEL = "model"  # the model is unknown, or not for this account
    MONEY = "money"  # the account is empty or over its quota
    REPLACED = "replaced"  # the program is another one than the runs before it had, such as after an update
    ABSENT = "absent"  # nothing listens where a server on this machine should be, and never did
    RATE = "rate"  # too many requests
    OVERLOAD = "overload"  # the service is overloaded or broken
    NETWORK = "network"  # not reached, or silent
    CUT = "cut"  # the reply ended in the middle
    REPLY = "reply"  # the reply is not what was asked for: empty, or no structured output
    REFUSAL = "refusal"  # the model or its service declines: a failed run, and no failed infrastructure
    CLIENT = "client"  # the client does not start, crashed, or wrote what cannot be read
    SANDBOX = "sandbox"  # the sandbox or the workspace could not be made
    CHECK = "check"  # a check could not be run
    WORKER = "worker"  # the machine that ran it went away

    @property
    def permanent(self) -> bool:
        """Whether waiting does not help and a person has to do something."""
        return self in (Fault.SIGN_IN, Fault.MODEL, Fault.MONEY, Fault.REPLACED, Fault.ABSENT)


class RolloutCall(msgspec.Struct, frozen=True):
    """One tool call of the agent; `command` is set when the tool ran a command line.

    `error` is what the tool said when it failed, `exit_code` the command's (None: not told). `arguments`
    (JSON, for tools that ran no command) and `output` are cut to a bounded size, marked where cut.
    """

    name: str
    command: str | None = None
    error: str | None = None
    exit_code: int | None = None
    arguments: str = ""
    output: str = ""


class Said(msgspec.Struct, frozen=True, tag="said"):
    """Words of the agent between its tool calls, cut to a bounded size."""

    text: str


class Called(msgspec.Struct, frozen=True, tag="called"):
    """The tool call at this place of the rollout's `calls`."""

    call: int


Step: TypeAlias = Said | Called


class CheckResult(msgspec.Struct, frozen=True):
    """The result of the check at the same index of the task; `detail` is one line for a person.

    `pending`: a model has to judge it, and has not yet; it counts as not passed.
    """

    passed: bool
    detail: str
    pending: bool = False


class Score(msgspec.Struct, frozen=True):
    """`hard` is 1.0 when every check passed, else 0.0; `soft` is the share of checks that passed."""

    hard: float
    soft: float
    results: tuple[CheckResult, ...]


def make_score(results: Sequence[CheckResult]) -> Score:
    """Return the score of a task by the results of all its checks. Raises ValueError without any."""
    if not results:
        raise ValueError("a task without checks cannot be scored")
    passed = sum(result.passed for result in results)
    return Score(hard=float(passed == len(results)), soft=passed / len(results), results=tuple(results))


class Rollout(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one task. `score` is None until checked, and stays None for infrastructure failures.

    `skill` is the digest of the skill in force ("" for none), `agent` names the agent with its version,
    `model` the model that answered ("" when none did). `seconds` is wall time. `steps` is
    the trace in order; `diff` is what the run changed in the workspace (unified, cut to a bounded size).
    `fault` is set for infrastructure failures. `untold`: what it used is not known, and it counts with what
    was reserved for it. `notes` are facts for the report (which commit, which sandbox).
    """

    task: str
    skill: str
    agent: str
    model: str
    outcome: Outcome
    answer: str
    calls: tuple[RolloutCall, ...] = ()
    steps: tuple[Step, ...] = ()
    diff: str = ""
    usage: Usage = Usage()
    untold: bool = False
    seconds: float = 0.0
    score: Score | None = None
    skill_loaded: bool | None = None
    error: str | None = None
    fault: Fault | None = None
    notes: tuple[str, ...] = ()
