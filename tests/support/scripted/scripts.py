"""Which step of a script answers a request, and what replies of all protocols are made of."""

from __future__ import annotations

import threading
import uuid

DEFAULT_USAGE = {"input": 1200, "output": 40, "cache_read": 0, "cache_write": 0}


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


def usage_of(script, step):
    u = dict(DEFAULT_USAGE)
    u.update(script.data.get("usage") or {})
    u.update(step.get("usage") or {})
    return u


def rand(prefix):
    return prefix + uuid.uuid4().hex[:24]


def chunks(text, size=24):
    return [text[i : i + size] for i in range(0, len(text), size)] or [""]
