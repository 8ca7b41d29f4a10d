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
  drop      true: drop the connection without a word
After the last step of a play, its last step is repeated.
"{cwd}" in any action string is replaced by the working directory.

Use:  python -m tests.support.scripted_model_server --port 0 --script s.json --log req.jsonl --port-file p
or    srv = MockModelServer(script, "req.jsonl").start(); srv.base_url; srv.stop()
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path

from tests.support.scripted.scripts import Script
from tests.support.scripted.serving import Handler


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
