"""What a request of any of the protocols says, in one form."""

from __future__ import annotations

import json
import re

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
