"""A person at the real Claude Code, as far as the client can tell: prompts, corrections, an own home."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import uuid
from pathlib import Path

import pytest

# The suite's environment is emptied before each test, so this is read when the module is imported.
CLAUDE = os.environ.get("SKILLOPT_TEST_CLAUDE", "")

require_claude = pytest.mark.skipif(
    not CLAUDE, reason="the real Claude Code is not installed: `make clients` fetches it (needs npm)"
)

_QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
}
_TOOLS = "Bash,Read,Write,Edit,Skill"


class Person:
    """Somebody who works in `project` with the client against the model at `url`."""

    def __init__(self, home: Path, project: Path, url: str) -> None:
        self.home = home
        self.project = project
        temp = home / "client-tmp"
        temp.mkdir(exist_ok=True)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "CLAUDE_CONFIG_DIR": str(home / ".claude"),
            "TMPDIR": str(temp),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "sk-fake",
            # The desktop app drives the client like this for the person who types there.
            "CLAUDE_CODE_ENTRYPOINT": "claude-desktop",
            **_QUIET,
        }

    def ask(self, prompt: str, *, session: str | None = None) -> tuple[str, str]:
        """Give a prompt, in a new session or an earlier one; return the session's id and the answer."""
        name = session or str(uuid.uuid4())
        where = ["--resume", name] if session else ["--session-id", name]
        command = [CLAUDE, "-p", prompt, *where, "--output-format", "json", "--allowedTools", _TOOLS]
        child = subprocess.Popen(
            command,
            cwd=self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            out, err = child.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            raise
        assert child.returncode == 0, f"{out}\n{err}"
        return name, json.loads(out.strip().splitlines()[-1])["result"]
