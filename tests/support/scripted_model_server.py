"""A scripted stand-in for the model APIs that coding-agent CLIs talk to.

Standard library only, binds 127.0.0.1 only.  It speaks
  * Anthropic Messages        POST /v1/messages            (SSE and plain JSON)
                              POST /v1/messages/count_tokens
  * OpenAI Responses          POST /v1/responses           (SSE and plain JSON)
                              POST /v1/responses/compact
  * OpenAI Chat Completions   POST /v1/chat/completions    (SSE and plain JSON)
  * model lists               GET  /v1/models, /models, /v1/models/<id>
Everything else is answered 404 and logged, so that a test can see what else a
client asks for.

The same script drives all three protocols.  A script is a JSON object:

{
  "cwd": "/path",                      optional, else taken from the prompt
  "usage": {"input": 1000, "output": 50, "cache_read": 0, "cache_write": 0},
  "plays": [
    {"name": "fix",                    first play whose "when" holds is used
     "when": {"user_contains": "fix the bug"},
     "steps": [                        step k answers the k-th request of a turn
        {"do": [{"say": "I look."}, {"shell": "ls"}]},
        {"do": [{"write": {"path": "a.txt", "content": "hi\\n"}}]},
        {"do": [{"say": "Done."}], "usage": {"output": 7}}
     ]}
  ]
}

"when" keys (all given ones must hold; strings are plain substrings):
  user_contains     the last human message, without injected reminders
  any_user_contains any human message of the conversation
  system_contains   system prompt / instructions / developer messages
  any_contains      anywhere in the request body (system, messages, tools)
  not_contains      nowhere in the request body
  last_contains     the last message or tool result only
  tool_available    a tool of that name is offered
  no_tools          true: the request offers no tools (title, summary, ...)
  protocol          "anthropic" | "responses" | "chat"
  model_contains    the requested model id
  header_contains   [name, substring]
  max_uses          the play answers that many requests, then stops matching

Step keys:
  do        list of actions: {"say": t} {"think": t} {"shell": cmd}
            {"write": {path, content}} {"edit": {path, old, new}} {"read": {path}}
            {"subagent": {description, prompt, type}} {"skill": name}
            {"todo": [..]} {"structured": {...}} {"tool": name, "input": {...}}
            Abstract actions are mapped to whichever tool the client offered.
  usage     token numbers of this reply
  stop      overrides the stop reason; "content_filter" and "refusal" also in the Responses protocol:
            the first leaves the response incomplete, the second makes its text a refusal
  status    answer with this HTTP status and an error body instead
  error     {"type","message"} of that error body
  headers   extra response headers (e.g. {"retry-after": "0"})
  delay_s   wait before the first byte
  hang_s    send the start of the stream, then wait this long, then drop it
  cut       true: drop the connection in the middle of the stream
After the last step of a play, its last step is repeated.
"{cwd}" in any action string is replaced by the working directory.

Use:  scripted_model_server.py --port 0 --script s.json --log req.jsonl --port-file p
or    srv = MockModelServer(script, "req.jsonl").start(); srv.base_url; srv.stop()
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import signal
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SECRET_HEADERS = {"authorization", "x-api-key", "api-key", "cookie", "proxy-authorization", "x-goog-api-key"}
DEFAULT_USAGE = {"input": 1200, "output": 40, "cache_read": 0, "cache_write": 0}
INTERRUPTED = re.compile(r"\[Request interrupted by user[^\]]*\]")
REMINDER = re.compile(
    r"<(system-reminder|system_reminder|current_datetime|tagged_files|"
    r"reminder|sql_tables|environment_context|user_instructions)>.*?</\1>",
    re.S,
)
# user-role texts that clients add by themselves
NOT_HUMAN = re.compile(
    r"(Base directory for this skill:|<skill-context|<task-notification>|"
    r"<local-command-|\[Image: source:|<turn_aborted>|<subagent_notification>)"
)
CWD_PATTERNS = [
    re.compile(r"Primary working directory: (/\S+)"),
    re.compile(r"Working directory: (/\S+)"),
    re.compile(r"<cwd>([^<]+)</cwd>"),
    re.compile(r"[Cc]urrent working directory:? (/\S+)"),
    re.compile(r"working directory(?: is|:)\s+(/\S+)"),
]


# --------------------------------------------------------------- normalising


class Turn:
    """One request, reduced to what the script rules need."""

    def __init__(self, protocol, body):
        self.protocol = protocol
        self.body = body
        self.model = str(body.get("model", ""))
        self.stream = bool(body.get("stream"))
        self.system = ""
        self.humans = []  # texts of human messages, reminders removed
        self.last = ""  # last message or tool result
        self.rounds = 0  # tool-result rounds since the last human message
        self.tools = {}  # name -> definition
        self.whole = json.dumps(body, ensure_ascii=False)
        getattr(self, "_" + protocol)()
        self.cwd = None
        for pattern in CWD_PATTERNS:
            m = pattern.search(self.system) or pattern.search(self._texts())
            if m:
                self.cwd = m.group(1).strip().rstrip(".,;`\"'")
                break

    def _texts(self):
        return self.whole.replace("\\n", "\n")

    @staticmethod
    def _flat(content):
        if content is None:
            return ""
        if isinstance(content, str):
            return content
        out = []
        for block in content:
            if isinstance(block, str):
                out.append(block)
            elif isinstance(block, dict):
                if isinstance(block.get("text"), str):
                    out.append(block["text"])
                elif isinstance(block.get("content"), (str, list)):
                    out.append(Turn._flat(block["content"]))
        return "\n".join(out)

    def _add_human(self, text):
        text = INTERRUPTED.sub("", REMINDER.sub("", text)).strip()
        if text and not NOT_HUMAN.match(text):
            self.humans.append(text)
            self.rounds = 0

    def _anthropic(self):
        self.system = self._flat(self.body.get("system"))
        for t in self.body.get("tools") or []:
            self.tools[t.get("name")] = t
        for m in self.body.get("messages") or []:
            content = m.get("content")
            blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
            self.last = self._flat(content)
            if m.get("role") == "system":
                self.system += "\n" + self.last
            if m.get("role") != "user":
                continue
            if any(isinstance(b, dict) and b.get("type") == "tool_result" for b in blocks):
                self.rounds += 1
                # a human message may ride in the same user message
                text = "\n".join(
                    b.get("text", "") for b in blocks if isinstance(b, dict) and b.get("type") == "text"
                )
                text = INTERRUPTED.sub("", REMINDER.sub("", text)).strip()
                if text and not text.startswith("[") and not NOT_HUMAN.match(text):
                    self.humans.append(text)
                    self.rounds = 0
            else:
                self._add_human(self._flat(content))

    def _responses(self):
        self.system = self.body.get("instructions") or ""
        for t in self.body.get("tools") or []:
            for name in _tool_names(t):
                self.tools[name] = t
        items = self.body.get("input") or []
        if isinstance(items, str):
            items = [{"type": "message", "role": "user", "content": items}]
        in_outputs = False
        for it in items:
            kind = it.get("type", "message")
            if kind.endswith("_output"):
                if not in_outputs:
                    self.rounds += 1
                in_outputs = True
                out = it.get("output")
                self.last = (
                    out
                    if isinstance(out, str)
                    else self._flat(out if isinstance(out, list) else (out or {}).get("content", ""))
                )
                continue
            in_outputs = False
            if kind == "additional_tools":  # Codex 0.171: tools inside input
                for t in it.get("tools") or []:
                    for name in _tool_names(t):
                        self.tools[name] = t
            if kind == "message":
                text = self._flat(it.get("content"))
                self.last = text
                if it.get("role") in ("system", "developer"):
                    self.system += "\n" + text
                elif it.get("role") == "user":
                    if re.match(
                        r"\s*(<environment_context>|<user_instructions>|"
                        r"# AGENTS\.md instructions|<recommended_plugins>|"
                        r"<INSTRUCTIONS>|<skill>|<turn_aborted>|"
                        r"<subagent_notification>)",
                        text,
                    ):
                        self.system += "\n" + text
                    else:
                        self._add_human(text)

    def _chat(self):
        for t in self.body.get("tools") or []:
            fn = t.get("function") or t
            self.tools[fn.get("name")] = t
        in_outputs = False
        for m in self.body.get("messages") or []:
            text = self._flat(m.get("content"))
            self.last = text
            role = m.get("role")
            if role == "tool":
                if not in_outputs:
                    self.rounds += 1
                in_outputs = True
                continue
            in_outputs = False
            if role in ("system", "developer"):
                self.system += "\n" + text
            elif role == "user":
                self._add_human(text)


def _tool_names(t):
    """Responses-API tool entries: function, custom, namespace, builtin."""
    kind = t.get("type")
    if kind == "namespace":
        for sub in t.get("tools") or []:
            yield from _tool_names(sub)
        return
    yield t.get("name") or kind


# ------------------------------------------------------------------- script


class Script:
    def __init__(self, data):
        self.data = data
        self.uses = {}
        self.lock = threading.Lock()

    def choose(self, turn, headers):
        for i, play in enumerate(self.data.get("plays", [])):
            name = play.get("name", f"play{i}")
            if not self._holds(play.get("when") or {}, turn, headers, name):
                continue
            with self.lock:
                self.uses[name] = self.uses.get(name, 0) + 1
            steps = play.get("steps") or [{"do": [{"say": "ok"}]}]
            k = min(turn.rounds, len(steps) - 1)
            return name, k, steps[k]
        return "(default)", 0, {"do": [{"say": "OK."}]}

    def _holds(self, w, turn, headers, name):
        last_human = turn.humans[-1] if turn.humans else ""
        checks = {
            "user_contains": lambda v: v in last_human,
            "any_user_contains": lambda v: any(v in h for h in turn.humans),
            "system_contains": lambda v: v in turn.system,
            "any_contains": lambda v: v in turn.whole or v in turn._texts(),
            "not_contains": lambda v: v not in turn.whole,
            "last_contains": lambda v: v in turn.last,
            "tool_available": lambda v: v in turn.tools,
            "no_tools": lambda v: (not turn.tools) == v,
            "protocol": lambda v: v == turn.protocol,
            "model_contains": lambda v: v in turn.model,
            "header_contains": lambda v: v[1] in headers.get(v[0].lower(), ""),
            "max_uses": lambda v: self.uses.get(name, 0) < v,
        }
        for key, value in w.items():
            if key not in checks:
                raise ValueError(f"unknown 'when' key {key!r}")
            if not checks[key](value):
                return False
        return True


# ---------------------------------------------------- actions -> tool calls


def resolve(action, turn, cwd):
    """An action -> ('text'|'think', str) or ('call', name, input, kind)."""

    def sub(v):
        if isinstance(v, str):
            return v.replace("{cwd}", cwd)
        if isinstance(v, dict):
            return {k: sub(x) for k, x in v.items()}
        if isinstance(v, list):
            return [sub(x) for x in v]
        return v

    action = sub(action)
    has = turn.tools.__contains__

    def absolute(p):
        return str(Path(cwd, p))

    def call(name, args):
        kind = "custom" if (turn.tools.get(name) or {}).get("type") == "custom" else "function"
        return ("call", name, args, kind)

    def shell(cmd):
        if has("Bash"):
            return call("Bash", {"command": cmd, "description": "Run a command"})
        if has("bash"):
            props = _props(turn.tools["bash"])
            args = {"command": cmd}
            if "description" in props:
                args["description"] = "Run a command"
            return call("bash", args)
        if has("exec_command"):
            return call("exec_command", {"cmd": cmd})
        if has("shell_command"):
            return call("shell_command", {"command": cmd})
        if has("shell"):
            return call("shell", {"command": ["bash", "-lc", cmd]})
        if has("exec"):  # Codex "code mode" (custom tool, JS source)
            return (
                "call",
                "exec",
                "const r = await tools.exec_command({}); text(r.output ?? JSON.stringify(r));".format(
                    json.dumps({"cmd": cmd})
                ),
                "custom",
            )
        if has("run_shell_command"):
            return call("run_shell_command", {"command": cmd, "description": "Run a command"})
        return ("text", f"(no shell tool offered; would run: {cmd})")

    if "say" in action:
        return ("text", action["say"])
    if "think" in action:
        return ("think", action["think"])
    if "shell" in action:
        return shell(action["shell"])
    if "write" in action:
        path, content = absolute(action["write"]["path"]), action["write"]["content"]
        if has("Write"):
            return call("Write", {"file_path": path, "content": content})
        if has("create"):
            return call("create", {"path": path, "file_text": content})
        if has("write"):
            key = "filePath" if "filePath" in _props(turn.tools["write"]) else "path"
            return call("write", {key: path, "content": content})
        if has("write_file"):
            return call("write_file", {"file_path": path, "content": content})
        patch = "*** Begin Patch\n*** Add File: {}\n{}*** End Patch\n".format(
            action["write"]["path"],
            "".join("+" + line + "\n" for line in content.splitlines()),
        )
        if has("apply_patch"):
            if (turn.tools["apply_patch"] or {}).get("type") == "custom":
                return ("call", "apply_patch", patch, "custom")
            return call("apply_patch", {"input": patch})
        if has("exec") and not (has("exec_command") or has("shell_command")):
            return (
                "call",
                "exec",
                f"const r = await tools.apply_patch({json.dumps(patch)}); text(JSON.stringify(r));",
                "custom",
            )
        return shell("cat > {} <<'EOF_MOCK'\n{}\nEOF_MOCK".format(path, content.rstrip("\n")))
    if "edit" in action:
        e = action["edit"]
        path = absolute(e["path"])
        if has("Edit"):
            return call("Edit", {"file_path": path, "old_string": e["old"], "new_string": e["new"]})
        if has("edit"):
            props = _props(turn.tools["edit"])
            if "filePath" in props:
                return call("edit", {"filePath": path, "oldString": e["old"], "newString": e["new"]})
            return call("edit", {"path": path, "old_str": e["old"], "new_str": e["new"]})
        patch = "*** Begin Patch\n*** Update File: {}\n@@\n{}{}*** End Patch\n".format(
            e["path"],
            "".join("-" + line + "\n" for line in e["old"].splitlines()),
            "".join("+" + line + "\n" for line in e["new"].splitlines()),
        )
        if has("apply_patch"):
            if (turn.tools["apply_patch"] or {}).get("type") == "custom":
                return ("call", "apply_patch", patch, "custom")
            return call("apply_patch", {"input": patch})
        if has("exec") and not (has("exec_command") or has("shell_command")):
            return (
                "call",
                "exec",
                f"const r = await tools.apply_patch({json.dumps(patch)}); text(JSON.stringify(r));",
                "custom",
            )
        return shell("sed -i 's/{}/{}/' {}".format(e["old"], e["new"], path))
    if "read" in action:
        path = absolute(action["read"]["path"])
        if has("Read"):
            return call("Read", {"file_path": path})
        if has("view"):
            return call("view", {"path": path})
        if has("read"):
            key = "filePath" if "filePath" in _props(turn.tools["read"]) else "path"
            return call("read", {key: path})
        return shell("cat " + path)
    if "subagent" in action:
        a = action["subagent"]
        for name in ("Agent", "Task"):
            if has(name):
                return call(
                    name,
                    {
                        "description": a.get("description", "look around"),
                        "prompt": a["prompt"],
                        "subagent_type": a.get("type", "general-purpose"),
                    },
                )
        if has("task"):
            props = _props(turn.tools["task"])
            args = {"description": a.get("description", "look around"), "prompt": a["prompt"]}
            for key, value in (
                ("agent_type", a.get("copilot_type", "general-purpose")),
                ("name", "helper"),
                ("mode", "sync"),
            ):
                args.update({key: value} if key in props else {})
            if "subagent_type" in props:
                args["subagent_type"] = "general"
            return call("task", args)
        if has("spawn_agent"):
            props = _props(_find_tool(turn.tools["spawn_agent"], "spawn_agent"))
            args = {"message": a["prompt"]}
            if "task_name" in props:
                args["task_name"] = "helper"
            return call("spawn_agent", args)
        return ("text", "(no subagent tool offered)")
    if "skill" in action:
        if has("Skill"):
            return call("Skill", {"skill": action["skill"]})
        if has("skill"):
            props = _props(turn.tools["skill"])
            return call("skill", {("skill" if "skill" in props else "name"): action["skill"]})
        text = turn._texts()
        m = re.search(r"[^\s\"'(`]*/{}/SKILL\.md".format(re.escape(action["skill"])), text)
        path = m.group(0) if m else "/nonexistent/SKILL.md"
        root = re.search(r"`{}` = `([^`]+)`".format(re.escape(path.split("/")[0])), text)  # Codex aliases
        if root:
            path = root.group(1) + path[path.index("/") :]
        return shell("cat " + path)
    if "structured" in action:
        if has("StructuredOutput"):
            return call("StructuredOutput", action["structured"])
        return ("text", json.dumps(action["structured"]))
    if "todo" in action:
        items = action["todo"]
        if has("TodoWrite"):
            return call(
                "TodoWrite", {"todos": [{"content": t, "activeForm": t, "status": "pending"} for t in items]}
            )
        if has("update_plan"):
            return call("update_plan", {"plan": [{"step": t, "status": "pending"} for t in items]})
        if has("TaskCreate"):
            return call("TaskCreate", {"subject": items[0], "description": "; ".join(items)})
        if has("update_todo"):
            return call("update_todo", {"todos": "".join(f"- [ ] {t}\n" for t in items)})
        return ("text", "Plan: " + "; ".join(items))
    if "tool" in action:
        args = action.get("input", {})
        kind = "custom" if isinstance(args, str) else "function"
        return ("call", action["tool"], args, kind)
    raise ValueError(f"unknown action {action!r}")


def _find_tool(entry, name):
    if entry.get("type") == "namespace":
        for t in entry.get("tools") or []:
            if t.get("name") == name:
                return t
    return entry


def _props(tool):
    schema = (
        tool.get("input_schema")
        or tool.get("parameters")
        or (tool.get("function") or {}).get("parameters")
        or {}
    )
    return schema.get("properties") or {}


def usage_of(script, step):
    u = dict(DEFAULT_USAGE)
    u.update(script.data.get("usage") or {})
    u.update(step.get("usage") or {})
    return u


def rand(prefix):
    return prefix + uuid.uuid4().hex[:24]


def chunks(text, size=24):
    return [text[i : i + size] for i in range(0, len(text), size)] or [""]


# ----------------------------------------------------------- wire encoders
# Each yields (event_name or None, dict); `cut` marks are honoured by the caller.


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


# ------------------------------------------------------------------- server


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "mock-model/1"

    def log_message(self, *a):
        pass

    # -- plumbing
    def _body(self):
        if "chunked" in (self.headers.get("transfer-encoding") or "").lower():
            data = b""
            while True:
                size = int(self.rfile.readline().split(b";")[0].strip() or b"0", 16)
                if size == 0:
                    while self.rfile.readline().strip():
                        pass
                    return data
                data += self.rfile.read(size)
                self.rfile.readline()
        n = int(self.headers.get("content-length") or 0)
        return self.rfile.read(n) if n else b""

    def _json(self, status, obj, extra=None):
        data = b"" if obj is None else json.dumps(obj).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.send_header("request-id", rand("req_01"))
        for k, v in (extra or {}).items():
            self.send_header(k, str(v))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _break_off(self, hang):
        """Begin a plain reply whose end never comes."""
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "1000")
        self.end_headers()
        self.wfile.write(b'{"id":')
        self.wfile.flush()
        if hang:
            self.server.owner.stopping.wait(hang)
        self.close_connection = True

    def _sse(self, events, cut=False, hang=0.0, extra=None):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("cache-control", "no-cache")
        self.send_header("transfer-encoding", "chunked")
        self.send_header("request-id", rand("req_01"))
        for k, v in (extra or {}).items():
            self.send_header(k, str(v))
        self.end_headers()
        events = list(events)
        stop_at = max(1, len(events) // 2) if (cut or hang) else None
        for n, (name, data) in enumerate(events):
            if stop_at is not None and n >= stop_at:
                if hang:
                    self.server.owner.stopping.wait(hang)
                self.close_connection = True
                return
            text = data if isinstance(data, str) else json.dumps(data)
            frame = (f"event: {name}\n" if name else "") + f"data: {text}\n\n"
            raw = frame.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    # -- dispatch
    def _any(self):
        raw = self._body()
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = {"_unparsed": raw[:200].hex(), "_len": len(raw)}
        path = self.path.split("?")[0]
        record = {
            "method": self.command,
            "path": self.path,
            "headers": {
                k.lower(): ("<present>" if k.lower() in SECRET_HEADERS else v)
                for k, v in self.headers.items()
            },
            "body": body,
        }
        try:
            self._route(path, body, record)
        except (BrokenPipeError, ConnectionResetError):
            record["client_closed"] = True
        except Exception as exc:  # a script mistake must be visible
            record["mock_error"] = repr(exc)
            with contextlib.suppress(OSError):
                self._json(500, {"type": "error", "error": {"type": "api_error", "message": repr(exc)}})
        finally:
            self.server.owner.log(record)

    do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = do_OPTIONS = do_PATCH = _any

    def _route(self, path, body, record):
        p = path.rstrip("/")
        if self.command == "HEAD" or p == "":
            record["status"] = 200
            return self._json(200, {} if self.command != "HEAD" else None)
        if self.command == "GET" and re.search(r"/models(/[^/]+)?$", p):
            record["status"] = 200
            return self._models(p)
        if self.command == "POST" and isinstance(body, dict) and "_unparsed" not in body:
            if p.endswith("/messages/count_tokens"):
                record["status"] = 200
                return self._json(200, {"input_tokens": max(1, len(json.dumps(body)) // 4)})
            if p.endswith("/messages"):
                return self._model("anthropic", body, record)
            if p.endswith("/responses/compact"):
                record["status"] = 200
                return self._json(
                    200,
                    {
                        "output": [
                            {
                                "type": "message",
                                "role": "user",
                                "content": [{"type": "input_text", "text": "MOCK COMPACTED SUMMARY"}],
                            }
                        ]
                    },
                )
            if p.endswith("/responses"):
                return self._model("responses", body, record)
            if p.endswith("/chat/completions"):
                return self._model("chat", body, record)
        record["status"] = 404
        self._json(
            404,
            {
                "type": "error",
                "error": {"type": "not_found_error", "message": f"mock has no {self.command} {path}"},
            },
        )
        return None

    def _models(self, p):
        ids = self.server.owner.script.data.get("models") or ["mock-model"]

        def one(i):
            return {
                "id": i,
                "object": "model",
                "type": "model",
                "display_name": i,
                "created": 1700000000,
                "created_at": "2024-01-01T00:00:00Z",
                "owned_by": "mock",
            }

        tail = p.rsplit("/models", 1)[1].strip("/")
        self._json(
            200,
            one(tail)
            if tail
            else {"object": "list", "data": [one(i) for i in ids], "has_more": False, "models": []},
        )

    def _model(self, protocol, body, record):
        owner = self.server.owner
        turn = Turn(protocol, body)
        headers = {k.lower(): v for k, v in self.headers.items()}
        name, k, step = owner.script.choose(turn, headers)
        cwd = owner.script.data.get("cwd") or turn.cwd or "/tmp"
        record.update(protocol=protocol, play=name, step=k, cwd=cwd, status=step.get("status", 200))
        if step.get("delay_s"):
            owner.stopping.wait(float(step["delay_s"]))
        if step.get("status", 200) != 200:
            err = step.get("error") or {"type": "api_error", "message": "mock failure"}
            obj = (
                {"type": "error", "error": err}
                if protocol == "anthropic"
                else {"error": dict({"code": err.get("type"), "param": None}, **err)}
            )
            return self._json(step["status"], obj, step.get("headers"))
        parts = [resolve(a, turn, cwd) for a in step.get("do", [])]
        record["reply"] = [list(p[:3]) for p in parts]
        u = usage_of(owner.script, step)
        calls = any(p[0] == "call" for p in parts)
        hang, cut = float(step.get("hang_s") or 0), bool(step.get("cut"))
        if (cut or hang) and not turn.stream:
            return self._break_off(hang)
        if protocol == "anthropic":
            stop = step.get("stop") or ("tool_use" if calls else "end_turn")
            if turn.stream:
                return self._sse(anthropic_events(turn, parts, u, stop), cut, hang, step.get("headers"))
            return self._json(
                200,
                {
                    "id": rand("msg_01"),
                    "type": "message",
                    "role": "assistant",
                    "model": turn.model,
                    "content": anthropic_blocks(parts),
                    "stop_reason": stop,
                    "stop_sequence": None,
                    "usage": anthropic_usage(u, u["output"]),
                },
                step.get("headers"),
            )
        if protocol == "responses":
            namespaces = {}
            entries = list(body.get("tools") or [])
            for it in body.get("input") or []:
                if isinstance(it, dict) and it.get("type") == "additional_tools":
                    entries += it.get("tools") or []
            for t in entries:
                if t.get("type") == "namespace":
                    for s in t.get("tools") or []:
                        namespaces[s.get("name")] = t.get("name")
            stop = step.get("stop")
            items = refuse(responses_items(parts, namespaces), stop)
            if turn.stream:
                return self._sse(responses_events(turn, items, u, stop), cut, hang, step.get("headers"))
            done = withhold(responses_object(turn, rand("resp_"), items, u, "completed"), stop)
            return self._json(200, done)
        stop = step.get("stop") or ("tool_calls" if calls else "stop")
        if turn.stream:
            return self._sse(chat_events(turn, parts, u, stop), cut, hang, step.get("headers"))
        return self._json(
            200,
            {
                "id": rand("chatcmpl-"),
                "object": "chat.completion",
                "created": int(time.time()),
                "model": turn.model,
                "choices": [{"index": 0, "message": chat_message(parts), "finish_reason": stop}],
                "usage": chat_usage(u),
            },
        )


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


class MockModelServer:
    def __init__(self, script, log_path=None, port=0):
        self.script = Script(script)
        self.log_path = log_path
        self.seq = 0
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self.requests = []
        self.httpd = _Server(("127.0.0.1", port), Handler)
        self.httpd.owner = self
        self.port = self.httpd.server_address[1]
        self.base_url = f"http://127.0.0.1:{self.port}"

    def log(self, record):
        with self.lock:
            self.seq += 1
            record = dict({"seq": self.seq, "ts": time.time()}, **record)
            self.requests.append(
                {k: record.get(k) for k in ("seq", "method", "path", "play", "step", "status")}
            )
            if self.log_path:
                with Path(self.log_path).open("a", encoding="utf-8") as f:
                    f.write(json.dumps(record, ensure_ascii=False) + "\n")

    def set_script(self, script):
        """Answer by another script from the next request on."""
        self.script = Script(script)

    def start(self):
        threading.Thread(target=self.httpd.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def stop(self):
        self.stopping.set()
        self.httpd.shutdown()
        self.httpd.server_close()


def main():
    ap = argparse.ArgumentParser(description="scripted loopback model server")
    ap.add_argument("--port", type=int, default=0)
    ap.add_argument("--script")
    ap.add_argument("--log")
    ap.add_argument("--port-file", help="the port is written here once listening")
    ap.add_argument("--max-seconds", type=float, default=3600, help="stop by itself after this long")
    a = ap.parse_args()
    script = json.loads(Path(a.script).read_text()) if a.script else {"plays": []}
    srv = MockModelServer(script, a.log, a.port).start()
    if a.port_file:
        part = Path(a.port_file + ".tmp")
        part.write_text(str(srv.port))
        part.replace(a.port_file)
    done = threading.Event()
    for s in (signal.SIGINT, signal.SIGTERM):
        signal.signal(s, lambda *_: done.set())
    done.wait(a.max_seconds)
    srv.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
