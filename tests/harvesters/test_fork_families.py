"""Families of forks cut anywhere and harvested in any order: everything counts once, somewhere."""

from __future__ import annotations

import json
import os
import random
import tempfile
import uuid
from collections import Counter
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from skillopt_harvesters import Signal
from tests.harvesters.conftest import Transcript
from tests.harvesters.rollouts import Rollout
from tests.harvesters.test_codex_forks import HOUR, START
from tests.harvesters.test_fork_orders import PiFork
from tests.support.copilot_events import Events
from tests.support.indexes import Index
from tests.support.pi_session import PiSession
from tests.support.vscode_chats import Chat, terminal

seeds = st.integers(0, 2**32)


def harvest_in_pieces(dice, folder, files):
    """Write files in any order, some in two pieces, with harvests in between; return the sessions."""

    todo = []
    for path, lines in files:
        cuts = sorted({dice.randint(1, len(lines)), len(lines)}) if dice.random() < 0.5 else [len(lines)]
        todo.append([(path, b"".join(lines[:cut])) for cut in cuts])
    index = Index(folder / "state.db", folder)
    moment = 0
    while todo:
        queue = dice.choice(todo)
        path, data = queue.pop(0)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        moment += 1
        os.utime(path, (moment, moment))
        if not queue:
            todo.remove(queue)
        if dice.random() < 0.7 or not todo:
            index.harvest()
    found = list(index.sessions.values())
    index.connection.close()
    return found


def count(sessions):
    """Return what was found: prompts, calls, tokens put in and out, refusals, interruptions."""
    turns = [turn for session in sessions for turn in session.turns]
    return {
        "prompts": Counter(prompt for session in sessions for prompt in session.prompts),
        "calls": Counter(call.command for turn in turns for call in turn.tool_calls),
        "input": sum(session.tokens.input for session in sessions),
        "output": sum(session.tokens.output for session in sessions),
        "refusals": Counter(words for turn in turns for words in turn.refusals),
        "interruptions": sum(Signal.INTERRUPTION in turn.signals for turn in turns),
    }


class Names:
    """Prompts, commands and words that come once each."""

    def __init__(self):
        self.number = 0

    def __call__(self, what):
        self.number += 1
        return f"{what} {self.number}"


REFUSAL = "The user doesn't want to proceed with this tool use. The tool use was rejected."


def act_claude(dice, t, name):
    """Let a session go on: a prompt, and what the agent does for it."""
    t.user(name("prompt"))
    for _ in range(dice.randint(0, 3)):
        message, tool = f"msg_{uuid.uuid4().hex}", f"toolu_{uuid.uuid4().hex}"
        spent = (dice.randint(1, 9), dice.randint(1, 9))
        if dice.random() < 0.5:
            t.agent("looking", message=message, tokens=(spent[0], dice.randint(0, spent[1])))
        call = {"type": "tool_use", "id": tool, "name": "Bash", "input": {"command": name("run")}}
        t.agent(call, message=message, tokens=spent)
        ending = dice.random()
        block = {"type": "tool_result", "tool_use_id": tool, "content": "ok", "is_error": False}
        if ending < 0.2:
            block |= {"content": REFUSAL, "is_error": True}
            t.user([block], toolUseResult="User rejected tool use", userFeedback=name("because"))
        elif ending < 0.9:
            t.user([block])
        if ending >= 0.8:
            t.user([{"type": "text", "text": "[Request interrupted by user]"}])
            break
    if dice.random() < 0.6:
        t.agent("done", tokens=(dice.randint(1, 9), dice.randint(1, 9)))


