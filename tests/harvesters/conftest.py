"""Transcripts written by hand, record by record, as Claude Code writes them."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest

DATA = Path(__file__).parents[1] / "data" / "transcripts"


class Transcript:
    """Collects records; every method adds what the client would write for it."""

    def __init__(self, folder: Path, *, day: int = 1, session: str = "", **common):
        self.id = session or str(uuid.uuid4())
        self.path = folder / f"{self.id}.jsonl"
        self.records: list[dict] = []
        self.common = {
            "isSidechain": False,
            "cwd": "/home/user/project",
            "version": "2.1.332",
            "entrypoint": "cli",
            "gitBranch": "main",
            **common,
        }
        self.day = day
        self.parent = None

    def add(self, kind: str, **keys):
        minute, second = divmod(len(self.records), 60)
        record = {
            "parentUuid": self.parent,
            "type": kind,
            "uuid": str(uuid.uuid4()),
            "sessionId": self.id,
            "timestamp": f"2026-11-{self.day:02d}T10:{minute:02d}:{second:02d}.000Z",
            **self.common,
            **keys,
        }
        self.records.append({key: value for key, value in record.items() if value is not ...})
        self.parent = record["uuid"]
        return record

    def user(self, content, **keys):
        return self.add("user", message={"role": "user", "content": content}, **keys)

    def agent(self, *blocks, message=None, model="claude-opus-5-5", tokens=(10, 5), **keys):
        content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        return self.add(
            "assistant",
            message={
                "id": message or f"msg_{uuid.uuid4().hex}",
                "role": "assistant",
                "model": model,
                "content": content,
                "usage": {"input_tokens": tokens[0], "output_tokens": tokens[1]},
            },
            **keys,
        )

    def call(self, name="Bash", result="ok", *, error=False, outcome=..., feedback=..., **arguments):
        tool = f"toolu_{uuid.uuid4().hex}"
        self.agent({"type": "tool_use", "id": tool, "name": name, "input": arguments})
        block = {"type": "tool_result", "tool_use_id": tool, "content": result, "is_error": error}
        return self.user([block], toolUseResult=outcome, userFeedback=feedback)

    def write(self) -> Path:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("".join(json.dumps(record) + "\n" for record in self.records), encoding="utf-8")
        return self.path


@pytest.fixture
def data() -> Path:
    return DATA


@pytest.fixture
def projects(private_home: Path) -> Path:
    """The folder of one project's transcripts in the private home."""
    folder = private_home / ".claude" / "projects" / "-home-user-project"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def transcript(projects: Path):
    """Make transcripts; each is dated a day after the one before."""
    made: list[Transcript] = []

    def make(**common) -> Transcript:
        made.append(Transcript(projects, day=len(made) + 1, **common))
        return made[-1]

    return make


@pytest.fixture
def read():
    """Write a transcript and read it back as a session."""
    from skillopt_harvesters import SOURCES, read_file

    def read_back(transcript, claims=None):
        path = transcript.write() if isinstance(transcript, Transcript) else transcript
        return read_file(SOURCES["claude"], path, claims=claims)[0].session

    return read_back
