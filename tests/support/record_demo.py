"""Record the demo's transcripts: the real Claude Code in a terminal, a scripted model behind it.

    python tests/support/record_demo.py --claude PATH/TO/claude skillopt_sleep/demo/transcripts

Each session of `demo_story` is typed into the client by a pseudo-terminal, so that its records are those of a
person at the keyboard (with `-p` the client calls itself headless, whatever it is told). The client gets an
empty environment, a home of its own, a key that opens nothing, and a model server on loopback.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import platform
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import uuid
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.clean_transcript import clean
from tests.support.demo_story import SHOP, STORY, Sitting
from tests.support.scripted_model_server import MockModelServer

KEY = "sk-fake-" + "0" * 32
HOME = "/home/sam"
PROJECT = "/home/sam/shop"
FOLDER = Path("dot-claude/projects/-home-sam-shop")
PAUSE = timedelta(seconds=48)  # between two turns of a session, in the story
TOOLS = "Read,Edit,Write,Bash"
PATIENCE_S = 40.0


class Terminal:
    """The client in a pseudo-terminal."""

    def __init__(self, command: list[str], cwd: Path, env: dict[str, str]) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self._process = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)
        self._seen = b""

    def listen(self, seconds: float) -> bytes:
        """Read what is drawn for so long; return all that was drawn so far."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self._master], [], [], left)[0]:
                try:
                    self._seen += os.read(self._master, 65536)
                except OSError:
                    break
        return self._seen

    def enter(self, text: str) -> None:
        os.write(self._master, text.encode())
        self.listen(0.4)
        os.write(self._master, b"\r")

    def close(self) -> None:
        self.enter("/exit")
        end = time.monotonic() + 10
        while self._process.poll() is None and time.monotonic() < end:
            self.listen(0.2)
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait(10)
        os.close(self._master)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, help="the folder of the bundled transcripts")
    parser.add_argument("--claude", type=Path, required=True, help="the native binary of Claude Code 2.1.332")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="record-demo-") as root:
        machine = Machine(Path(root), options.claude)
        recorded = {record_id(sitting): machine.record(sitting) for sitting in STORY}
    folder = options.out / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, lines in recorded.items():
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


class Machine:
    """A home, a repository and the client, for one recording."""

    def __init__(self, root: Path, claude: Path) -> None:
        self.root, self.claude = root, claude
        self.home = root / "home"
        self.project = self.home / "shop"
        self.project.mkdir(parents=True)
        (root / "tmp").mkdir()
        trust = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        (self.home / ".claude.json").write_text(
            json.dumps(
                {
                    "hasCompletedOnboarding": True,
                    "theme": "dark",
                    "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
                    "projects": {str(self.project): trust},
                }
            )
        )
        for name, text in SHOP.items():
            path = self.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self._git("init", "-q", "-b", "main")
        self._commit("Add the cart", "2026-11-13T16:00:00+00:00")

    def record(self, sitting: Sitting) -> list[str]:
        """Play one session and return its cleaned lines."""
        start = datetime.fromisoformat(f"{sitting.start}+00:00")
        plays = [
            {"when": {"user_contains": turn.hears or turn.prompt}, "steps": list(turn.steps)}
            for turn in sitting.turns
        ]
        server = MockModelServer({"plays": plays}, str(self.root / "requests.jsonl")).start()
        try:
            play = self._play_headless if sitting.headless else self._play_typed
            ends = play(sitting, self._environment(server.base_url))
        finally:
            server.stop()
        if sitting.commits:
            self._commit(sitting.commits, f"{start + timedelta(minutes=5):%Y-%m-%dT%H:%M:%S+00:00}")
        starts = [start + number * PAUSE for number in range(len(ends))]
        lines = self._transcript(sitting).read_text(encoding="utf-8").splitlines()
        return clean(lines, turns=list(zip(ends, starts, strict=True)), names=self._names())

    def _play_typed(self, sitting: Sitting, env: dict[str, str]) -> list[int]:
        command = [*self._command(sitting), "--permission-mode", "default"]
        terminal = Terminal(command, self.project, env)
        try:
            wait_for(lambda: "❯".encode() in terminal.listen(0.2), "the client's prompt")
            terminal.listen(1.0)
            ends: list[int] = []
            for turn in sitting.turns:
                terminal.enter(turn.prompt)

                def over() -> bool:
                    terminal.listen(0.2)
                    return self._count(sitting, '"turn_duration"') > len(ends)

                wait_for(over, f"the end of the turn {turn.prompt!r}")
                terminal.listen(0.5)
                ends.append(self._count(sitting, ""))
        finally:
            terminal.close()
        return ends

    def _play_headless(self, sitting: Sitting, env: dict[str, str]) -> list[int]:
        command = [*self._command(sitting), "-p", sitting.turns[0].prompt, "--output-format", "json"]
        subprocess.run(
            command, cwd=self.project, env=env, stdin=subprocess.DEVNULL, capture_output=True,
            start_new_session=True, timeout=60, check=True,
        )  # fmt: skip
        return [self._count(sitting, "")]

    def _command(self, sitting: Sitting) -> list[str]:
        return [
            str(self.claude), "--model", "scripted-model",
            "--session-id", record_id(sitting), "--allowedTools", TOOLS,
        ]  # fmt: skip

    def _environment(self, url: str) -> dict[str, str]:
        return {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.home),
            "TMPDIR": str(self.root / "tmp"),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "TERM": "xterm-256color",
            "PYTHONDONTWRITEBYTECODE": "1",
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
        }

    def _transcript(self, sitting: Sitting) -> Path:
        return self.home / ".claude/projects" / slug(self.project) / f"{record_id(sitting)}.jsonl"

    def _count(self, sitting: Sitting, mark: str) -> int:
        path = self._transcript(sitting)
        if not path.exists():
            return 0
        return sum(mark in line for line in path.read_text(encoding="utf-8").splitlines())

    def _names(self) -> dict[str, str]:
        return {
            str(self.project): PROJECT,
            str(self.home): HOME,
            slug(self.project): slug(PROJECT),
            str(self.root): "/tmp/sam",
            platform.release(): "6.1.0",
            f'"{socket.gethostname()}"': '"devbox"',
        }

    def _git(self, *arguments: str, **env: str) -> None:
        base = {"PATH": "/usr/bin:/bin", "HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1"}
        who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER")
               for key, value in (("NAME", "Sam"), ("EMAIL", "sam@shop.example"))}  # fmt: skip
        subprocess.run(["git", *arguments], cwd=self.project, check=True, env={**base, **who, **env})

    def _commit(self, message: str, date: str) -> None:
        self._git("add", "-A")
        self._git("commit", "-q", "-m", message, GIT_AUTHOR_DATE=date, GIT_COMMITTER_DATE=date)


def record_id(sitting: Sitting) -> str:
    """Return the session's id: the same on every recording."""
    return str(uuid.UUID(bytes=hashlib.sha256(sitting.start.encode()).digest()[:16], version=4))


def slug(path: Path | str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "-", str(path))


def wait_for(happened: Any, what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not happened():
        if time.monotonic() > end:
            raise SystemExit(f"waited {PATIENCE_S:.0f} s for {what}")


if __name__ == "__main__":
    main()