def expect_claude(transcripts):
    """Return what there is, by the ids of records and messages."""
    records = {record["uuid"]: record for t in transcripts for record in t.records}
    expected = {"prompts": Counter(), "calls": Counter(), "refusals": Counter(), "interruptions": 0}
    usage = {}
    for record in records.values():
        message = record["message"]
        if record["type"] == "assistant":
            spent = message["usage"]
            known = usage.get(message["id"], (0, 0))
            usage[message["id"]] = (spent["input_tokens"], max(spent["output_tokens"], known[1]))
            expected["calls"] += Counter(b["input"]["command"] for b in message["content"] if "input" in b)
        elif isinstance(message["content"], str):
            expected["prompts"][message["content"]] += 1
        elif "userFeedback" in record:
            expected["refusals"][record["userFeedback"]] += 1
        elif message["content"][0]["type"] == "text":
            expected["interruptions"] += 1
    expected["input"] = sum(spent[0] for spent in usage.values())
    expected["output"] = sum(spent[1] for spent in usage.values())
    return expected


@given(seeds, st.sampled_from(["marked", "unmarked", "named"]))
@settings(max_examples=40)
def test_everything_of_claude_code_counts_once(seed, kind):
    dice, name = random.Random(seed), Names()
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / ".claude" / "projects" / "-home-user-project"
        made = [Transcript(folder)]
        for number in range(dice.randint(1, 4)):
            for _ in range(dice.randint(1, 3)):
                act_claude(dice, made[-1], name)
            original = dice.choice(made)
            fork = Transcript(folder, day=number + 2)
            copied = original.records[: dice.randint(1, len(original.records))]
            other = {"sessionId": original.id if kind == "named" else fork.id}
            mark = {"forkedFrom": {"sessionId": original.id, "messageUuid": "x"}} if kind == "marked" else {}
            fork.records = [{**record, **other, **mark} for record in copied]
            fork.parent = copied[-1]["uuid"]
            made.append(fork)
        act_claude(dice, made[-1], name)
        files = [(t.path, [json.dumps(record).encode() + b"\n" for record in t.records]) for t in made]
        assert count(harvest_in_pieces(dice, Path(home), files)) == expect_claude(made)


def act_codex(dice, r, name, marks):
    """Let a session go on: a prompt or two, and what the agent does for them."""
    r.begin()
    r.prompt(name("prompt"), events=dice.random() < 0.8)
    if dice.random() < 0.2:
        r.prompt(name("prompt"))
    for _ in range(dice.randint(0, 3)):
        call = r.call(name("run"), code=dice.choice([0, 1]))
        if dice.random() < 0.3:
            r.event("exec_command_end", call_id=call, exit_code=0)
        read, written = dice.randint(1, 9), dice.randint(1, 9)
        r.spend(read, written)
        marks.append((r.lines[-1], read, written))
    if dice.random() < 0.2:
        r.event("turn_aborted", turn_id=r.task, reason="interrupted")
    elif dice.random() < 0.7:
        r.answer(name("did"))


def expect_codex(rollouts, spent):
    lines = {line[38:] for r in rollouts for line in r.lines}
    payloads = [
        json.loads(line)["payload"] for line in (b'{"timestamp":"' + b"x" * 24 + part for part in lines)
    ]
    prompts, calls = set(), Counter()
    for payload in payloads:
        if payload.get("role") == "user":
            prompts.add(payload["content"][0]["text"])
        elif payload.get("type") == "function_call":
            calls[json.loads(payload["arguments"])["cmd"]] += 1
    return {
        "prompts": Counter(prompts),
        "calls": calls,
        "input": sum(read for _, read, _ in spent),
        "output": sum(written for *_, written in spent),
        "refusals": Counter(),
        "interruptions": sum(payload.get("type") == "turn_aborted" for payload in payloads),
    }


