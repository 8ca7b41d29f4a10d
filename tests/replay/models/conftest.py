"""Small servers on loopback that behave, or misbehave, like the real ones."""

from __future__ import annotations

import json
import os
import shutil
import threading
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[2] / "support"


class ChatServer:
    """Answers each request with the next of `answers`, the last one for ever.

    An answer is (status, body, headers), or a function of the request that returns one; a dict body is sent
    as JSON, None drops the connection.
    """

    def __init__(self, *answers) -> None:
        self.answers = list(answers)
        self.requests: list[dict] = []
        self.headers: list[dict] = []
        self.paths: list[str] = []
        self.delay = threading.Event()
        self.url = ""

    def next(self):
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def serve(handler):
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def chat_server():
    with ExitStack() as stack:

        def start(*answers) -> ChatServer:
            chat = ChatServer(*answers)

            class Handler(BaseHTTPRequestHandler):
                protocol_version = "HTTP/1.1"

                def do_POST(self):
                    length = int(self.headers["content-length"])
                    asked = json.loads(self.rfile.read(length))
                    chat.requests.append(asked)
                    chat.headers.append({k.lower(): v for k, v in self.headers.items()})
                    chat.paths.append(self.path)
                    answer = chat.next()
                    status, body, headers = answer(asked) if callable(answer) else answer
                    if body == "hang":
                        chat.delay.wait(5)
                        body = None
                    if body is None:
                        self.close_connection = True
                        self.connection.close()
                        return
                    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.send_header("content-length", str(len(raw)))
                    self.end_headers()
                    self.wfile.write(raw)

                def handle(self):
                    with suppress(ConnectionError):
                        super().handle()

                def log_message(self, *_):
                    pass

            chat.url = stack.enter_context(serve(Handler))
            stack.callback(chat.delay.set)
            return chat

        yield start


class FileServer:
    """Serves `content` with byte ranges; `cuts` says after how many bytes each next reply breaks off."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.cuts: list[int] = []
        self.etag = '"v1"'
        self.ranges = True
        self.status = 200
        self.asked: list[str | None] = []
        self.url = ""
        self.gate: threading.Event | None = None


@pytest.fixture
def file_server():
    with ExitStack() as stack:

        def start(content: bytes) -> FileServer:
            files = FileServer(content)

            class Handler(BaseHTTPRequestHandler):
                protocol_version = "HTTP/1.1"

                def do_GET(self):
                    asked = self.headers.get("range")
                    files.asked.append(asked)
                    if files.status != 200:
                        self.send_response(files.status)
                        self.send_header("content-length", "0")
                        self.end_headers()
                        return
                    start, status, total = 0, 200, len(files.content)
                    same = self.headers.get("if-range", files.etag) == files.etag
                    if asked and files.ranges and same:
                        start, status = int(asked.removeprefix("bytes=").rstrip("-")), 206
                    body = files.content[start:]
                    self.send_response(status)
                    if status == 206:
                        self.send_header("content-range", f"bytes {start}-{total - 1}/{total}")
                    if files.etag:
                        self.send_header("etag", files.etag)
                    self.send_header("content-length", str(len(body)))
                    self.end_headers()
                    if files.gate:
                        files.gate.wait(10)
                    if files.cuts:
                        body = body[: files.cuts.pop(0)]
                        self.close_connection = True
                    with suppress(ConnectionError):
                        self.wfile.write(body)

                def log_message(self, *_):
                    pass

            files.url = stack.enter_context(serve(Handler)) + "/model.gguf"
            return files

        yield start


@pytest.fixture
def fake_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a stand-in for the inference runtime on the path of this process and its children."""
    folder = tmp_path / "runtime"
    folder.mkdir()
    shutil.copy(SUPPORT / "fake_xllamacpp.py", folder / "xllamacpp.py")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.environ['PYTHONPATH']}")
    return folder
