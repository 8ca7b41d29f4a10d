"""GitHub as Copilot sees it: an account, its models, and a scripted one that answers."""

from __future__ import annotations

import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOSTS = ("github.com", "api.github.com", "api.githubcopilot.com")
_ACCOUNT = {
    "login": "someone", "copilot_plan": "individual_pro", "access_type_sku": "monthly_subscriber",
    "chat_enabled": True, "cli_enabled": True, "is_mcp_enabled": True,
    "endpoints": {"api": "https://api.githubcopilot.com"},
}  # fmt: skip
_MODEL = {
    "id": "gpt-5.5", "name": "gpt-5.5", "version": "gpt-5.5", "vendor": "OpenAI", "object": "model",
    "model_picker_enabled": True, "policy": {"state": "enabled"},
    "supported_endpoints": ["/chat/completions"], "billing": {"is_premium": False, "multiplier": 0},
    "capabilities": {
        "family": "gpt-5.5", "type": "chat", "tokenizer": "o200k_base",
        "limits": {"max_context_window_tokens": 200_000, "max_output_tokens": 16_000},
        "supports": {"streaming": True, "tool_calls": True},
    },
}  # fmt: skip


class GitHub:
    """Listens at `port` for all of its hosts; `asked` holds the path and body of each request."""

    def __init__(self, model_port: int) -> None:
        self.asked: list[tuple[str, bytes]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                outer.asked.append((self.path, b""))
                if "copilot_internal/user" in self.path:
                    self._answer(200, json.dumps(_ACCOUNT).encode())
                elif self.path.startswith("/models"):
                    self._answer(200, json.dumps({"object": "list", "data": [_MODEL]}).encode())
                elif self.path.endswith("/enabled"):
                    self._answer(200, b'{"enabled": true}')
                else:
                    self._answer(404, b'{"message": "Not Found"}')

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.asked.append((self.path, body))
                if not self.path.endswith("/chat/completions"):
                    return self._answer(404, b'{"message": "Not Found"}')
                asking = http.client.HTTPConnection("127.0.0.1", model_port)
                asking.request("POST", f"/v1{self.path}", body, {"Content-Type": "application/json"})
                with asking.getresponse() as reply:
                    said, kind = reply.read(), reply.getheader("Content-Type", "")
                asking.close()
                return self._answer(reply.status, said, kind)

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
