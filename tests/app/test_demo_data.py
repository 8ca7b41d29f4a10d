"""The transcripts that ship with the demo, and the script that records and cleans them."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections import Counter
from datetime import datetime, timezone
from importlib.resources import files
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[1] / "support"
TRANSCRIPTS = Path(str(files("skillopt_sleep.demo"))) / "transcripts"
SESSIONS = TRANSCRIPTS / "dot-claude/projects/-home-sam-shop"


def load(name: str):
    spec = importlib.util.spec_from_file_location(name, SUPPORT / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def story():
    return load("demo_story").STORY


@pytest.fixture(scope="module")
def cleaner():
    return load("clean_transcript")


@pytest.fixture(scope="module")
def sessions() -> dict[str, list[dict]]:
    return {
        path.stem: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for path in sorted(SESSIONS.glob("*.jsonl"))
    }


def typed(records: list[dict]) -> list[str]:
    return [
        record["message"]["content"]
        for record in records
        if record["type"] == "user"
        and isinstance(record["message"]["content"], str)
        and not record.get("isMeta")
    ]


def test_every_session_of_the_story_was_recorded_word_for_word(story, sessions):
    told = sorted(
        [turn.prompt for turn in sitting.turns] for sitting in story if sitting.about != "slash command"
    )
    recorded = sorted(typed(records) for records in sessions.values())
    slash = [prompts for prompts in recorded if "<command-name>/standup</command-name>" in prompts[0]]
    assert [prompts for prompts in recorded if prompts not in slash] == told
    assert len(slash) == 1


def test_the_readme_counts_what_is_there(story, sessions):
    readme = (TRANSCRIPTS / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| ([^|]+?) \| (\d+) \|", readme, re.MULTILINE))
    kinds = Counter(sitting.about for sitting in story)
    dependency = [turn.prompt for s in story if s.about == "dependency" for turn in s.turns]
    corrections = [prompt for prompt in dependency if "not `pip install`" in prompt]
    assert rows == {
        "sessions": str(len(sessions)),
        "sessions that ask how to add a dependency": str(kinds["dependency"]),
        "asks in them": str(len(dependency) - len(corrections)),
        "corrections in them": str(len(corrections)),
        "sessions that ask for the current UTC time": str(kinds["clock"]),
        "corrections of the UTC time": "1",
        "one-off sessions": str(kinds["one-off"]),
        "slash command sessions": str(kinds["slash command"]),
        "headless sessions": str(kinds["headless"]),
    }
    assert len(sessions) == len(story)


def test_only_the_headless_session_was_not_typed_at_a_terminal(sessions):
    entrypoints = Counter(
        frozenset(record["entrypoint"] for record in records if "entrypoint" in record)
        for records in sessions.values()
    )
    assert entrypoints == {frozenset({"cli"}): len(sessions) - 1, frozenset({"sdk-cli"}): 1}


def test_every_record_is_from_the_recorded_client_and_the_neutral_project(sessions):
    records = [record for session in sessions.values() for record in session]
    assert {record["version"] for record in records if "version" in record} == {"2.1.332"}
    assert {record["cwd"] for record in records if "cwd" in record} == {"/home/sam/shop"}
    assert {record["message"]["model"] for record in records if record["type"] == "assistant"} == {
        "scripted-model"
    }


def test_the_ids_are_those_of_the_files(sessions):
    for name, records in sessions.items():
        assert {record["sessionId"] for record in records if "sessionId" in record} == {name}


def test_nothing_of_the_recording_machine_is_left(sessions):
    text = "\n".join(path.read_text(encoding="utf-8") for path in SESSIONS.glob("*.jsonl"))
    assert not re.findall(r"sk-[A-Za-z0-9]|127\.0\.0\.1|localhost|/root|/tmp/r|record-demo", text)
    assert set(re.findall(r"/home/\w+", text)) == {"/home/sam"}
    assert set(re.findall(r"Linux [\w.-]+", text)) <= {"Linux 6.1.0"}
    assert not re.search(r"api-request", text)


def test_no_text_of_the_client_is_shipped_at_length(sessions):
    def texts(value):
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            for key, item in value.items():
                if key != "gitStatus":
                    yield from texts(item)
        elif isinstance(value, list):
            for item in value:
                yield from texts(item)

    attachments = [r for records in sessions.values() for r in records if r["type"] == "attachment"]
    assert attachments
    assert max(len(text) for record in attachments for text in texts(record)) <= 80


def test_the_whole_is_smaller_than_400_kilobytes():
    assert sum(path.stat().st_size for path in TRANSCRIPTS.rglob("*") if path.is_file()) < 400_000


def test_times_are_those_of_the_story_and_run_forward_in_a_session(story, sessions):
    starts = sorted(
        next(record["timestamp"] for record in records if record["type"] == "user")
        for records in sessions.values()
    )
    assert starts == [f"{sitting.start}.000Z" for sitting in story]
    for records in sessions.values():
        stamps = [r["timestamp"] for r in records if r["type"] in {"user", "assistant"}]
        assert stamps == sorted(stamps)
        days = {r["attachment"]["date"] for r in records if r.get("attachment", {}).get("type") == "date"}
        assert days == {stamps[0][:10]}


def test_the_parent_of_every_record_is_in_the_file(sessions):
    for records in sessions.values():
        known = {record.get("uuid") for record in records} | {None}
        assert {record.get("parentUuid") for record in records} <= known


LINES = [
    {"type": "mode", "mode": "normal"},
    {
        "type": "user",
        "timestamp": "2030-01-01T10:00:00.000Z",
        "cwd": "/tmp/x/shop",
        "message": {"role": "user", "content": "since 2029-12-31? " + "w" * 200},
    },
    {"type": "api-request", "timestamp": "2030-01-01T10:00:00.010Z"},
    {
        "type": "attachment",
        "timestamp": "2030-01-01T10:00:00.020Z",
        "attachment": {"type": "date", "date": "2030-01-01", "content": "c" * 200},
    },
    {
        "type": "user",
        "timestamp": "2030-01-01T10:00:03.500Z",
        "message": {"role": "user", "content": "next"},
    },
    {"type": "cost-state", "startTime": 1893492000000},
]


@pytest.fixture
def cleaned(cleaner) -> list[dict]:
    turns = [
        (4, datetime(2026, 5, 6, 18, 0, tzinfo=timezone.utc)),
        (5, datetime(2026, 5, 6, 18, 2, tzinfo=timezone.utc)),
    ]
    lines = cleaner.clean([json.dumps(line) for line in LINES], turns=turns, names={"/tmp/x": "/home/sam"})
    return [json.loads(line) for line in lines]


def test_cleaning_moves_each_turn_to_its_own_time(cleaned):
    assert [record.get("timestamp") for record in cleaned] == [
        None,
        "2026-05-06T18:00:00.000Z",
        "2026-05-06T18:00:00.020Z",
        "2026-05-06T18:02:00.000Z",
        None,
    ]
    assert cleaned[2]["attachment"]["date"] == "2026-05-06"
    assert cleaned[4]["startTime"] == 1778090516500


def test_cleaning_cuts_the_clients_text_and_keeps_the_persons(cleaned):
    assert cleaned[1]["message"]["content"] == "since 2029-12-31? " + "w" * 200
    assert cleaned[1]["cwd"] == "/home/sam/shop"
    assert cleaned[2]["attachment"]["content"] == "c" * 30 + "…[170 characters of client text cut]"


def test_cleaning_drops_the_repeated_requests(cleaned):
    assert [record["type"] for record in cleaned] == ["mode", "user", "attachment", "user", "cost-state"]
