"""Where the Copilot CLI keeps its transcripts, and how to tell its events from those of VS Code."""

from __future__ import annotations

import io
import os
import re
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillopt_harvesters.damage import is_damaged
from skillopt_harvesters.salvage import decode_values
from skillopt_harvesters.sources.folders import find_base, split_folders, unique
from skillopt_harvesters.sources.skim import Skimmer, Torn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

SESSIONS = "session-state"
HISTORY = "history-session-state"
_PADDING = b"\xef\xbb\xbf\r\x00 \t"
_HISTORY_NAME = re.compile(r"session_(?P<id>.+)_\d+")
# Keys of the CLI's events that the extension never writes, and all the keys of one of its messages.
_CLI_DATA = frozenset({"interactionId", "transformedContent", "toolTelemetry", "toolTitle"})
_EXTENSION_MESSAGE = frozenset({"messageId", "content", "toolRequests", "reasoningText"})
_CLI_TYPES = ("hook.", "system.", "session.", "permission.", "subagent.", "skill.", "abort")
_SHARED_TYPES = ("user.message", "assistant.", "tool.execution_")


class Writer(Enum):
    """Who writes lines of this envelope."""

    CLI = "cli"
    EXTENSION = "extension"
    EITHER = "either"


def find_roots(env: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    """Return the folders to look in: below COPILOT_HOME when set, as the client does, else its defaults.

    Versions before 1.0 kept their state below XDG_STATE_HOME when that was set.
    """
    state = find_base(env, "XDG_STATE_HOME", home)
    folders = split_folders(env.get("COPILOT_HOME"), home) or (home / ".copilot", state / ".copilot")
    return unique(folder / name for folder in folders for name in (SESSIONS, HISTORY))


def find_files(root: Path, *, warn: Callable[[str], None] | None = None) -> Iterator[Path]:
    """Yield `<id>/events.jsonl`, `<id>.jsonl` and, in the folder of the oldest sessions, `*.json`.

    Nothing deeper is looked at: a session's folder also holds files of the user's.
    """
    suffix = ".json" if root.name == HISTORY else ".jsonl"
    try:
        with os.scandir(root) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    except OSError as error:
        if warn:
            warn(f"cannot read {root}: {error.strerror}")
        return
    for entry in entries:
        path = Path(entry.path)
        try:
            if entry.is_dir():
                path = path / "events.jsonl"
            elif not entry.name.endswith(suffix):
                continue
            if path.is_file():
                yield path
        except OSError as error:
            if warn:
                warn(f"cannot read {path}: {error.strerror}")


def identify(path: Path) -> str:
    """Return the id of the session in a file: its own name, or its folder's."""
    if path.name == "events.jsonl":
        return path.parent.name
    history = _HISTORY_NAME.fullmatch(path.stem) if path.suffix == ".json" else None
    return history["id"] if history else path.stem


def find_writer(head: bytes) -> Writer | None:
    """Tell who wrote events that begin with `head`; None when they are nobody's we know.

    The first record decides when it is whole: only `session.start` names its producer. A file that lost it
    is the CLI's if a record holds what only the CLI writes, and either's if all it holds is what both write.
    """
    lines = head.split(b"\n")
    whole = lines if head.endswith(b"\n") or len(lines) == 1 else lines[:-1]
    verdict: Writer | None = None
    for line in whole:
        if b'"parentId"' not in line:
            continue
        for record in decode_values(line.strip(_PADDING)):
            if not isinstance(record, dict):
                continue
            if record.get("ephemeral") is True:
                return None
            name, data = record.get("type"), record.get("data")
            if not isinstance(name, str) or not isinstance(data, dict) or "parentId" not in record:
                continue
            if name == "session.start" or is_damaged(name, "session.start"):
                return _judge_start(data)
            if verdict in (None, Writer.EITHER):
                verdict = _judge(name, data) or verdict
    return verdict


def _judge_start(data: dict[str, Any]) -> Writer | None:
    if not isinstance(data.get("copilotVersion"), str):
        producer = data.get("producer")
        return Writer.CLI if producer in ("copilot-agent", None) and "sessionId" in data else None
    return Writer.EXTENSION if "vscodeVersion" in data else Writer.CLI


def _judge(name: str, data: dict[str, Any]) -> Writer | None:
    if name.startswith(_CLI_TYPES) or (name.startswith(_SHARED_TYPES) and not _CLI_DATA.isdisjoint(data)):
        return Writer.CLI
    if name == "assistant.message" and _EXTENSION_MESSAGE.issuperset(data):
        requests = data.get("toolRequests")
        arguments = [
            item.get("arguments")
            for item in (requests if isinstance(requests, list) else [])
            if isinstance(item, dict)
        ]
        if arguments and all(isinstance(item, str) for item in arguments):
            return Writer.EXTENSION
    return Writer.EITHER if name.startswith(_SHARED_TYPES) else None


def is_history(head: bytes) -> bool:
    """Tell whether a document that begins with `head` is a session of the oldest clients."""
    keys: set[str] = set()
    if b'"chatMessages"' not in head:
        return False
    try:
        for key in Skimmer(io.BytesIO(head.lstrip(_PADDING))).members():
            keys.add(key)
    except Torn:
        pass
    return keys.issuperset(("sessionId", "startTime", "chatMessages"))
