"""What a maker's service answers for an account, with a scripted model behind it."""

from __future__ import annotations

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    """One request; subclasses say what is answered."""

    def log_message(self, *_: object) -> None:
        pass

    def read_body(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"]))

    def pass_on(self, model_port: int, path: str, body: bytes) -> None:
        """Answer as the scripted model does."""
        asking = http.client.HTTPConnection("127.0.0.1", model_port)
        asking.request("POST", path, body, {"Content-Type": "application/json"})
        with asking.getresponse() as reply:
            said, kind = reply.read(), reply.getheader("Content-Type", "")
        asking.close()
        self.answer(reply.status, said, kind)

    def answer(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class AccountService:
    """Listens at `port`."""

    def __init__(self, handler: type[Handler]) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
