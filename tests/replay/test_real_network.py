"""The real client reaches its model by name, encrypted, through a proxy, and nobody else that way."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import threading
from pathlib import Path

import pytest

from skillopt_replay.agents.claude_cli import find_claude
from skillopt_replay.agents.claude_code import ClaudeCode
from skillopt_replay.protocols import Limits
from skillopt_replay.replay import replay
from skillopt_replay.rollouts import Outcome
from tests.support.scripted_model_server import MockModelServer

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
    folder = tmp_path / "tls"
    folder.mkdir()

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    (folder / "extensions").write_text(f"subjectAltName=DNS:{NAME}\n")
    authority = ("-subj", "/CN=authority", "-addext", "basicConstraints=critical,CA:TRUE")
    openssl(
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", *authority
    )
    openssl(
        "req", "-newkey", "rsa:2048", "-nodes", "-keyout", "key", "-out", "request", "-subj", f"/CN={NAME}"
    )
    signer = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "extensions")
    openssl("x509", "-req", "-in", "request", "-out", "certificate", *signer)
    return folder


class Proxy:
    """A proxy that leads every request to one plain server, and ends the encryption itself."""

    def __init__(self, certificates: Path, port: int) -> None:
        self.asked: list[bytes] = []
        self._port = port
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificates / "certificate", certificates / "key")
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.recv(1)
        self.asked.append(head.partition(b"\r\n")[0])
        connection.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
        try:
            with (
                self._context.wrap_socket(connection, server_side=True) as near,
                socket.create_connection(("127.0.0.1", self._port)) as far,
            ):
                back = threading.Thread(target=self._copy, args=(far, near), daemon=True)
                back.start()
                self._copy(near, far)
                back.join()
        except OSError:
            pass  # the client hangs up as it likes

    @staticmethod
    def _copy(source: socket.socket, target: socket.socket) -> None:
        try:
            while piece := source.recv(65536):
                target.sendall(piece)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()


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
