"""OpenCode's records: the form all generations are brought into, and the keys that are read of each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec

from skillopt_harvesters.records import Tokens
from skillopt_harvesters.sources.loose import NULL

# What can be stored: a number a client would write, not what a damaged file may hold.
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Status = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**32)]
Moment = int | float | str


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """A session without its messages. `reverted` is the message before which the user went back."""

    id: str
    parent: str | None = None
    folder: str | None = None
    version: str = ""
    created: Moment | None = None
    reverted: str = ""
    headless: bool = False


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a message. `kind` is text, tool, subtask, file, step, compaction, or anything else.

    `synthetic` text was written by the client, and is cut; what is `hollow` lacks its text. A tool has a
    `name`, the id of its `call`, what it was given, how it ended and the end of its output; a subtask the
    name of the command that began it.
    """

    kind: str
    text: str = ""
    synthetic: bool = False
    hollow: bool = False
    name: str = ""
    call: str = ""
    input: msgspec.Raw = NULL
    ended: bool = False
    error: str | None = None
    output: str = ""
    exit_code: int | None = None
    tokens: Tokens | None = None


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the user or the agent; `role` is also `shell` for a line the user ran.

    An answer has the message it answers to as its `parent`. It is a `summary` when the client had the
    conversation summed up, `stopped` when the user interrupted it, and `failed` when the model did.
    """

    id: str
    role: str
    parent: str = ""
    agent: str = ""
    created: Moment | None = None
    completed: Moment | None = None
    model: str | None = None
    folder: str | None = None
    summary: bool = False
    stopped: bool = False
    failed: bool = False
    tokens: Tokens | None = None
    parts: Iterable[Part] = ()


class Time(msgspec.Struct, frozen=True, gc=False):
    """Milliseconds since 1970."""

    created: Moment | None = None
    completed: Moment | None = None


class Cache(msgspec.Struct, frozen=True, gc=False):
    """Tokens read from and written to the cache."""

    read: Count | None = None
    write: Count | None = None


class Usage(msgspec.Struct, frozen=True, gc=False):
    """Tokens of a model call."""

    input: Count | None = None
    output: Count | None = None
    reasoning: Count | None = None
    cache: Cache | None = None

    @property
    def tokens(self) -> Tokens:
        """The tokens; the output includes the reasoning, which this client counts beside it."""
        cache = self.cache or Cache()
        output = (self.output or 0) + (self.reasoning or 0)
        return Tokens(self.input or 0, output, cache.read or 0, cache.write or 0)


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where the agent worked."""

    cwd: str | None = None


class Failure(msgspec.Struct, frozen=True, gc=False):
    """Why an answer ended badly."""

    name: str | None = None
    message: str | None = None


class Revert(msgspec.Struct, frozen=True, rename={"message": "messageID"}, gc=False):
    """How far the user went back."""

    message: str | None = None


class SessionFile(
    msgspec.Struct, frozen=True, kw_only=True, rename={"parent": "parentID", "project": "projectID"}, gc=False
):
    """A session as a file of its own, before there was a database."""

    id: str | None = None
    parent: str | None = None
    directory: str | None = None
    version: str | None = None
    time: Time | None = None
    revert: Revert | None = None
    permission: msgspec.Raw = NULL


class Info(
    msgspec.Struct, frozen=True, kw_only=True, rename={"parent": "parentID", "model": "modelID"}, gc=False
):
    """A message, whose parts are stored beside it."""

    id: str | None = None
    role: str | None = None
    parent: str | None = None
    time: Time | None = None
    agent: str | None = None
    mode: str | None = None
    model: str | None = None
    path: Place | None = None
    summary: msgspec.Raw = NULL
    tokens: Usage | None = None
    error: Failure | None = None


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """What a tool says about how it ended, beside its output."""

    exit: Status | None = None


class State(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How far a tool call is. Newer messages have its output in `content` and its outcome in `structured`."""

    status: str | None = None
    input: msgspec.Raw = NULL
    output: str | None = None
    error: msgspec.Raw = NULL
    metadata: Outcome | None = None
    structured: Outcome | None = None
    content: msgspec.Raw = NULL


class StoredPart(msgspec.Struct, frozen=True, kw_only=True, rename={"call": "callID"}, gc=False):
    """A part as it is stored."""

    type: str | None = None
    text: str | None = None
    synthetic: bool | None = None
    ignored: bool | None = None
    tool: str | None = None
    call: str | None = None
    state: State | None = None
    tokens: Usage | None = None
    prompt: str | None = None
    command: str | None = None


class Given(
    msgspec.Struct, frozen=True, rename={"file_path": "filePath", "patch_text": "patchText"}, gc=False
):
    """The arguments of the tools that matter."""

    command: str | None = None
    file_path: str | None = None
    path: str | None = None
    patch_text: str | None = None
    name: str | None = None
