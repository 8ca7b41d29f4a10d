"""Records that are taken many at a time give the session they give one by one."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from skillopt_harvesters import SOURCES, Session, read_file
from skillopt_harvesters.sources.codex.session import CodexReader
from skillopt_harvesters.sources.copilot import steps as copilot_steps
from skillopt_harvesters.sources.copilot.session import CopilotReader

DATA = Path(__file__).parents[1] / "data" / "transcripts"
READERS = {"codex": CodexReader, "copilot": CopilotReader}
FILES = [
    pytest.param(client, path, id=f"{client}-{path.parent.name[-12:]}-{path.stem[-12:]}")
    for client in READERS
    for path in sorted((DATA / client).rglob("*.jsonl"))
]


def sessions_of(client: str, path: Path) -> list[Session | None]:
    return [reading.session for reading in read_file(SOURCES[client], path)]


def told_by(client: str, path: Path) -> list[tuple[Session | None, bytes]]:
    """Return the sessions, each with what the next reading is told."""
    return [(reading.session, reading.state) for reading in read_file(SOURCES[client], path)]


def assert_both_ways_agree(client: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    together = told_by(client, path)
    with monkeypatch.context() as patched:
        patched.setattr(READERS[client], "take_chunk", lambda _reader, _chunk: False)
        patched.setattr(copilot_steps.Steps, "take", lambda _steps, _events, start, plain: start)
        assert together == told_by(client, path)


@pytest.mark.parametrize(("client", "path"), FILES)
def test_a_recorded_file_reads_the_same_both_ways(client, path, monkeypatch):
    assert_both_ways_agree(client, path, monkeypatch)


def strange(record: dict, rng: random.Random) -> dict:
    """Return a record of which one value has another type, or that lacks a key."""
    place = record
    while (inner := [value for value in place.values() if isinstance(value, dict)]) and rng.random() < 0.7:
        place = rng.choice(inner)
    if place:
        key = rng.choice(sorted(place))
        if rng.random() < 0.3:
            del place[key]
        else:
            place[key] = rng.choice([None, 7, -1, True, "x", [], {}, ["y"], {"type": "z"}, 1e400])
    return record


@pytest.mark.parametrize("client", READERS)
@pytest.mark.parametrize("seed", range(40))
def test_a_file_with_strange_records_reads_the_same_both_ways(client, seed, tmp_path, monkeypatch):
    rng = random.Random(seed)
    source = rng.choice(sorted((DATA / client).rglob("*.jsonl")))
    records = [json.loads(line) for line in source.read_bytes().splitlines() if line.strip()]
    for place in rng.sample(range(1, len(records)), min(2, len(records) - 1)):
        records[place] = strange(records[place], rng)
    if rng.random() < 0.5 and len(records) > 3:
        at = rng.randrange(1, len(records) - 1)
        records[at], records[at + 1] = records[at + 1], records[at]
    path = tmp_path / source.relative_to(DATA / client)
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in records))
    assert_both_ways_agree(client, path, monkeypatch)


TURN = "019a0000-0000-7000-8000-00000000000"
CALLS = ["call_" + letter * 24 for letter in "abcd"] + ["tool:of-a-server-of-another-kind/1", "c1", "", None]
COMMANDS = ["ls", "pytest -q", "cat /p/skills/tidy/SKILL.md", "apply *** Begin Patch\n*** Add File: a\n", 7]
OUTPUTS = [
    "Chunk ID: a1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nfine",
    "Exit code: 1\nWall time: 1 seconds\nOutput:\nbad",
    "Process running with session ID 5\nOutput:\n",
    "exec command rejected by user",
    "aborted by user after 1s",
    {"content": "x", "success": False},
    None,
]


def any_step(rng: random.Random) -> tuple[str, dict]:
    """Return type and payload of a record of an agent at work, of which some are as hardly any is."""
    call = rng.choice(CALLS)
    usage = {"input_tokens": rng.randint(0, 90), "cached_input_tokens": rng.choice([0, 5, 400])}
    usage |= {"output_tokens": rng.choice([3, 0, 1 << 50, None])}
    kind = rng.choice(["call", "call", "output", "usage", "sum", "end", "end", "said", "reasoning"])
    if kind == "call":
        name = rng.choice(["exec_command", "exec_command", "shell", "write_stdin", "apply_patch", None])
        given = {rng.choice(["cmd", "command"]): rng.choice(COMMANDS), "session_id": 5}
        arguments = rng.choice([json.dumps(given), json.dumps(given), "{torn", given, None])
        return "response_item", {
            "type": "function_call",
            "name": name,
            "arguments": arguments,
            "call_id": call,
        }
    if kind == "output":
        return "response_item", {
            "type": "function_call_output",
            "call_id": call,
            "output": rng.choice(OUTPUTS),
        }
    if kind == "usage":
        return "token_usage_record", {
            "response_id": rng.choice(["resp_1", "resp_2", "", None]),
            "usage": usage,
        }
    if kind == "sum":
        info = rng.choice([{"total_token_usage": usage, "last_token_usage": usage}, {}, None])
        return "event_msg", {"type": "token_count", "info": info}
    if kind == "reasoning":
        return "response_item", {"type": "reasoning", "summary": []}
    if kind == "said":
        item: dict = {
            "type": "AgentMessage",
            "content": [{"type": "Text", "text": rng.choice(["Done.", "I look."])}],
        }
    else:
        item = {"type": rng.choice(["CommandExecution", "CommandExecution", "FileChange"]), "id": call}
        item |= {"status": rng.choice(["completed", "completed", "failed"]), "command": ["bash", "-lc", "ls"]}
        item |= {"exit_code": rng.choice([0, 0, 2, None]), "source": rng.choice(["agent", "userShell"])}
        item |= rng.choice([{}, {}, {"changes": {"/p/b": {}}}])
    thread = rng.choice([TURN + "0", TURN + "0", "another", None])
    return "event_msg", {"type": "item_completed", "thread_id": thread, "turn_id": TURN + "1", "item": item}


@pytest.mark.parametrize("seed", range(60))
def test_the_steps_of_an_agent_in_any_order_read_the_same_both_ways(seed, tmp_path, monkeypatch):
    rng = random.Random(seed)
    prompt = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "tidy up"}]}
    told = [
        ("session_meta", {"id": TURN + "0", "cwd": "/p", "originator": "codex-tui", "source": "cli"}),
        ("event_msg", {"type": "task_started", "turn_id": TURN + "1"}),
        ("turn_context", {"turn_id": TURN + "1", "cwd": "/p", "model": "m"}),
        ("response_item", prompt),
    ]
    told += [any_step(rng) for _ in range(80)]
    path = tmp_path / f"rollout-2026-11-01T10-00-00-{TURN}0.jsonl"
    with path.open("w") as file:
        for number, (kind, payload) in enumerate(told):
            time = f"2026-11-01T10:00:{number % 60:02d}.000Z"
            record = {"timestamp": time, "type": kind, "payload": payload}
            file.write(json.dumps(record, separators=(",", ":")) + "\n")
    assert_both_ways_agree("codex", path, monkeypatch)
    assert sessions_of("codex", path)[0].turns


def any_event(rng: random.Random) -> tuple[str, dict]:
    """Return type and data of an event of a Copilot session, of which some are as hardly any is."""
    call, name = rng.choice(CALLS), rng.choice(["bash", "bash", "bash", "view", "edit", "task", "", None])
    given = {"command": rng.choice(COMMANDS), "path": "/p/skills/tidy/SKILL.md"}
    arguments = rng.choice([given, given, given, json.dumps(given), "{torn", None])
    kind = rng.choice(["said", "said", "start", "end", "end", "usage", "usage", "rare"])
    if kind == "said":
        asked = {"toolCallId": call, "name": name, "arguments": arguments}
        said: dict = {"messageId": "m1", "content": rng.choice(["", "\n ", "Done.", "I look."])}
        said["toolRequests"] = rng.choice([[asked], [asked], [asked, asked], [], None])
        said |= rng.choice([{}, {}, {"model": "m2"}, {"parentToolCallId": call}, {"outputTokens": 5}])
        return "assistant.message", said | rng.choice([{}, {"chunkCount": 2, "apiCallId": "a1"}])
    if kind == "start":
        return "tool.execution_start", {"toolCallId": call, "toolName": name, "arguments": arguments}
    if kind == "end":
        code = rng.choice([{"exitCode": 0}, {"exitCode": 0}, {"exitCode": 2}, {}, None])
        text = rng.choice(["fine", "bad\n<exited with exit code 3>"])
        ended = {"toolCallId": call, "success": rng.choice([True, True, True, None, False])}
        ended |= {"shellExecution": code, "result": rng.choice([{"content": text}, text, None])}
        if rng.random() < 0.2:
            ended["fileEdits"] = [{"path": "/p/a"}]
        error = {"message": "The user rejected this tool call. User feedback: no", "code": "rejected"}
        return "tool.execution_complete", ended | rng.choice([{}, {"error": error}])
    if kind == "usage":
        usage = {"inputTokens": rng.randint(0, 90), "outputTokens": rng.choice([3, 0, 1 << 50, None])}
        usage["apiCallId"] = rng.choice(["a1", "a2", "chatcmpl-" + "x" * 24, "", None])
        return rng.choice(["session.usage_record", "session.usage_record", "assistant.usage"]), rng.choice(
            [{"usage": usage}, {"usage": usage}, usage]
        )
    return rng.choice(
        [
            ("user.message", {"content": rng.choice(["go on", "no, the other one", ""])}),
            ("abort", {"reason": "user"}),
            ("session.resume", {}),
            ("assistant.turn_end", {"turnId": "1"}),
            (
                "session.shutdown",
                {"modelMetrics": {"m": {"usage": {"inputTokens": 900, "outputTokens": 70}}}},
            ),
        ]
    )


@pytest.mark.parametrize("seed", range(60))
def test_the_events_of_a_copilot_session_in_any_order_read_the_same_both_ways(seed, tmp_path, monkeypatch):
    rng = random.Random(seed)
    told = [
        ("session.start", {"sessionId": "s", "producer": "copilot-agent", "copilotVersion": "1.0.102"}),
        ("user.message", {"content": "tidy up"}),
        *[any_event(rng) for _ in range(80)],
    ]
    path = tmp_path / "s" / "events.jsonl"
    path.parent.mkdir()
    with path.open("w") as file:
        for number, (kind, data) in enumerate(told):
            event: dict = {"type": kind, "data": data, "id": f"{number:08x}-0000-4000-8000-000000000000"}
            event |= {"timestamp": f"2026-11-01T10:00:{number % 60:02d}.000Z", "parentId": None}
            event |= {"agentId": "a"} if rng.random() < 0.05 else {}
            event |= {"id": f"event {number}"} if seed % 5 == 0 and rng.random() < 0.05 else {}
            file.write(json.dumps(event, separators=(",", ":")) + "\n")
    assert_both_ways_agree("copilot", path, monkeypatch)
    assert sessions_of("copilot", path)[0].turns
