"""Anthropic as Claude Code sees it: an organisation's account, its settings, and a scripted model."""

from __future__ import annotations

import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HOST = "api.anthropic.com"


class ClaudeAccount:
    """Listens at `port`; `settings` are those of the organisation, `asked` holds each path."""

    def __init__(self, model_port: int, settings: dict[str, Any]) -> None:
        self.asked: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                outer.asked.append(self.path)
                if self.path.startswith("/api/claude_code/settings"):
                    told = {"uuid": "0" * 8, "checksum": "sum", "settings": settings}
                    self._answer(200, json.dumps(told).encode())
                else:
                    self._answer(404, b"{}")

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.asked.append(self.path)
                asking = http.client.HTTPConnection("127.0.0.1", model_port)
                asking.request("POST", self.path, body, {"Content-Type": "application/json"})
                with asking.getresponse() as reply:
                    said, kind = reply.read(), reply.getheader("Content-Type", "")
                asking.close()
                self._answer(reply.status, said, kind)

            def _answer(self, status: int, body: bytes, kind: str = "application/json") -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
