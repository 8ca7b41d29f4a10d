"""A person at the real Codex, in an editor as far as it can tell: prompts, corrections, an own home."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

# The suite's environment is emptied before each test, so this is read when the module is imported.
CODEX = os.environ.get("SKILLOPT_TEST_CODEX", "")

_CONFIG = """\
model = "gpt-5.5"
model_provider = "mock"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
plugins = false
apps = false
[model_providers.mock]
name = "mock"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
"""
_SECONDS = 60.0


class CodexPerson:
    """Somebody who works in `project` with the client against the model at `url`."""

    def __init__(self, home: Path, project: Path, url: str) -> None:
        self.home = home
        self.project = project
        temp = home / "client-tmp"
        temp.mkdir(exist_ok=True)
        folder = home / ".codex"
        folder.mkdir(exist_ok=True)
        (folder / "config.toml").write_text(_CONFIG.format(url=url))
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "CODEX_HOME": str(folder),
            "TMPDIR": str(temp),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "MOCK_KEY": "sk-fake",
        }

    def ask(self, *prompts: str) -> str:
        """Give the prompts one after the other in a new session, and return the last answer."""
        server = subprocess.Popen(
            [CODEX, "app-server"],
            cwd=self.project,
            env=self.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        timer = threading.Timer(_SECONDS, _kill, [server.pid])
        timer.start()
        try:
            editor = {"name": "codex_vscode", "title": "VS Code", "version": "1.0"}
            call(server, "initialize", clientInfo=editor)
            send(server, {"method": "initialized"})
            where = {"cwd": str(self.project), "approvalPolicy": "never", "sandbox": "danger-full-access"}
            thread = call(server, "thread/start", **where)["thread"]["id"]
            return [self._take_turn(server, thread, prompt) for prompt in prompts][-1]
        finally:
            timer.cancel()
            assert server.stdin
            server.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(timeout=5)
            _kill(server.pid)
            server.wait()
            assert server.stdout
            server.stdout.close()

    def _take_turn(self, server: subprocess.Popen[str], thread: str, prompt: str) -> str:
        call(server, "turn/start", threadId=thread, input=[{"type": "text", "text": prompt}])
        answer = ""
        for told in messages(server):
            item = told.get("params", {}).get("item", {})
            if told.get("method") == "item/completed" and item.get("type") == "agentMessage":
                answer = item["text"]
            if told.get("method") == "turn/completed":
                return answer
        raise AssertionError("the client ended in the middle of a turn")


def call(server: subprocess.Popen[str], method: str, **params: object) -> dict[str, Any]:
    send(server, {"id": method, "method": method, "params": params})
    reply = next((told for told in messages(server) if told.get("id") == method), {})
    assert "result" in reply, reply
    return reply["result"]


def send(server: subprocess.Popen[str], message: dict[str, object]) -> None:
    assert server.stdin
    server.stdin.write(json.dumps(message) + "\n")
    server.stdin.flush()


def messages(server: subprocess.Popen[str]):
    assert server.stdout
    while line := server.stdout.readline():
        yield json.loads(line)


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
