"""Replies in the words of OpenAI's Chat Completions: a stream of (event or None, data), or one object."""

from __future__ import annotations

import json
import time

from tests.support.scripted.scripts import chunks, rand


def answer(turn, body, parts, u, stop):
    stop = stop or ("tool_calls" if any(part[0] == "call" for part in parts) else "stop")
    if turn.stream:
        return chat_events(turn, parts, u, stop)
    return {
        "id": rand("chatcmpl-"),
        "object": "chat.completion",
        "created": int(time.time()),
        "model": turn.model,
        "choices": [{"index": 0, "message": chat_message(parts), "finish_reason": stop}],
        "usage": chat_usage(u),
    }


def chat_message(parts):
    text = "".join(p[1] for p in parts if p[0] == "text")
    think = "".join(p[1] for p in parts if p[0] == "think")
    calls = [
        {
            "id": rand("call_"),
            "type": "function",
            "function": {
                "name": p[1],
                "arguments": json.dumps(p[2] if isinstance(p[2], dict) else {"input": p[2]}),
            },
        }
        for p in parts
        if p[0] == "call"
    ]
    msg = {"role": "assistant", "content": text or None}
    if think:
        msg["reasoning_content"] = think
    if calls:
        msg["tool_calls"] = calls
    return msg


def chat_usage(u):
    return {
        "prompt_tokens": u["input"] + u["cache_read"],
        "completion_tokens": u["output"],
        "total_tokens": u["input"] + u["cache_read"] + u["output"],
        "prompt_tokens_details": {"cached_tokens": u["cache_read"]},
    }


def chat_events(turn, parts, u, stop):
    base = {
        "id": rand("chatcmpl-"),
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": turn.model,
    }
    msg = chat_message(parts)

    def chunk(delta, finish=None):
        return None, dict(base, choices=[{"index": 0, "delta": delta, "finish_reason": finish}])

    yield chunk({"role": "assistant", "content": ""})
    for c in chunks(msg.get("reasoning_content") or ""):
        if c:
            yield chunk({"reasoning_content": c})
    for c in chunks(msg["content"] or ""):
        if c:
            yield chunk({"content": c})
    for i, tc in enumerate(msg.get("tool_calls") or []):
        yield chunk(
            {
                "tool_calls": [
                    {
                        "index": i,
                        "id": tc["id"],
                        "type": "function",
                        "function": {"name": tc["function"]["name"], "arguments": ""},
                    }
                ]
            }
        )
        for c in chunks(tc["function"]["arguments"], 60):
            yield chunk({"tool_calls": [{"index": i, "function": {"arguments": c}}]})
    yield chunk({}, stop)
    yield None, dict(base, choices=[], usage=chat_usage(u))
    yield None, "[DONE]"