@given(seeds)
@settings(max_examples=40)
def test_everything_of_codex_counts_once_though_its_forks_do_not_say_what_they_are(seed):
    dice, name, spent = random.Random(seed), Names(), []
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / ".codex" / "sessions" / "2026" / "11" / "18"
        made = [Rollout(folder, ms=START)]
        for number in range(dice.randint(1, 4)):
            for _ in range(dice.randint(1, 3)):
                act_codex(dice, made[-1], name, spent)
            original = dice.choice(made)
            fork = Rollout(folder, ms=START + (number + 1) * HOUR)
            last = [0, 0, 0]
            for line in original.lines[1 : dice.randint(2, len(original.lines))]:
                fork.line(line.replace(line[14:38], fork.time.encode(), 1))
                told = json.loads(line)["payload"]
                if told["type"] == "token_count":
                    usage = told["info"]["total_token_usage"]
                    last = [usage["input_tokens"], usage["output_tokens"], 0]
            fork.spent = last
            made.append(fork)
        act_codex(dice, made[-1], name, spent)
        files = [(r.path, [line + b"\n" for line in r.lines]) for r in made]
        assert count(harvest_in_pieces(dice, Path(home), files)) == expect_codex(made, spent)


def act_copilot(dice, events, name):
    events.user(name("prompt"))
    for _ in range(dice.randint(0, 3)):
        request = events.request("bash", {"command": name("run")})
        events.agent("", request, outputTokens=dice.randint(1, 9))
        told = {"toolCallId": request["toolCallId"], "toolName": "bash"}
        events.add("tool.execution_start", arguments=request["arguments"], **told)
        ending = dice.random()
        if ending < 0.3:
            kind = {"kind": "denied-interactively-by-user", "feedback": name("because")}
            events.add("permission.completed", toolCallId=request["toolCallId"], result=kind)
        if ending < 0.9:
            events.complete(request["toolCallId"], success=ending > 0.3)
        else:
            events.add("abort", reason="user_initiated")
            break
    if dice.random() < 0.6:
        events.agent(name("did"), outputTokens=dice.randint(1, 9))


def expect_copilot(made):
    records = {record["id"]: record for events in made for record in events.records}.values()
    told = [(record["type"], record["data"]) for record in records]
    said = [data for kind, data in told if kind == "assistant.message"]
    return {
        "prompts": Counter(data["content"] for kind, data in told if kind == "user.message"),
        "calls": Counter(
            request["arguments"]["command"] for data in said for request in data["toolRequests"]
        ),
        "input": 0,
        "output": sum(data["outputTokens"] for data in said),
        "refusals": Counter(
            data["result"]["feedback"] for kind, data in told if kind == "permission.completed"
        ),
        "interruptions": sum(kind == "abort" for kind, _ in told),
    }


@given(seeds)
@settings(max_examples=40)
def test_everything_of_copilot_counts_once(seed):
    dice, name = random.Random(seed), Names()
    with tempfile.TemporaryDirectory() as home:
        made = [Events()]
        for number in range(dice.randint(1, 4)):
            for _ in range(dice.randint(1, 3)):
                act_copilot(dice, made[-1], name)
            original = dice.choice(made)
            fork = Events(day=number + 2)
            fork.records += original.records[1 : dice.randint(2, len(original.records))]
            made.append(fork)
        act_copilot(dice, made[-1], name)
        folder = Path(home) / ".copilot" / "session-state"
        files = [
            (folder / e.id / "events.jsonl", [json.dumps(record).encode() + b"\n" for record in e.records])
            for e in made
        ]
        assert count(harvest_in_pieces(dice, Path(home), files)) == expect_copilot(made)


def act_pi(dice, session, name):
    session.user(name("prompt"))
    for _ in range(dice.randint(0, 3)):
        call, usage = f"call_{uuid.uuid4().hex}", {"input": dice.randint(1, 9), "output": dice.randint(1, 9)}
        tool = {"type": "toolCall", "id": call, "name": "bash", "arguments": {"command": name("run")}}
        session.agent(tool, stop="toolUse", usage=usage)
        ending = dice.random()
        if ending < 0.8:
            session.result(call, "bash", "ok")
        elif ending < 0.9:
            session.result(call, "bash", "Command aborted", error=True)
            break
        else:
            session.agent("", stop="aborted", usage={})
            break
    if dice.random() < 0.6:
        session.agent(name("did"), usage={"input": dice.randint(1, 9), "output": dice.randint(1, 9)})


