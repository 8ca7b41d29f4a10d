"""Tool calls while they are being read; common to all clients."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from functools import lru_cache
from typing import TypeAlias

import msgspec

from skillopt_harvesters.records import ToolCall
from skillopt_harvesters.redact import redact_path, redact_tail, redact_within

MAX_COMMAND = 8_192
MAX_ERROR = 2_048
MAX_NAME = 200
MAX_NAMES = 100
MAX_ID = 256
_MAX_CODE = 1 << 31
_SLACK = 8_192
_REPEATED = 512
# What no secret looks like: shorter than what redaction takes for chance, or made by a client as ids are.
_SHORT_ID = 20
# A UUID by its length, its letters and its first dash: a strict pattern takes three times as long.
_UUID = "[0-9a-f-]{36}(?<=-.{27})"
_is_plain_id = re.compile(
    rf"{_UUID}|(?:msg|toolu|call|resp|fc|req)_(?:[0-9a-f-]{{1,40}}|\w{{1,80}})"
    rf"|(?:[a-z]{{2,9}} )?(?:.{{0,19}}|#[0-9a-f]{{16}}|(?:msg|call|resp)_\w{{1,80}}|{_UUID})",
    re.DOTALL,
).fullmatch


# Several ids, each with a line end behind it. There is one way to read each, so that this is linear.
_are_plain_ids = re.compile(
    r"(?:(?:msg|toolu|call|resp|fc|req)_"
    r"(?:[0-9a-f]{0,20}(?:\n|-[0-9a-f-]{0,19}\n|[_g-zA-Z][0-9A-Za-z_]{0,59}\n)|[0-9a-f]{21,40}\n))*"
).fullmatch


def clip(text: str, limit: int) -> str:
    """Cut a text to what redaction looks at before it cuts to `limit`; bounds the memory of a draft."""
    return text if len(text) <= limit + _SLACK else text[: limit + _SLACK]


def clip_tail(text: str, limit: int) -> str:
    """Cut a text to the end of it that redaction looks at before it cuts to the last `limit` characters."""
    return text[-limit - _SLACK :]


def digest_of(arguments: bytes | msgspec.Raw) -> str:
    """Return the digest of a tool call's arguments as the client wrote them."""
    return hashlib.sha256(arguments).hexdigest()[:16]


@lru_cache(maxsize=4096)
def _redact_repeated(text: str, limit: int) -> str:
    return redact_within(text, limit)


def redact_known(text: str, limit: int) -> str:
    """Redact; of short texts such as commands and paths, which come again and again, the latest are known."""
    return _redact_repeated(text, limit) if len(text) <= _REPEATED else redact_within(text, limit)


@lru_cache(maxsize=4096)
def redact_folder(path: str) -> str:
    """Redact the path of a folder, or a branch or commit: harmless ones stay as they are."""
    return redact_path(path)


def keep_id(name: str) -> str:
    """Return a client's id as it may be kept: one that could hold a secret becomes a digest, always the same.

    Ids are compared and never shown.
    """
    if len(name) < _SHORT_ID or _is_plain_id(name):
        return name
    return f"#{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def is_digest(name: str) -> bool:
    """Tell whether an id may be the digest that `keep_id` returned for another one."""
    return name.startswith("#")


def are_plain(names: Collection[str]) -> bool:
    """Tell whether `keep_id` leaves all these ids as they are; for rare ones it does and this says no."""
    lines = "\n".join([*names, ""])
    return _are_plain_ids(lines) is not None and lines.count("\n") == len(names)


def redact_name(name: str) -> str:
    """Redact a name of something (a tool, a skill, a branch): it is whatever somebody made it."""
    return _redact_repeated(name, MAX_NAME) if len(name) <= _REPEATED else redact_within(name, MAX_NAME)


CallHandle: TypeAlias = tuple[str, str, bool]
"""Of a call its id, the record it came from, and whether its result is there."""


class CallDraft(msgspec.Struct, gc=False, array_like=True):
    """A tool call, perhaps still waiting for its result.

    `id` is the client's id of the call, by which the result finds it; `source` the record it came from;
    `closed` says that the result is there. Set the error with `fail`: a turn may have thousands of long ones.
    """

    name: str
    id: str = ""
    digest: str = ""
    command: str | None = None
    files: list[str] = []
    exit_code: int | None = None
    error: str | None = None
    source: str = ""
    closed: bool = False

    def clip(self) -> int:
        """Cut every text to what can be kept; return about how many characters that are."""
        if not _is_plain_id(self.id):
            self.id = keep_id(self.id)
        if not _is_plain_id(self.source):
            self.source = keep_id(self.source)
        return self.clip_texts()

    def clip_texts(self) -> int:
        """Do what `clip` does for a call whose ids are kept as they are."""
        if len(self.name) > MAX_NAME:
            self.name = clip(self.name, MAX_NAME)
        size = len(self.name) + len(self.id)
        command, files = self.command, self.files
        if command is not None:
            if len(command) > MAX_COMMAND:
                command = self.command = clip(command, MAX_COMMAND)
            size += len(command)
        if files:
            self.files = [clip(path, MAX_ERROR) for path in files[:MAX_NAMES]]
            size += sum(map(len, self.files))
        return size

    def fail(self, error: str) -> None:
        """Set the error; kept are its first `MAX_ERROR` characters, redacted."""
        self.error = redact_within(error, MAX_ERROR)

    def fail_at_end(self, error: str) -> None:
        """Set the error; kept are its last `MAX_ERROR` characters, redacted."""
        self.error = redact_tail(error, MAX_ERROR)

    def redact(self) -> None:
        """Redact in place; doing it again changes nothing."""
        # Most calls are of a few tools, with arguments of which only the digest is kept.
        self.name = (
            _redact_repeated(self.name, MAX_NAME) if len(self.name) <= _REPEATED else redact_name(self.name)
        )
        command = self.command
        if command is not None:
            self.command = redact_known(command, MAX_COMMAND)
        if self.error is not None:
            self.error = redact_known(self.error, MAX_ERROR)
        if self.files:
            self.files = [redact_known(path, MAX_ERROR) for path in self.files]
        code = self.exit_code
        if code is not None and not -_MAX_CODE <= code < _MAX_CODE:
            self.exit_code = None

    @property
    def handle(self) -> CallHandle:
        """What is to be remembered of the call when it is stored in a turn."""
        return (self.id, self.source, self.closed)

    @classmethod
    def restore(cls, call: ToolCall, handle: CallHandle) -> CallDraft:
        """Return the draft of a stored call."""
        return cls(
            call.name,
            handle[0],
            call.arguments_digest,
            call.command,
            list(call.files),
            call.exit_code,
            call.error,
            *handle[1:],
        )

    def build(self) -> ToolCall:
        """Return the call; it has been redacted."""
        return ToolCall(
            name=self.name,
            arguments_digest=self.digest,
            command=self.command,
            exit_code=self.exit_code,
            error=self.error,
            files=tuple(self.files),
        )
