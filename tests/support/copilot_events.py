"""Events as Copilot writes them: by the CLI, and by its extension for VS Code."""

from __future__ import annotations

import json
import uuid
from pathlib import Path


class Events:
    """Collects events; every method adds what the client would write for it."""

    def __init__(self, *, session: str = "", day: int = 1, cwd: str = "/home/user/project", **start):
        self.id = session or str(uuid.uuid4())
        self.day = day
        self.records: list[dict] = []
        self.add(
            "session.start",
            sessionId=self.id,
            version=1,
            producer="copilot-agent",
            **{"copilotVersion": "1.0.102", "context": {"cwd": cwd, "branch": "main"}, **start},
        )

    def add(self, kind: str, /, *, agent=None, **data):
        minute, second = divmod(len(self.records), 60)
        record = {
            "type": kind,
            "data": data,
            "id": str(uuid.uuid4()),
            "timestamp": f"2026-11-{self.day:02d}T10:{minute:02d}:{second:02d}.000Z",
            "parentId": self.records[-1]["id"] if self.records else None,
        }
        if agent:
            record["agentId"] = agent
        self.records.append(record)
        return record

    def user(self, content, **data):
        return self.add("user.message", content=content, interactionId="i", **data)

    def agent(self, content="", *requests, **data):
        data = {"messageId": str(uuid.uuid4()), "toolRequests": list(requests), **data}
        return self.add("assistant.message", content=content, **data)

    def request(self, name="bash", arguments=None, call=""):
        return {
            "toolCallId": call or f"call_{uuid.uuid4().hex}",
            "name": name,
            "arguments": {"command": "ls"} if arguments is None else arguments,
        }

    def call(self, name="bash", arguments=None, *, success=True, **outcome):
        """Add a call as newer clients tell it: asked for, started, completed."""
        request = self.request(name, arguments)
        self.agent("", request)
        self.add(
            "tool.execution_start",
            toolCallId=request["toolCallId"],
            toolName=name,
            arguments=request["arguments"],
        )
        return self.complete(request["toolCallId"], success=success, **outcome)

    def complete(self, call, *, success=True, **outcome):
        return self.add("tool.execution_complete", toolCallId=call, success=success, **outcome)

    def receipt(self, call, inputs, outputs, **more):
        usage = {"apiCallId": call, "inputTokens": inputs, "outputTokens": outputs}
        return self.add("session.usage_record", usage=usage, **more)

    def shutdown(self, inputs, outputs):
        usage = {"inputTokens": inputs, "outputTokens": outputs, "cacheReadTokens": 0, "cacheWriteTokens": 0}
        return self.add("session.shutdown", modelMetrics={"some-model": {"usage": usage}})

    @property
    def text(self) -> str:
        return "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in self.records)

    def write(self, folder: Path) -> Path:
        """Write `<folder>/<id>/events.jsonl`."""
        path = folder / self.id / "events.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text, encoding="utf-8")
        return path


class Transcript(Events):
    """What the extension records for its hooks: results without their output."""

    def __init__(self, **options):
        super().__init__(copilotVersion="0.37.6", vscodeVersion="1.109.3", context=None, **options)

    def user(self, content, **data):
        return self.add("user.message", content=content, attachments=[], **data)

    def agent(self, content="", *requests, **data):
        told = [{**request, "arguments": json.dumps(request["arguments"])} for request in requests]
        return super().agent(content, *told, **data)

    def write(self, folder: Path) -> Path:
        """Write `<folder>/GitHub.copilot-chat/transcripts/<id>.jsonl`."""
        path = folder / "GitHub.copilot-chat" / "transcripts" / f"{self.id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text, encoding="utf-8")
        return path
