"""The real GitHub Copilot CLI through the suite of all clients. No service is called."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skillopt_replay.agents.copilot import Copilot
from skillopt_replay.agents.copilot_cli import find_copilot
from tests.replay.real_suite import Names, RealSuite, error, marks_for

PROGRAM = os.environ.get("SKILLOPT_TEST_COPILOT", "")

pytestmark = marks_for(PROGRAM, "SKILLOPT_TEST_COPILOT")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """The program unpacks itself here once for all tests."""
    return tmp_path_factory.mktemp("copilot-cache")


class TestCopilot(RealSuite):
    tools = Names(shell="bash", write="create", skill="skill")
    instructions = "AGENTS.md"
    crash = "eval 'kill -9 '$PPID"  # it runs no plain kill without a number
    refused_key = error(401, "authentication_error", "invalid api key")

    @pytest.fixture(autouse=True)
    def _unpacked(self, cache):
        self.cache = cache

    def open_agent(self, url, sandbox, home, monkeypatch, **options):
        env = {
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
            "COPILOT_PROVIDER_API_KEY": "sk-fake",
            "COPILOT_MODEL": "scripted",
        }
        cli = find_copilot(env, Path(PROGRAM), cache=self.cache)
        assert cli is not None
        return Copilot(cli, sandbox, cache=self.cache, **options)

    def open_refusing_agent(self, url, sandbox, home, monkeypatch):
        agent = self.open_agent(url, sandbox, home, monkeypatch, denied=["write"])
        return agent, {"write": {"path": "hello.txt", "content": "hi\n"}}
