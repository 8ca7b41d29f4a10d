"""Rollouts of Codex written by hand, record by record, in the shapes of its generations."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

from skillopt_harvesters import SOURCES, MemoryClaims, Resume, read_file

CODEX = SOURCES["codex"]
DATA = Path(__file__).parents[1] / "data" / "transcripts"
FOLDER = DATA / "codex"
ROLLOUTS = sorted(FOLDER.rglob("rollout-*.jsonl"))


def make_id(ms: int, number: int = 0) -> str:
    """An id with a time in it, as newer versions make them."""
    digits = f"{ms:012x}"
    return f"{digits[:8]}-{digits[8:]}-7{number:03x}-8000-{uuid.uuid4().hex[:12]}"


class Rollout:
    """Collects records; every method adds what the client would write for it.

    `ms` is the clock, in milliseconds since 1970; every record is a millisecond later than the one before.
    """

    def __init__(self, folder: Path, *, ms: int = 1_794_996_000_000, session: str = "", **meta):
        self.ms = ms
        self.id = session or make_id(ms)
        self.path = folder / f"rollout-2026-11-18T10-00-00-{self.id}.jsonl"
        self.lines: list[bytes] = []
        self.task = ""
        self.spent = [0, 0, 0]
        if meta.get("cwd", "") is not None:
            known = {"cwd": "/home/user/project", "originator": "codex-tui", "cli_version": "0.142.4"}
            self.meta(
                **{**known, "source": "cli", "git": {"commit_hash": "c0ffee", "branch": "main"}, **meta}
            )

    @property
    def time(self) -> str:
        seconds, ms = divmod(self.ms, 1000)
        minutes, second = divmod(seconds - 1_794_996_000, 60)
        return f"2026-11-18T{10 + minutes // 60:02d}:{minutes % 60:02d}:{second:02d}.{ms:03d}Z"

    def line(self, record) -> None:
        self.lines.append(
            record if isinstance(record, bytes) else json.dumps(record, separators=(",", ":")).encode()
        )

    def add(self, kind: str, payload) -> None:
        self.ms += 1
        self.line({"timestamp": self.time, "type": kind, "payload": payload})

    def event(self, kind: str, /, **keys) -> None:
        self.add("event_msg", {"type": kind, **keys})

    def item(self, kind: str, /, **keys) -> None:
        self.add("response_item", {"type": kind, **keys})

    def completed(self, kind: str, /, thread: str = "", **keys) -> None:
        self.event(
            "item_completed", thread_id=thread or self.id, turn_id=self.task, item={"type": kind, **keys}
        )

    def meta(self, **keys) -> None:
        payload = {"id": self.id, "timestamp": self.time, **keys}
        self.add("session_meta", {key: value for key, value in payload.items() if value is not ...})

    def begin(self, **keys) -> str:
        """The agent's work on what comes next begins."""
        self.ms += 5_000
        self.task = make_id(self.ms)
        self.event("task_started", turn_id=self.task, **keys)
        return self.task

    def end(self, **keys) -> None:
        self.event("task_complete", turn_id=self.task, **{"last_agent_message": None, **keys})

    def given(self, *texts: str, role: str = "user", kinds=None, **keys) -> None:
        """A message of the history that the model is given."""
        if kinds:
            keys["internal_chat_message_metadata_passthrough"] = {"content_item_kinds": kinds}
        part = "output_text" if role == "assistant" else "input_text"
        self.item("message", role=role, content=[{"type": part, "text": text} for text in texts], **keys)

    def prompt(self, text: str, *, events: bool = True) -> None:
        self.ms += 5_000
        self.given(text)
        if events:
            self.event("user_message", message=text, images=[])

    def answer(self, text: str) -> None:
        self.event("agent_message", message=text)
        self.given(text, role="assistant")

    def call(self, command: str, output="", *, name: str = "exec_command", code: int | None = 0) -> str:
        call = f"call_{uuid.uuid4().hex[:24]}"
        self.item("function_call", name=name, arguments=json.dumps({"cmd": command}), call_id=call)
        if code is not None:
            output = (
                f"Chunk ID: 0a\nWall time: 0.1 seconds\nProcess exited with code {code}\nOutput:\n{output}"
            )
        self.item("function_call_output", call_id=call, output=output)
        return call

    def spend(self, read: int, written: int = 0, cached: int = 0, *, last=True) -> None:
        """The sum of the session's tokens grows."""
        self.spent = [self.spent[0] + read, self.spent[1] + written, self.spent[2] + cached]
        self.count(self.spent, [read, written, cached] if last else None)

    def count(self, total, last=None) -> None:
        def usage(numbers):
            return numbers and dict(
                zip(("input_tokens", "output_tokens", "cached_input_tokens"), numbers, strict=True)
            )

        self.event("token_count", info={"total_token_usage": usage(total), "last_token_usage": usage(last)})

    @property
    def data(self) -> bytes:
        return b"".join(line + b"\n" for line in self.lines)

    def write(self) -> Path:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(self.data)
        return self.path

    def read(self, claims=None):
        return read_session(self.write(), claims)


def read_session(path: Path, claims=None):
    """Return the session in a file."""
    [reading] = read_file(CODEX, path, claims=claims)
    return reading.session


def read_in_pieces(path: Path, whole: bytes, cuts: list[int], source=CODEX):
    """Return the last reading of a file that grew from cut to cut, each time read from where it had ended."""
    claims, resume = MemoryClaims(), None
    for cut in sorted({*cuts, len(whole)}):
        path.write_bytes(whole[:cut])
        [reading] = read_file(source, path, claims=claims, resume=resume)
        resume = Resume(offset=reading.offset, state=reading.state, session=reading.session)
    return reading


def read_after(path: Path, lines: int, source):
    """Return the reading of a file of which so many lines (0: none) had been read before."""
    whole = path.read_bytes()
    before = b"".join(whole.splitlines(keepends=True)[:lines])
    return read_in_pieces(path, whole, [len(before)] if lines else [], source)
