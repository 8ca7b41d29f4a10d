"""Replies in the words of Anthropic's Messages: a stream of (event or None, data), or one object."""

from __future__ import annotations

import json

from tests.support.scripted.scripts import chunks, rand


def answer(turn, body, parts, u, stop):
    stop = stop or ("tool_use" if any(part[0] == "call" for part in parts) else "end_turn")
    if turn.stream:
        return anthropic_events(turn, parts, u, stop)
    return {
        "id": rand("msg_01"),
        "type": "message",
        "role": "assistant",
        "model": turn.model,
        "content": anthropic_blocks(parts),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": anthropic_usage(u, u["output"]),
    }


def anthropic_events(turn, parts, usage, stop):
    blocks = anthropic_blocks(parts)
    msg = {
        "id": rand("msg_01"),
        "type": "message",
        "role": "assistant",
        "model": turn.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": anthropic_usage(usage, 1),
    }
    yield "message_start", {"type": "message_start", "message": msg}
    for i, b in enumerate(blocks):
        if b["type"] == "text":
            start = {"type": "text", "text": ""}
        elif b["type"] == "thinking":
            start = {"type": "thinking", "thinking": "", "signature": ""}
        else:
            start = {"type": "tool_use", "id": b["id"], "name": b["name"], "input": {}}
        yield "content_block_start", {"type": "content_block_start", "index": i, "content_block": start}
        if b["type"] == "text":
            deltas = [{"type": "text_delta", "text": c} for c in chunks(b["text"])]
        elif b["type"] == "thinking":
            deltas = [{"type": "thinking_delta", "thinking": c} for c in chunks(b["thinking"])]
            deltas.append({"type": "signature_delta", "signature": b["signature"]})
        else:
            deltas = [
                {"type": "input_json_delta", "partial_json": c} for c in chunks(json.dumps(b["input"]), 60)
            ]
        for d in deltas:
            yield "content_block_delta", {"type": "content_block_delta", "index": i, "delta": d}
        yield "content_block_stop", {"type": "content_block_stop", "index": i}
    yield (
        "message_delta",
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": None},
            "usage": anthropic_usage(usage, usage["output"]),
        },
    )
    yield "message_stop", {"type": "message_stop"}


def anthropic_blocks(parts):
    out = []
    for p in parts:
        if p[0] == "text":
            out.append({"type": "text", "text": p[1]})
        elif p[0] == "think":
            out.append({"type": "thinking", "thinking": p[1], "signature": "bW9jaw=="})
        else:
            inp = p[2] if isinstance(p[2], dict) else {"input": p[2]}
            out.append({"type": "tool_use", "id": rand("toolu_01"), "name": p[1], "input": inp})
    return out


def anthropic_usage(u, output):
    return {
        "input_tokens": u["input"],
        "cache_creation_input_tokens": u["cache_write"],
        "cache_read_input_tokens": u["cache_read"],
        "output_tokens": output,
        "cache_creation": {"ephemeral_5m_input_tokens": u["cache_write"], "ephemeral_1h_input_tokens": 0},
        "service_tier": "standard",
    }
