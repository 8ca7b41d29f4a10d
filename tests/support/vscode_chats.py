"""Chat sessions as VS Code keeps them: a document, an export, or a log of operations."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

COPILOT = {
    "extensionId": {"value": "GitHub.copilot-chat", "_lower": "github.copilot-chat"},
    "extensionVersion": "0.37.6",
    "id": "github.copilot.editsAgent",
    "name": "agent",
}
FILE = {"$mid": 1, "path": "/home/user/project/greet.py", "scheme": "file"}


def terminal(command: str, *, code: int | None = 0, output: str = "", **more) -> dict:
    """Return the part of a command line that was run."""
    data: dict = {"kind": "terminal", "commandLine": {"original": command}, "language": "sh"}
    if code is not None:
        data["terminalCommandState"] = {"exitCode": code, "timestamp": 1}
        data["terminalCommandOutput"] = {"text": output}
    return tool("run_in_terminal", toolSpecificData=data, **more)


def tool(name: str, **more) -> dict:
    """Return the part of a tool call."""
    return {
        "kind": "toolInvocationSerialized",
        "toolId": name,
        "toolCallId": f"call_{uuid.uuid4().hex}",
        "isConfirmed": {"type": 1},
        "isComplete": True,
        "invocationMessage": {"value": "Working"},
        **more,
    }


class Chat:
    """Collects requests."""

    def __init__(self, *, session: str = ""):
        self.id = session or str(uuid.uuid4())
        self.requests: list[dict] = []

    def ask(self, text, *response, **more) -> dict:
        number = len(self.requests)
        request = {
            "requestId": f"request_{uuid.uuid4()}",
            "message": {"text": text, "parts": [{"kind": "text", "text": text}]},
            "variableData": {"variables": []},
            "response": [{"value": part} if isinstance(part, str) else part for part in response],
            "agent": COPILOT,
            "timestamp": 1795957800000 + number * 60_000,
            "modelId": "copilot/claude-sonnet-4",
            "modelState": {"value": 1, "completedAt": 1795957830000 + number * 60_000},
            "result": {"timings": {"totalElapsed": 5}, "metadata": {"toolCallRounds": []}},
            **more,
        }
        self.requests.append({key: value for key, value in request.items() if value is not ...})
        return self.requests[-1]

    @property
    def state(self) -> dict:
        return {
            "version": 3,
            "creationDate": 1795957800000,
            "responderUsername": "GitHub Copilot",
            "initialLocation": "panel",
            "sessionId": self.id,
            "requests": list(self.requests),
        }

    def write(self, folder: Path, *, indent: int | None = None) -> Path:
        """Write `<folder>/chatSessions/<id>.json`."""
        path = folder / "chatSessions" / f"{self.id}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.state, indent=indent), encoding="utf-8")
        return path

    def export(self, path: Path) -> Path:
        """Write what "Chat: Export Session" does: no session id, no version, no dates."""
        kept = ("responderUsername", "initialLocation", "requests")
        path.write_text(json.dumps({key: self.state[key] for key in kept}, indent=2), encoding="utf-8")
        return path

    def write_log(self, folder: Path, operations=()) -> Path:
        """Write `<folder>/chatSessions/<id>.jsonl`: this state, then the operations."""
        path = folder / "chatSessions" / f"{self.id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [{"kind": 0, "v": self.state}, *operations]
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        path.write_text(text, encoding="utf-8")
        return path


def put(path: list, value) -> dict:
    return {"kind": 1, "k": path, "v": value}


def push(path: list, *items, cut: int | None = None) -> dict:
    return {"kind": 2, "k": path, "v": list(items), **({} if cut is None else {"i": cut})}


def delete(path: list) -> dict:
    return {"kind": 3, "k": path}
