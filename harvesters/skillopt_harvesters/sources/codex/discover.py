"""Where Codex keeps its rollouts, and how to tell one by its first bytes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillopt_harvesters.salvage import decode_values
from skillopt_harvesters.sources.codex.compressed import MAGIC, SUFFIX, TOO_SHORT, find_damage, unpack_head
from skillopt_harvesters.sources.folders import split_folders, unique
from skillopt_harvesters.walk import walk_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_HEAD = 64 * 1024
_FOLDERS = ("sessions", "archived_sessions")
_CARRIERS = frozenset(
    {"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"}
)
_ITEMS = ("function_call", "function_call_output", "local_shell_call")
# Keys of records that other clients write.
_FOREIGN = frozenset({"uuid", "parentUuid", "sessionId", "isSidechain", "parentId", "data"})


def find_roots(env: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    """Return the folders to look in, below CODEX_HOME when it is set, as the client does.

    No setting of the client moves them elsewhere.
    """
    homes = split_folders(env.get("CODEX_HOME"), home) or (home / ".codex",)
    return unique(folder / name for folder in homes for name in _FOLDERS)


def find_files(root: Path, *, warn: Callable[[str], None] | None = None) -> Iterator[Path]:
    """Yield the rollouts below a root; of one that is there twice, the one that is not compressed.

    The client keeps both for a moment when it goes on with an old session.
    """
    for path in walk_files(root, (".jsonl", ".jsonl" + SUFFIX), warn=warn):
        if path.name.startswith("rollout-") and not (
            path.name.endswith(SUFFIX) and path.with_name(path.name.removesuffix(SUFFIX)).exists()
        ):
            yield path


def recognise(head: bytes) -> bool:
    """Tell whether a file that begins with `head` is a rollout.

    Decides by the first record of a kind only one client writes; where none is whole, by how one begins. Of
    a compressed file that does not tell what it holds so soon the name has to do.
    """
    if head.startswith(MAGIC):
        unpacked = unpack_head(head, _HEAD)
        if not unpacked and len(head) >= _HEAD:
            return find_damage(head) == TOO_SHORT
        head = unpacked
    lines = head.split(b"\n")
    for line in lines[: len(lines) if head.endswith(b"\n") else -1]:
        verdict = _judge_line(line)
        if verdict is not None:
            return verdict
    last = lines[-1]
    verdict = _judge_line(last)
    if verdict is None:
        opening = last[:512]
        return b'"payload"' in opening and any(f'"type":"{name}"'.encode() in opening for name in _CARRIERS)
    return bool(verdict)


def _judge_line(line: bytes) -> bool | None:
    for record in decode_values(line.strip(b"\xef\xbb\xbf\r\x00 \t")):
        verdict = _judge(record)
        if verdict is not None:
            return verdict
    return None


def _judge(record: Any) -> bool | None:
    """Return yes, no, or None: this record fits several programs."""
    if not isinstance(record, dict):
        return None
    if not _FOREIGN.isdisjoint(record):
        return False
    kind = record.get("type")
    if kind is None:
        begins = {"id", "timestamp"} <= record.keys() and ("instructions" in record or "git" in record)
        return True if begins or record.get("record_type") == "state" else None
    if kind == "message":
        content = record.get("content")
        parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
        return True if any(part.get("type") in {"input_text", "output_text"} for part in parts) else None
    enveloped = isinstance(kind, str) and kind in _CARRIERS and "payload" in record
    return True if enveloped or (kind in _ITEMS and "call_id" in record) else None
