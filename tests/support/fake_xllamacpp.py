"""Stands in for the inference runtime: echoes what it was asked and told, dies when asked to.

It loads only files that start like a model, chatters on standard output as native code does, and answers
503 for a moment before it is ready.
"""

import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

READY_AFTER_S = 0.2


class CommonParams(SimpleNamespace):
    def __init__(self):
        super().__init__(
            model=SimpleNamespace(path=""), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace()
        )


class Server:
    def __init__(self, params):
        content = Path(params.model.path).read_bytes()[:40]
        if not content.startswith(b"GGUF"):
            os.write(2, b"error loading model: bad magic\n")
            os._exit(7)
        if b"slow" in content:
            time.sleep(60)
        os.write(1, b"native chatter\n")
        handler = _make_handler(params, time.monotonic() + READY_AFTER_S)
        server = ThreadingHTTPServer((params.hostnames[0], params.port), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.listening_address = f"http://127.0.0.1:{server.server_address[1]}"


def _make_handler(params, ready):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.answer(200 if time.monotonic() > ready else 503, {})

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if self.headers.get("authorization") != f"Bearer {params.api_keys[0]}":
                self.answer(401, {"error": {"message": "no key"}})
                return
            asked = body["messages"][-1]["content"]
            if asked == "die":
                os.write(2, b"out of memory\n")
                os._exit(9)
            told = {
                "pid": os.getpid(),
                "env": dict(os.environ),
                "slots": params.n_parallel,
                "context": params.n_ctx,
                "threads": params.cpuparams.n_threads,
                "poll": params.cpuparams.poll,
                "alias": sorted(params.model_alias),
                "hosts": params.hostnames,
                "body": body,
            }
            choice = {"message": {"content": json.dumps(told)}, "finish_reason": "stop"}
            usage = {"prompt_tokens": 5, "completion_tokens": 2}
            self.answer(200, {"model": "fake", "choices": [choice], "usage": usage})

        def answer(self, status, value):
            raw = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_):
            pass

    return Handler
