"""A webhook's address may hold a key: what is told of a failure holds none of it."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from skillopt_sleep.daemon.announcing import Brief, post_webhook

KEY = "heron-key-42"
BRIEF = Brief(
    night="n", state="done", started="s", ended=None, accepted=0, rejected=0, undecided=0, proposals=0,
    tokens=0, cost_usd=0.0,
)  # fmt: skip


class Hook(BaseHTTPRequestHandler):
    """Repeats the path it was asked for in its refusal, or answers in no words of HTTP."""

    def do_POST(self) -> None:
        if self.path.startswith("/mute"):
            self.wfile.write(b"220 heron ESMTP " + self.path.encode() + b"\r\n")
        else:
            self.send_response(404, f"no such hook: {self.path}")
            self.send_header("content-length", "0")
            self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hook():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (f"HOOK/{KEY}", "HTTP 404"),
        (f"HOOK/mute/{KEY}", "BadStatusLine: "),
        (f"http://me:{KEY}@127.0.0.1/hook", "InvalidURL: "),
        (f"http://127.0.0.1:{KEY}/hook", "InvalidURL: "),
    ],
)
def test_a_webhook_that_fails_is_told_without_its_key(hook, url, said, capfd):
    told: list[str] = []
    post_webhook(url.replace("HOOK", hook), BRIEF, told.append).join(20)
    assert len(told) == 1
    assert told[0].startswith(said)
    assert KEY not in told[0] + capfd.readouterr().err