def expect_pi(made):
    entries = {e["id"]: e for session in made for e in session.entries if e["type"] == "message"}
    messages = [entry["message"] for entry in entries.values()]
    blocks = [block for message in messages for block in message["content"]]
    stops = [m for m in messages if m.get("stopReason") == "aborted" or m.get("isError")]
    return {
        "prompts": Counter(m["content"][0]["text"] for m in messages if m["role"] == "user"),
        "calls": Counter(block["arguments"]["command"] for block in blocks if block["type"] == "toolCall"),
        "input": sum(m["usage"].get("input", 0) for m in messages if "usage" in m),
        "output": sum(m["usage"].get("output", 0) for m in messages if "usage" in m),
        "refusals": Counter(),
        "interruptions": len(stops),
    }


@given(seeds)
# A fork has a call, and its original what became of it.
@example(19657091)
@settings(max_examples=40)
def test_everything_of_pi_counts_once(seed):
    dice, name = random.Random(seed), Names()
    with tempfile.TemporaryDirectory() as home:
        made = [PiSession()]
        for number in range(dice.randint(1, 4)):
            for _ in range(dice.randint(1, 3)):
                act_pi(dice, made[-1], name)
            original = dice.choice(made)
            fork = PiFork(number + 12)
            fork.entries += original.entries[1 : dice.randint(2, len(original.entries))]
            fork.leaf = fork.entries[-1]["id"]
            made.append(fork)
        act_pi(dice, made[-1], name)
        folder = Path(home) / ".pi" / "agent" / "sessions" / "--home-user-project--"
        files = [
            (
                folder / f"2026-11-01T10-00-00-000Z_{session.id}.jsonl",
                [json.dumps(entry).encode() + b"\n" for entry in session.entries],
            )
            for session in made
        ]
        assert count(harvest_in_pieces(dice, Path(home), files)) == expect_pi(made)


@given(seeds)
@settings(max_examples=25)
def test_everything_of_vs_code_counts_once(seed):
    dice, name = random.Random(seed), Names()
    with tempfile.TemporaryDirectory() as home:
        chats = Path(home) / ".config" / "Code" / "User" / "workspaceStorage" / "0a"
        made = [Chat()]
        for _ in range(dice.randint(1, 4)):
            for _ in range(dice.randint(1, 3)):
                ask_vscode(dice, made[-1], name)
            original = dice.choice(made)
            fork = Chat()
            fork.requests = original.requests[: dice.randint(1, len(original.requests))]
            made.append(fork)
        ask_vscode(dice, made[-1], name)
        index, todo = Index(Path(home) / "state.db", Path(home)), []
        for chat in made:
            todo += [(chat, size) for size in {dice.randint(1, len(chat.requests)), len(chat.requests)}]
        dice.shuffle(todo)
        latest: dict[str, int] = {}
        for moment, (chat, size) in enumerate(todo):
            # The client writes the whole document anew, and a session only grows.
            latest[chat.id] = max(size, latest.get(chat.id, 0))
            whole, chat.requests = chat.requests, chat.requests[: latest[chat.id]]
            path = chat.write(chats)
            chat.requests = whole
            os.utime(path, (moment, moment))
            if dice.random() < 0.7:
                index.harvest()
        index.harvest()
        found = count(index.sessions.values())
        index.connection.close()
        asked = {request["requestId"]: request for chat in made for request in chat.requests}.values()
        typed = [request["message"]["text"] for request in asked]
        calls = [
            part["toolSpecificData"]["commandLine"]["original"] for r in asked for part in r["response"][:-1]
        ]
        assert found["prompts"] == Counter(typed)
        assert found["calls"] == Counter(calls)
        assert found["output"] == sum(request["completionTokens"] for request in asked)


def ask_vscode(dice, chat, name):
    response = [terminal(name("run")) for _ in range(dice.randint(0, 2))]
    chat.ask(name("prompt"), *response, name("did"), completionTokens=dice.randint(1, 9))
