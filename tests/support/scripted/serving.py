"""The HTTP of it: what comes in is told to the server, and answered by its script."""

from __future__ import annotations

import contextlib
import json
import re
import socket
from http.server import BaseHTTPRequestHandler

from tests.support.scripted import anthropic, chat, responses
from tests.support.scripted.actions import resolve
from tests.support.scripted.scripts import rand, usage_of
from tests.support.scripted.turns import Turn

SECRET_HEADERS = {"authorization", "x-api-key", "api-key", "cookie", "proxy-authorization", "x-goog-api-key"}
ANSWERS = {"anthropic": anthropic.answer, "responses": responses.answer, "chat": chat.answer}


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
        if step.get("drop"):
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return None
        parts = [resolve(a, turn, cwd) for a in step.get("do", [])]
        record["reply"] = [list(p[:3]) for p in parts]
        u = usage_of(owner.script, step)
        hang, cut = float(step.get("hang_s") or 0), bool(step.get("cut"))
        if (cut or hang) and not turn.stream:
            return self._break_off(hang)
        said = ANSWERS[protocol](turn, body, parts, u, step.get("stop"))
        if turn.stream:
            return self._sse(said, cut, hang, step.get("headers"))
        return self._json(200, said, step.get("headers"))
