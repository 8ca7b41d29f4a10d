"""Sessions of pi written by hand, entry by entry."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

TOKENS = {"input": 10, "output": 5, "cacheRead": 3, "cacheWrite": 2, "totalTokens": 20, "cost": {"total": 0}}


class PiSession:
    """Collects entries; every method adds what the client would write for it and returns the entry.

    `leaf` is the id the next entry goes on from; set it to go back.
    """

    def __init__(self, *, cwd: str = "/home/user/project", version: int = 3, **header):
        self.id = str(uuid.uuid4())
        self.entries: list[dict] = []
        self.leaf: str | None = None
        self.version = version
        head = {"type": "session", "version": version, "id": self.id, "timestamp": self.time(), "cwd": cwd}
        if version == 1:
            del head["version"]
        self.entries.append({**head, **header})

    def time(self) -> str:
        minute, second = divmod(len(self.entries), 60)
        return f"2026-11-01T10:{minute:02d}:{second:02d}.000Z"

    def add(self, kind: str, /, **keys) -> dict:
        entry = {"type": kind, "timestamp": self.time(), **keys}
        if self.version > 1:
            entry = {
                "type": kind,
                "id": uuid.uuid4().hex[:8],
                "parentId": self.leaf,
                "timestamp": self.time(),
                **keys,
            }
            self.leaf = entry["id"]
        self.entries.append(entry)
        return entry

    def message(self, role: str, content=None, **keys) -> dict:
        message = {
            "role": role,
            "content": content,
            "timestamp": 1_795_000_000_000 + len(self.entries),
            **keys,
        }
        return self.add("message", message={key: value for key, value in message.items() if value is not ...})

    def user(self, text: str) -> dict:
        return self.message("user", [{"type": "text", "text": text}])

    def agent(self, *blocks, stop: str = "stop", usage=None, **keys) -> dict:
        content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        keys = {"stopReason": stop, "usage": TOKENS if usage is None else usage, "model": "mock", **keys}
        return self.message("assistant", content, **keys)

    def call(self, name: str, result: str, *, error: bool = False, **arguments) -> dict:
        """Add a call and its result."""
        call = f"call_{uuid.uuid4().hex[:24]}"
        self.agent({"type": "toolCall", "id": call, "name": name, "arguments": arguments}, stop="toolUse")
        return self.result(call, name, result, error=error)

    def result(self, call: str, name: str, text: str, *, error: bool = False, **keys) -> dict:
        content = [{"type": "text", "text": text}]
        return self.message("toolResult", content, toolCallId=call, toolName=name, isError=error, **keys)

    def write(self, folder: Path, name: str = "") -> Path:
        path = folder / (name or f"2026-11-01T10-00-00-000Z_{self.id}.jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(json.dumps(entry) + "\n" for entry in self.entries)
        path.write_text(text, encoding="utf-8")
        return path
