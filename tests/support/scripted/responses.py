"""Replies in the words of OpenAI's Responses: a stream of (event or None, data), or one object."""

from __future__ import annotations

import json
import time

from tests.support.scripted.scripts import chunks, rand


def answer(turn, body, parts, u, stop):
    namespaces = {}
    entries = list(body.get("tools") or [])
    for it in body.get("input") or []:
        if isinstance(it, dict) and it.get("type") == "additional_tools":
            entries += it.get("tools") or []
    for t in entries:
        if t.get("type") == "namespace":
            for s in t.get("tools") or []:
                namespaces[s.get("name")] = t.get("name")
    items = refuse(responses_items(parts, namespaces), stop)
    if turn.stream:
        return responses_events(turn, items, u, stop)
    return withhold(responses_object(turn, rand("resp_"), items, u, "completed"), stop)


def responses_items(parts, namespaces):
    out = []
    for p in parts:
        if p[0] == "text":
            out.append(
                {
                    "type": "message",
                    "id": rand("msg_"),
                    "status": "completed",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": p[1], "annotations": []}],
                }
            )
        elif p[0] == "think":
            out.append(
                {
                    "type": "reasoning",
                    "id": rand("rs_"),
                    "summary": [{"type": "summary_text", "text": p[1]}],
                    "content": None,
                    "encrypted_content": "bW9jaw==",
                }
            )
        elif p[3] == "custom":
            out.append(
                {
                    "type": "custom_tool_call",
                    "id": rand("ctc_"),
                    "status": "completed",
                    "call_id": rand("call_"),
                    "name": p[1],
                    "input": p[2] if isinstance(p[2], str) else json.dumps(p[2]),
                }
            )
        else:
            item = {
                "type": "function_call",
                "id": rand("fc_"),
                "status": "completed",
                "call_id": rand("call_"),
                "name": p[1],
                "arguments": json.dumps(p[2]),
            }
            if p[1] in namespaces:
                item["namespace"] = namespaces[p[1]]
            out.append(item)
    return out


def responses_object(turn, rid, items, u, status):
    return {
        "id": rid,
        "object": "response",
        "created_at": int(time.time()),
        "status": status,
        "model": turn.model,
        "output": items,
        "parallel_tool_calls": True,
        "error": None,
        "incomplete_details": None,
        "usage": None
        if status == "in_progress"
        else {
            "input_tokens": u["input"] + u["cache_read"],
            "input_tokens_details": {"cached_tokens": u["cache_read"]},
            "output_tokens": u["output"],
            "output_tokens_details": {"reasoning_tokens": u.get("reasoning", 0)},
            "total_tokens": u["input"] + u["cache_read"] + u["output"],
        },
    }


def withhold(response, stop):
    """Put a refusal into a finished response: what was withheld, or what declines."""
    if stop == "content_filter":
        response.update(status="incomplete", incomplete_details={"reason": "content_filter"})
    return response


def refuse(items, stop):
    """Return the items with their texts as refusals, where the model declines."""
    if stop != "refusal":
        return items
    for it in items:
        for part in it["content"] if it["type"] == "message" else []:
            text = part.pop("text")
            part.pop("annotations", None)
            part.update(type="refusal", refusal=text)
    return items


def responses_events(turn, items, u, stop=None):
    rid, seq = rand("resp_"), 0

    def ev(kind, **kw):
        nonlocal seq
        seq += 1
        return kind, dict({"type": kind, "sequence_number": seq}, **kw)

    yield ev("response.created", response=responses_object(turn, rid, [], u, "in_progress"))
    for i, it in enumerate(items):
        opened = dict(it, status="in_progress")
        if it["type"] == "message":
            opened["content"] = []
        elif it["type"] == "function_call":
            opened["arguments"] = ""
        elif it["type"] == "custom_tool_call":
            opened["input"] = ""
        yield ev("response.output_item.added", output_index=i, item=opened)
        if it["type"] == "message" and stop == "refusal":
            text = it["content"][0]["refusal"]
            place = {"item_id": it["id"], "output_index": i, "content_index": 0}
            yield ev("response.content_part.added", **place, part={"type": "refusal", "refusal": ""})
            yield ev("response.refusal.delta", **place, delta=text)
            yield ev("response.refusal.done", **place, refusal=text)
            yield ev("response.content_part.done", **place, part=it["content"][0])
        elif it["type"] == "message":
            text = it["content"][0]["text"]
            yield ev(
                "response.content_part.added",
                item_id=it["id"],
                output_index=i,
                content_index=0,
                part={"type": "output_text", "text": "", "annotations": []},
            )
            for c in chunks(text):
                yield ev(
                    "response.output_text.delta", item_id=it["id"], output_index=i, content_index=0, delta=c
                )
            yield ev(
                "response.output_text.done", item_id=it["id"], output_index=i, content_index=0, text=text
            )
            yield ev(
                "response.content_part.done",
                item_id=it["id"],
                output_index=i,
                content_index=0,
                part=it["content"][0],
            )
        elif it["type"] == "function_call":
            for c in chunks(it["arguments"], 60):
                yield ev("response.function_call_arguments.delta", item_id=it["id"], output_index=i, delta=c)
            yield ev(
                "response.function_call_arguments.done",
                item_id=it["id"],
                output_index=i,
                arguments=it["arguments"],
            )
        elif it["type"] == "custom_tool_call":
            for c in chunks(it["input"], 60):
                yield ev("response.custom_tool_call_input.delta", item_id=it["id"], output_index=i, delta=c)
            yield ev(
                "response.custom_tool_call_input.done", item_id=it["id"], output_index=i, input=it["input"]
            )
        elif it["type"] == "reasoning":
            for c in chunks(it["summary"][0]["text"]):
                yield ev(
                    "response.reasoning_summary_text.delta",
                    item_id=it["id"],
                    output_index=i,
                    summary_index=0,
                    delta=c,
                )
        yield ev("response.output_item.done", output_index=i, item=it)
    kind = "incomplete" if stop == "content_filter" else "completed"
    response = withhold(responses_object(turn, rid, items, u, "completed"), stop)
    yield ev(f"response.{kind}", response=response)
