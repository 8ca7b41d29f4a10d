"""What Codex's messages mean: pure functions over its words."""

from __future__ import annotations

import re
import shlex
from typing import Any

import msgspec

_RETRY = re.compile(r"Reconnecting\.\.\. (?:\d+/\d+|waiting for network) \((.*)\)\Z", re.DOTALL)
_FULL = re.compile(r"context window|context_length_exceeded", re.IGNORECASE)
# A route without WebSockets says so like this; the client then goes on without them.
_SOCKET = re.compile(r"\burl: wss?://")
_BROKEN = "stream disconnected"
_SHELLS = ("bash", "sh", "zsh", "dash")


def read_retry(message: str) -> str | None:
    """Return why the client tries again, "" for its attempts on web sockets, None when it does not."""
    match = _RETRY.match(message)
    if match is None:
        return None
    return "" if _SOCKET.search(match[1]) else match[1]


def is_cut(message: str) -> bool:
    """Whether a reply had begun."""
    return _BROKEN in message


def fills_context(message: str) -> bool:
    """Whether the run has no room left in the model's context."""
    return _FULL.search(message) is not None


def find_words(message: str) -> str:
    """Return the words in a service's reply that the client hands on as it came."""
    try:
        said: Any = msgspec.json.decode(message)
        return str(said["error"]["message"])
    except (msgspec.DecodeError, RecursionError, LookupError, TypeError):
        return message or "the client gave no reason"


def unwrap(command: str) -> str:
    """Return the command line as the model gave it, without the shell the client puts around it."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    if len(words) == 3 and words[0].rsplit("/", 1)[-1] in _SHELLS and words[1] in ("-lc", "-c"):
        return words[2]
    return command
