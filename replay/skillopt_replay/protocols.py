"""What an agent, a chat model and a ledger are. Implementations register under a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from skillopt_replay.rollouts import Fault, Usage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from skillopt_replay.rollouts import Rollout
    from skillopt_replay.skills import Skill
    from skillopt_replay.tasks import Task


class Limits(msgspec.Struct, frozen=True):
    """Limits of one run, None for no limit.

    Wall seconds, agent turns, US dollars, bytes of output kept, tokens (cached ones included), processes at
    a time, bytes of memory of the whole tree, and bytes it may add on disk.
    """

    seconds: float = 600.0
    turns: int = 40
    usd: float | None = 1.0
    output_bytes: int = 4_000_000
    tokens: int | None = None
    processes: int | None = 512
    memory_bytes: int | None = 8 << 30
    disk_bytes: int | None = 4 << 30


class Message(msgspec.Struct, frozen=True):
    """One chat message; `role` is system, user or assistant."""

    role: str
    content: str


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """A model's reply. `value` is the decoded JSON object when a schema was asked for, and valid under it.

    `error` and `fault` are set, and `text` empty, when the infrastructure failed. `fault` alone says that
    the model did: its text was cut at its longest length, declines (REFUSAL), or is not to the schema.
    """

    text: str
    model: str
    value: dict[str, Any] | None = None
    usage: Usage = Usage()
    seconds: float = 0.0
    error: str | None = None
    fault: Fault | None = None


class Agent(Protocol):
    """Runs tasks. `identity` changes when a result could: name, client version, model."""

    @property
    def identity(self) -> str: ...

    @property
    def estimate(self) -> Usage:
        """What one run may cost at most, reserved before it starts."""
        ...

    @property
    def secrets(self) -> tuple[str, ...]:
        """What its runs are lent and nothing kept of them may hold, such as keys."""
        return ()

    @property
    def needs_workspace(self) -> bool:
        """Whether a run works on the project's files; False spares the clone."""
        return True

    async def run(self, task: Task, skill: Skill | None, workspace: Path, limits: Limits) -> Rollout:
        """Work on the task inside the workspace with exactly this skill on offer.

        Returns an unscored rollout. Raises nothing for a failed run: that is an outcome.
        """
        ...


class ChatModel(Protocol):
    """Completes messages, optionally to a JSON schema."""

    @property
    def identity(self) -> str: ...

    @property
    def estimate(self) -> Usage: ...

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int = 2048,
        temperature: float = 0.0,
        seed: int | None = None,
    ) -> Completion:
        """Return the reply. A failed call is a Completion with `error`, not an exception."""
        ...


class _Priced(Protocol):
    @property
    def usage(self) -> Usage: ...


PricedT = TypeVar("PricedT", bound=_Priced)


class Ledger(Protocol):
    """Every call that spends is written down before and after, and never paid twice.

    `once` returns the stored result when the same (kind, key) already ended well in this night; else it
    reserves the estimate, awaits `make`, stores the result and returns it. Infrastructure failures are
    recorded as spent but not kept as results, so a resumed night tries them again.
    Raises CeilingReached before starting a call that would pass a ceiling. After a permanent fault it raises
    ServiceRefused, for that call and for every later one before it starts.
    """

    async def once(
        self,
        kind: str,
        key: str,
        estimate: Usage,
        make: Callable[[], Awaitable[PricedT]],
        result_type: type[PricedT],
    ) -> PricedT: ...
