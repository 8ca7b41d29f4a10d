"""Questions to the optimizer of a run: paid once, bounded, retried, and repaired once when malformed."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from skillopt_replay.protocols import ChatModel, Completion, Ledger, Message
from skillopt_replay.reserves import bound_call
from skillopt_replay.rollouts import Usage
from skillopt_sleep.training.replies import ReplyMalformed, find_object

Check = Callable[[Mapping[str, Any]], str]
"""Returns what of a reply cannot be used, "" when all of it can."""


_WHOLE = ("new_skill", "skill_candidates")  # keys of replies that hold whole documents


class StageUse(msgspec.Struct, frozen=True):
    """What one stage used: calls and tokens, those included that had been paid for before a resume."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Unreachable(Exception):
    """The optimizer gave no answer to this question although it was asked again."""


class Reply(msgspec.Struct, frozen=True):
    """The decoded reply, and what was still wrong with it after the repair ("" when nothing)."""

    value: dict[str, Any]
    fault: str = ""


class Optimizer:
    """Asks the optimizer model in the name of a run. `uses` adds up what was asked since `reset`."""

    def __init__(
        self,
        model: ChatModel,
        ledger: Ledger,
        *,
        workers: int,
        attempts: int = 3,
        reply_tokens: int = 16_384,
        seed: int = 42,
        rewriter: ChatModel | None = None,
        rewrite_tokens: int = 64_000,
    ) -> None:
        """`rewriter` is asked for whole documents (None: the model), in `rewrite_tokens` at most."""
        self._model = model
        self._rewriter = rewriter or model
        self._rewrite_tokens = rewrite_tokens
        self._ledger = ledger
        self._slots = asyncio.Semaphore(workers)
        self._attempts = attempts
        self._reply_tokens = reply_tokens
        self._seed = seed
        self.uses: dict[str, StageUse] = {}

    def reset(self) -> None:
        """Begin to count anew."""
        self.uses = {}

    def note(self, stage: str, usage: Usage) -> None:
        """Count a call of a stage."""
        before = self.uses.get(stage, StageUse())
        read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        self.uses[stage] = StageUse(
            before.calls + 1, before.prompt_tokens + read, before.completion_tokens + usage.output_tokens
        )

    async def ask(
        self,
        stage: str,
        messages: Sequence[Message],
        schema: Mapping[str, Any],
        *,
        key: str = "edits",
        check: Check = lambda _value: "",
        salt: int = 0,
        temperature: float = 0.0,
    ) -> Reply:
        """Return the reply as an object that has `key`.

        A reply that is malformed, or in which `check` finds a fault, is told back once; the second reply
        stands with what is wrong with it. `salt` tells equal questions apart that are to be asked twice, and
        gives each a seed of its own.
        Raises Unreachable, ReplyMalformed when both replies are, CeilingReached, ServiceRefused.
        """
        conversation = list(messages)
        first: Reply | None = None
        for last in (False, True):
            whole = key in _WHOLE
            completion = await self._complete(stage, conversation, schema, salt, temperature, whole=whole)
            try:
                value = _decode(completion, key)
                fault = check(value)
            except ReplyMalformed as malformed:
                if last and first is None:
                    raise
                value, fault = None, str(malformed)
            if value is not None:
                reply = Reply(value, fault)
                if not fault or last:
                    return reply
                first = reply
            elif last and first is not None:
                return first
            conversation += [
                Message("assistant", completion.text or msgspec.json.encode(completion.value).decode()),
                Message(
                    "user", f"That could not be used: {fault}. Reply again with the whole JSON, corrected."
                ),
            ]
        raise AssertionError("unreachable")

    async def _complete(
        self,
        stage: str,
        messages: Sequence[Message],
        schema: Mapping[str, Any],
        salt: int,
        temperature: float,
        *,
        whole: bool,
    ) -> Completion:
        model = self._rewriter if whole else self._model
        tokens = self._rewrite_tokens if whole else self._reply_tokens

        async def make() -> Completion:
            return await model.complete(
                tuple(messages),
                schema=schema,
                max_tokens=tokens,
                temperature=temperature,
                seed=self._seed + salt,
            )

        parts = [model.identity, messages, schema, tokens, temperature, self._seed, salt]
        key = f"{stage}/{hashlib.sha256(msgspec.json.encode(parts, order='sorted')).hexdigest()}"
        for _ in range(self._attempts):
            most = bound_call(model, messages, schema=schema, max_tokens=tokens)
            async with self._slots:
                completion = await self._ledger.once("optimizer", key, most, make, Completion)
            if completion.error is None:
                self.note(stage, completion.usage)
                return completion
        raise Unreachable(f"the optimizer gave no answer: {completion.error}")


def _decode(completion: Completion, key: str) -> dict[str, Any]:
    value = completion.value if completion.value is not None else find_object(completion.text, key)
    if key not in value:
        raise ReplyMalformed(f'the reply has no "{key}"')
    return value


def make_object(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
