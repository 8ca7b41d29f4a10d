"""What is asked of a chat completions server, and what is learned when it refuses a part of that."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillopt_replay.models.presets import Preset, Structure
from skillopt_replay.models.schemas import describe, simplify

if TYPE_CHECKING:
    from skillopt_replay.models.service import Failure
    from skillopt_replay.protocols import Message

_LOG = logging.getLogger(__name__)
_LIMITS = ("max_tokens", "max_completion_tokens")
_DISPENSABLE = frozenset({"temperature", "seed"})
_REFUSED = frozenset({400, 404, 415, 422, 501})
_STRUCTURED = re.compile(r"response_format|json_schema|json_object|structured output|guided", re.IGNORECASE)
_UNKNOWN = re.compile(
    r"unsupported|not support|unrecogni[sz]ed|unknown|not permitted|not allowed|deprecated|extra inputs"
    r"|must be set|restricted",
    re.IGNORECASE,
)


class Asking:
    """Builds request bodies for one model, in the words that its server takes.

    It begins as the preset says and gives way only where the server refuses: another name for the token
    limit, a parameter less, or one step down in how an object is asked for. What was learned stays.
    """

    def __init__(self, preset: Preset, model: str, extra: Mapping[str, Any] | None = None) -> None:
        """`extra` is added to each body as it is; what the preset adds may be refused."""
        self._preset = preset
        self._model = model
        self._fixed = dict(extra or {})
        self._offered = {key: value for key, value in preset.extra.items() if key not in self._fixed}
        self._limit = preset.limit
        self._omitted = set(preset.omits)
        self.structure = preset.structure

    def build(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None,
        max_tokens: int,
        temperature: float,
        seed: int | None,
    ) -> dict[str, Any]:
        """Return the body of a request."""
        sent = [{"role": m.role, "content": to_valid(m.content)} for m in messages]
        if schema is not None and self.structure >= Structure.OBJECT:
            sent = _tell(sent, describe(schema))
        body: dict[str, Any] = {
            "model": self._model,
            "messages": sent,
            self._limit: max_tokens,
            "temperature": max(temperature, self._preset.coldest),
        }
        if seed is not None:
            body["seed"] = seed
        if schema is not None:
            body.update(self._ask_for_object(schema))
        body = {key: value for key, value in body.items() if key not in self._omitted}
        return {**body, **self._offered, **self._fixed}

    def _ask_for_object(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        if self.structure is Structure.WORDS:
            return {}
        if self.structure is Structure.OBJECT:
            return {"response_format": {"type": "json_object"}}
        strict = self.structure is Structure.STRICT
        shown = simplify(schema) if strict and self._preset.simple_schema else dict(schema)
        return {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "reply", "strict": strict, "schema": shown},
            }
        }

    def learn(self, failure: Failure, sent: Mapping[str, Any]) -> None:
        """Note what the server does not take of what was sent: only what it names in its refusal.

        Whether that changed anything, or something that was learned meanwhile did, shows in what `build`
        returns now.
        """
        if not self.may_learn(failure):
            return
        if self._limit in sent and self._limit == self._preset.limit and _names(failure, self._limit):
            self._limit = next(name for name in _LIMITS if name != self._limit)
            return
        for name in (*_DISPENSABLE, *self._offered):
            if name in sent and name not in self._fixed and _names(failure, name):
                _LOG.warning("%s refuses %s; asking without it", self._model, name)
                self._omitted.add(name)
                self._offered.pop(name, None)
                return
        if sent.get("response_format") and self._stands_at(sent) and _names_structure(failure):
            self.structure = Structure(self.structure + 1)
            _LOG.warning("%s refuses the response format; now: %s", self._model, self.structure.name.lower())

    def may_learn(self, failure: Failure) -> bool:
        """Say whether a failure can be about a part of the request."""
        return failure.status in _REFUSED

    def _stands_at(self, sent: Mapping[str, Any]) -> bool:
        """Say whether it was sent with the structure that is in force, and not with one left meanwhile."""
        asked = sent["response_format"]
        strict = bool(asked.get("json_schema", {}).get("strict"))
        return self.structure is {
            ("json_schema", True): Structure.STRICT,
            ("json_schema", False): Structure.SCHEMA,
        }.get((asked["type"], strict), Structure.OBJECT)


def _names(failure: Failure, name: str) -> bool:
    if failure.param:
        return failure.param == name
    named = re.search(rf"(?<![A-Za-z_]){re.escape(name)}(?![A-Za-z_])", failure.message)
    return named is not None and _UNKNOWN.search(failure.message) is not None


def _names_structure(failure: Failure) -> bool:
    if failure.param:
        return failure.param.startswith("response_format")
    return _STRUCTURED.search(failure.message) is not None


def _tell(messages: list[dict[str, str]], words: str) -> list[dict[str, str]]:
    """Add the words to the system message, or put one before the rest."""
    if messages and messages[0]["role"] == "system":
        first = {**messages[0], "content": f"{messages[0]['content']}\n\n{words}"}
        return [first, *messages[1:]]
    return [{"role": "system", "content": words}, *messages]


def to_valid(text: str) -> str:
    """Replace what UTF-8 cannot carry (half of a surrogate pair, as transcripts do hold)."""
    return text.encode("utf-8", "replace").decode("utf-8")
