"""Sessions as Claude Code writes them, made up: the same kind of ask on many days, corrected in two."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from pathlib import Path

CORRECTION = "No, use `uv add`, not `pip install`"
TEST_CORRECTION = "No, use `make check`, not `pytest`"
PACKAGES = (
    "rich httpx click attrs pandas numpy scipy flask django jinja2 pytest hypothesis black mypy ruff uvicorn"
    " starlette pydantic sqlalchemy alembic celery redis boto3 pillow requests lxml polars duckdb tqdm arrow"
    " pendulum babel markdown pygments docutils sphinx mkdocs typer textual watchdog"
).split()
_NAMES = uuid.UUID("2b0c7a3e-0f7b-4a5e-9b0b-6d3f3a1c9e55")


def write_session(
    folder: Path,
    name: str,
    turns: Sequence[tuple[str, str]],
    *,
    cwd: Path | str,
    day: int = 1,
    entrypoint: str = "cli",
) -> Path:
    """Write one session of (what the user typed, what the agent answered); ids follow from `name`."""
    session = str(uuid.uuid5(_NAMES, name))
    records: list[dict] = []
    for prompt, answer in turns:
        usage = {"input_tokens": 10, "output_tokens": 5}
        said = {"role": "assistant", "model": "claude-opus-5-5", "usage": usage}
        message = {"id": f"msg_{len(records)}", **said, "content": [{"type": "text", "text": answer}]}
        for kind, body in (("user", {"role": "user", "content": prompt}), ("assistant", message)):
            records.append(
                {
                    "parentUuid": records[-1]["uuid"] if records else None,
                    "isSidechain": False,
                    "type": kind,
                    "uuid": str(uuid.uuid5(_NAMES, f"{name}/{len(records)}")),
                    "sessionId": session,
                    "timestamp": f"2026-{1 + day // 28:02}-{1 + day % 28:02}T10:00:{len(records):02}.000Z",
                    "cwd": str(cwd),
                    "version": "2.1.332",
                    "entrypoint": entrypoint,
                    "gitBranch": "main",
                    "message": body,
                }
            )
    path = folder / f"{session}.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def ask_for(package: str) -> str:
    """Return how the user asks for a package."""
    return f"Add the {package} package to the project"


def work_for_days(
    projects: Path,
    cwd: Path,
    *,
    first: int = 0,
    days: int = 20,
    corrected: Sequence[int] = (3, 11),
    tests: bool = False,
) -> None:
    """Write a session a day that asks for a package (or its tests), into the client's folder."""
    folder = projects / str(cwd).replace("/", "-")
    for day in range(first, first + days):
        package = PACKAGES[day]
        turns = [(ask_for(package), f"pip install {package}")]
        answer = (CORRECTION, f"uv add {package}")
        if tests:
            turns = [(f"Run all tests of {package}", f"pytest {package}")]
            answer = (TEST_CORRECTION, f"make check {package}")
        if day in corrected:
            turns.append(answer)
        write_session(folder, f"{turns[0][0]} in {cwd.name}", turns, cwd=cwd, day=day)
