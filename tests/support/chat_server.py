"""A model behind a chat completions server on loopback that answers by what it is asked.

It does as a skill in its system message says, when the test wants it to; asked for JSON it writes edits.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

RULE = "Use `uv add` to add a package, never `pip install`."
TEST_RULE = "Run the tests of a module with `make check`, never with `pytest`."
# (what is asked, with the name in it; what is right; what is wrong)
_KINDS = (
    (re.compile(r"Add the (\S+) package"), "uv add", "pip install"),
    (re.compile(r"Run all tests of (\S+)"), "make check", "pytest"),
    (re.compile(r"Write the release note of (\S+)"), "bullets", "paragraphs"),
    (re.compile(r"(dependency)"), "uv add", "pip install"),
)
_SHOWN = re.compile(r"^<<<\w+ [0-9a-f]{12}\nFinal answer:\n(.*?)$", re.MULTILINE)


class Request:
    """One request: its JSON body, and what it asks."""

    def __init__(self, body: dict) -> None:
        self.body = body
        self.key = json.dumps(body, sort_keys=True)
        wanted = (
            body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
        )
        self.is_judge = not {"grade", "better"}.isdisjoint(wanted)
        self.is_titler = "title" in wanted
        self.is_optimizer = "response_format" in body and not (self.is_judge or self.is_titler)
        self.is_task = "response_format" not in body
        self.system: str = body["messages"][0]["content"]
        self.user: str = body["messages"][-1]["content"]
        self.has_skill = "# Skill\n" in self.system
        for pattern, right, wrong in _KINDS:
            found = pattern.search(self.user)
            if found:
                self.package, self.right, self.wrong = found[1], right, wrong


class ChatModel:
    """The model's character, and everything it was asked.

    `obeys(request)` says whether it does as the skill says, `knows(request)` whether it gets the task right
    without one. `rules` are what it proposes, one a call, the last for ever; `propose(request)`, if set, says
    what instead. `answers_as` is the model it says it is. `refuses(request)` may return an HTTP status (501
    is not tried again, so that no test waits); `refusal` is the error that goes with it. A request for which
    `hangs` is true gets no answer before `release` is set. `judge` grades one answer.
    """

    def __init__(self, rules: Sequence[str] = (RULE,)) -> None:
        self.rules = list(rules)
        self.obeys: Callable[[Request], bool] = lambda request: True
        self.knows: Callable[[Request], bool] = lambda request: False
        self.propose: Callable[[Request], str] | None = None
        self.refuses: Callable[[Request], int] = lambda request: 0
        self.refusal: dict[str, str] = {"message": "no more for you"}
        self.hangs: Callable[[Request], bool] = lambda request: False
        self.judge: Callable[[str], float] = lambda work: 0.0
        self.release = threading.Event()
        self.hanging = threading.Event()
        self.requests: list[Request] = []
        self.answered: list[str] = []
        self.trained_on: set[str] = set()
        self.url = ""
        self.answers_as = "scripted"
        self.title = "Packages, by the house rules"
        self._lock = threading.Lock()

    @property
    def spec(self) -> str:
        """How settings name this model."""
        return f"openai:{self.url}/v1#scripted"

    @property
    def optimizer_requests(self) -> list[Request]:
        return [request for request in self.requests if request.is_optimizer]

    @property
    def task_requests(self) -> list[Request]:
        return [request for request in self.requests if request.is_task]

    @property
    def judge_requests(self) -> list[Request]:
        return [request for request in self.requests if request.is_judge]

    def is_training(self, request: Request) -> bool:
        """Tell whether the task was asked before the optimizer first was: then it is learned from."""
        return request.package in self.trained_on

    def take(self, body: dict) -> tuple[int, dict]:
        """Note the request and return status and reply."""
        request = Request(body)
        with self._lock:
            self.requests.append(request)
            if request.is_task and not self.optimizer_requests:
                self.trained_on.add(request.package)
            proposed = len(self.optimizer_requests)
        if self.hangs(request):
            self.hanging.set()
            self.release.wait(30)
        status = self.refuses(request)
        if status:
            return status, {"error": self.refusal}
        if request.is_judge:
            text = json.dumps({"reason": "a thought of the judge", **self._judge(request.user)})
        elif request.is_titler:
            text = json.dumps({"title": self.title})
        elif request.is_optimizer:
            rule = self.rules[min(proposed, len(self.rules)) - 1]
            if self.propose is not None:
                rule = self.propose(request)
            fields = body["response_format"]["json_schema"]["schema"]["properties"]
            reply = dict.fromkeys(fields, rule) | {"reasoning": "The user wants uv."}
            if "edits" in fields:
                whole = {"op": "add", "target": "", "rule": rule, "because": ["c1"]}
                whole |= {"content": rule, "support": 1, "source": "failure"}
                names = fields["edits"]["items"]["properties"]
                reply["edits"] = [{name: whole[name] for name in names}]
            text = json.dumps(reply)
        else:
            told = request.has_skill and request.right in request.system
            right = self.obeys(request) if told else self.knows(request)
            text = f"{request.right if right else request.wrong} {request.package}"
        return 200, {
            "model": self.answers_as,
            "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10},
        }

    def _judge(self, prompt: str) -> dict[str, str]:
        grades = [self.judge(answer) for answer in _SHOWN.findall(prompt)]
        if len(grades) == 1:
            return {"grade": {1.0: "met", 0.5: "partly met"}.get(grades[0], "not met")}
        first, second = grades
        return {"better": "neither" if first == second else "first" if first > second else "second"}


@contextmanager
def serve(model: ChatModel) -> Iterator[ChatModel]:
    """Serve the model on a free port of loopback until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body leave in two packets; without this the second waits for the first one's receipt.
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            data = self.rfile.read(length)
            if len(data) < length:
                self.close_connection = True  # who asked was killed while it did
                return
            body = json.loads(data)
            status, reply = model.take(body)
            raw = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)
            self.wfile.flush()
            model.answered.append(json.dumps(body, sort_keys=True))

        def handle(self) -> None:
            with suppress(ConnectionError):
                super().handle()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    model.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield model
    finally:
        model.release.set()
        server.shutdown()
        server.server_close()
        thread.join()
