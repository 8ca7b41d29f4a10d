"""The real client reaches its model by name, encrypted, through a proxy, and nobody else that way."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from skillopt_replay.agents.claude_cli import find_claude
from skillopt_replay.agents.claude_code import ClaudeCode
from skillopt_replay.protocols import Limits
from skillopt_replay.replay import replay
from skillopt_replay.rollouts import Outcome
from tests.support.scripted_model_server import MockModelServer
from tests.support.tls_proxy import Proxy, make_certificates

# Read at import: the tests' own environment is emptied.
PROGRAM = os.environ.get("SKILLOPT_TEST_CLAUDE", "")

pytestmark = [
    pytest.mark.real_cli,
    pytest.mark.skipif(
        not Path(PROGRAM or "/nonexistent").is_file(), reason="SKILLOPT_TEST_CLAUDE names no program"
    ),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates"),
]

NAME = "model.example.test"
TRY = f"""curl -sS --max-time 5 https://evil.example.test/
curl -sS --max-time 5 --connect-to evil.example.test:443:{NAME}:443 https://evil.example.test/
grep example /etc/hosts; env | grep -ci proxy
"""
SCRIPT = {
    "plays": [
        {
            "name": "try",
            "when": {"user_contains": "greet"},
            "steps": [{"do": [{"shell": TRY}]}, {"do": [{"say": "HERON"}]}],
        }
    ]
}


@pytest.fixture
def certificates(tmp_path):
    return make_certificates(tmp_path / "tls", NAME)


async def test_the_model_is_reached_by_name_and_no_other_name_by_the_same_way(
    certificates, confined, make_task, tmp_path
):
    server = MockModelServer(SCRIPT, str(tmp_path / "requests.jsonl")).start()
    proxy = Proxy(certificates, int(server.base_url.rpartition(":")[2].strip("/")))
    try:
        env = {
            "ANTHROPIC_API_KEY": "sk-fake",
            "ANTHROPIC_BASE_URL": f"https://{NAME}",
            "HTTPS_PROXY": proxy.url,
            "NODE_EXTRA_CA_CERTS": str(certificates / "ca.pem"),
        }
        cli = find_claude(env, Path(PROGRAM))
        assert cli is not None
        rollout = await replay(
            make_task(), None, ClaudeCode(cli, confined),
            root=tmp_path / "runs", sandbox=confined, limits=Limits(seconds=60),
        )  # fmt: skip
    finally:
        proxy.close()
        server.stop()
    assert rollout.outcome is Outcome.FINISHED, rollout.error
    assert rollout.score is not None
    assert rollout.score.hard == 1.0
    assert set(proxy.asked) == {f"CONNECT {NAME}:443 HTTP/1.1".encode()}
    (call,) = rollout.calls
    assert "Could not resolve host: evil.example.test" in call.output
    # The model's own name leads a command no further: only the client speaks to it.
    assert "curl: (35) " in call.output, "hung up on, before its first message was read or after"
    assert f"127.0.64.1 {NAME}\n0" in call.output, "its own hosts file, and no proxy"
