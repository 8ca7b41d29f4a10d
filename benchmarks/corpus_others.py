#!/usr/bin/env python3
"""Generate synthetic transcripts of Codex and of Copilot CLI, to time readers on.

The records are of the shapes that the recorded files in tests/data/transcripts have, the words made up. The
same arguments always give the same bytes.

    python3 benchmarks/corpus_others.py --client codex --out corpus/codex --files 500 --mb 100
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from corpus import FAMILIES, NOUNS, OK_REPLIES, blob, filler_pool, uid

Record = dict[str, Any]
FOLDER = "/home/dev/work/payments-api"


class Maker:
    """Makes the records of one session, each a second or a few after the one before."""

    def __init__(self, rng: random.Random, pool: list[str], start: datetime, result_max: int) -> None:
        self.rng, self.pool, self.moment, self.result_max = rng, pool, start, result_max
        self.session = uid(rng)
        self.lines: list[str] = []
        self.size = 0

    def time(self) -> str:
        self.moment += timedelta(seconds=self.rng.uniform(0.2, 6))
        return f"{self.moment:%Y-%m-%dT%H:%M:%S}.{self.moment.microsecond // 1000:03d}Z"

    def write(self, record: Record) -> None:
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        self.lines.append(line)
        self.size += len(line) + 1

    def result(self) -> str:
        return blob(self.rng, self.pool, self.rng.randint(100, self.result_max))

    def prompts(self) -> Iterator[str]:
        """Yield an ask, its corrections, and an acceptance, again and again."""
        while True:
            asks, fixes, _ = FAMILIES[self.rng.choice(list(FAMILIES))]
            yield self.rng.choice(asks).format(x=self.rng.choice(NOUNS))
            yield from fixes if self.rng.random() < 0.4 else ()
            yield self.rng.choice(OK_REPLIES)


class Codex(Maker):
    """As version 0.171 writes it."""

    def path(self, out: Path) -> Path:
        day = out / "sessions" / f"{self.moment:%Y/%m/%d}"
        return day / f"rollout-{self.moment:%Y-%m-%dT%H-%M-%S}-{self.session}.jsonl"

    def put(self, kind: str, payload: Record, **more: Any) -> None:
        self.write(
            {"timestamp": self.time(), "ordinal": len(self.lines), "type": kind, "payload": payload} | more
        )

    def open(self) -> None:
        git = {"branch": "main", "commit_hash": f"{self.rng.getrandbits(160):040x}"}
        meta = {"id": self.session, "cwd": FOLDER, "originator": "codex-tui", "cli_version": "0.171.0"}
        text = blob(self.rng, self.pool, 18_000)
        self.put("session_meta", {**meta, "source": "cli", "base_instructions": {"text": text}, "git": git})

    def turn(self, prompt: str, steps: int) -> None:
        turn = uid(self.rng)
        told = {"internal_chat_message_metadata_passthrough": {"turn_id": turn}}
        self.put("event_msg", {"type": "task_started", "turn_id": turn, "model_context_window": 258_400})
        context = {"turn_id": turn, "cwd": FOLDER, "approval_policy": "never", "model": "gpt-6-sol"}
        self.put("turn_context", {**context, "effort": "high", "summary": "auto"})
        self.message("user", "input_text", prompt, told)
        self.item(turn, {"type": "UserMessage", "id": uid(self.rng), "content": [_text("text", prompt)]})
        for _ in range(steps):
            self.step(turn, told)
        answer = "Done.\n" + blob(self.rng, self.pool, 500)
        self.item(turn, {"type": "AgentMessage", "id": uid(self.rng), "content": [_text("Text", answer)]})
        self.message("assistant", "output_text", answer, told)
        self.put("event_msg", {"type": "task_complete", "turn_id": turn, "last_agent_message": answer})

    def message(self, role: str, kind: str, text: str, told: Record) -> None:
        content = {"type": "message", "id": "msg_" + uid(self.rng), "role": role}
        self.put("response_item", {**content, "content": [_text(kind, text)], **told}, metadata=_METADATA)

    def item(self, turn: str, item: Record) -> None:
        self.put(
            "event_msg",
            {"type": "item_completed", "thread_id": self.session, "turn_id": turn, "item": item},
        )

    def step(self, turn: str, told: Record) -> None:
        call, output = "call_" + uid(self.rng).replace("-", ""), self.result()
        command = self.rng.choice(["rg -n token src | head", "sed -n 1,80p src/app.py", "pytest -q tests"])
        secret = f"{self.rng.getrandbits(4000):x}"
        self.put("response_item", {"type": "reasoning", "summary": [], "encrypted_content": secret, **told})
        made = {"type": "function_call", "id": "fc_" + uid(self.rng), "name": "exec_command"}
        arguments = json.dumps({"cmd": command, "yield_time_ms": 1000})
        self.put("response_item", {**made, "arguments": arguments, "call_id": call, **told})
        usage = {"input_tokens": self.rng.randint(900, 90_000), "cached_input_tokens": 800}
        usage |= {"output_tokens": self.rng.randint(20, 900), "reasoning_output_tokens": 0}
        record = {"thread_id": self.session, "turn_id": turn, "response_id": "resp_" + uid(self.rng)}
        self.put("token_usage_record", {**record, "usage": usage, "thread_token_usage": usage})
        ended = {"type": "CommandExecution", "id": call, "command": ["/bin/bash", "-lc", command]}
        ended |= {"cwd": FOLDER, "status": "completed", "aggregated_output": output, "exit_code": 0}
        self.item(turn, ended)
        text = f"Chunk ID: a1b2c3\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n{output}"
        self.put("response_item", {"type": "function_call_output", "call_id": call, "output": text, **told})
        info = {"total_token_usage": usage, "last_token_usage": usage, "model_context_window": 258_400}
        self.put("event_msg", {"type": "token_count", "info": info, "rate_limits": {"limit_id": "codex"}})


class Copilot(Maker):
    """As version 1.0.102 writes it."""

    parent: str | None = None

    def path(self, out: Path) -> Path:
        return out / "session-state" / self.session / "events.jsonl"

    def put(self, kind: str, data: Record) -> None:
        name = uid(self.rng)
        event = {"type": kind, "data": data, "id": name, "timestamp": self.time(), "parentId": self.parent}
        self.write(event)
        self.parent = name

    def open(self) -> None:
        data = {"sessionId": self.session, "version": 1, "producer": "copilot-agent"}
        context = {"cwd": FOLDER, "gitRoot": FOLDER, "branch": "main"}
        self.put("session.start", {**data, "copilotVersion": "1.0.102", "context": context})
        self.put("system.message", {"role": "system", "content": blob(self.rng, self.pool, 20_000)})

    def turn(self, prompt: str, steps: int) -> None:
        interaction = uid(self.rng)
        sent = f"<current_datetime>2026-11-29</current_datetime>\n\n{prompt}"
        data = {"content": prompt, "transformedContent": sent, "messageId": uid(self.rng)}
        self.put("user.message", {**data, "delivery": "idle", "interactionId": interaction})
        for number in range(steps):
            self.step(number, interaction)
        self.say(steps, interaction, "Done.\n" + blob(self.rng, self.pool, 500), [])

    def say(self, number: int, interaction: str, text: str, requests: list[Record]) -> None:
        self.put("assistant.turn_start", {"turnId": str(number), "interactionId": interaction})
        call = "chatcmpl-" + uid(self.rng).replace("-", "")[:24]
        usage = {"model": "gpt-6-sol", "inputTokens": self.rng.randint(900, 90_000), "outputTokens": 85}
        usage |= {"cacheReadTokens": 800, "cacheWriteTokens": 0, "cost": 0.0, "duration": 33}
        usage |= {"initiator": "agent", "transport": "http", "apiCallId": call, "availableToolCount": 18}
        self.put("session.usage_record", {"usage": usage})
        data = {"messageId": uid(self.rng), "model": "gpt-6-sol", "content": text, "toolRequests": requests}
        self.put("assistant.message", {**data, "interactionId": interaction, "apiCallId": call})

    def step(self, number: int, interaction: str) -> None:
        call = "call_" + uid(self.rng).replace("-", "")[:24]
        command = self.rng.choice(["rg -n token src | head", "sed -n 1,80p src/app.py", "pytest -q tests"])
        arguments = {"command": command, "description": "Run a command"}
        request = {"toolCallId": call, "name": "bash", "arguments": arguments, "type": "function"}
        self.say(number, interaction, "", [{**request, "intentionSummary": "Run a command"}])
        start = {"toolCallId": call, "toolName": "bash", "arguments": arguments, "turnId": str(number)}
        self.put("tool.execution_start", {**start, "model": "gpt-6-sol", "toolTitle": "Running command"})
        result = {"content": f"{self.result()}\n<shellId: 0 completed with exit code 0>"}
        telemetry = {"properties": {"executionMode": "sync"}, "metrics": {"commandTimeout": 30_000.0}}
        done = {"toolCallId": call, "interactionId": interaction, "shellExecution": {"exitCode": 0}}
        self.put(
            "tool.execution_complete",
            {**done, "success": True, "result": result, "toolTelemetry": telemetry},
        )
        self.put("assistant.turn_end", {"turnId": str(number)})


CLIENTS: dict[str, type[Codex] | type[Copilot]] = {"codex": Codex, "copilot": Copilot}
_METADATA = {"history_sequence": 7, "sampled_through_sequence": 0, "client_authored": False}


def _text(kind: str, text: str) -> Record:
    return {"type": kind, "text": text}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--client", choices=sorted(CLIENTS), required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--mb", type=float, default=100.0, help="approximate size of all files")
    parser.add_argument("--result-max", type=int, default=400, help="largest tool result in characters")
    options = parser.parse_args()
    rng = random.Random(7)
    pool = filler_pool(rng)
    start = datetime(2026, 8, 1, tzinfo=timezone.utc)
    for number in range(options.files):
        maker = CLIENTS[options.client](rng, pool, start + timedelta(hours=number), options.result_max)
        path = maker.path(options.out)
        target = options.mb * 1e6 / options.files * rng.uniform(0.3, 1.7)
        maker.open()
        prompts = maker.prompts()
        while maker.size < target:
            maker.turn(next(prompts), rng.randint(2, 12))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(maker.lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
