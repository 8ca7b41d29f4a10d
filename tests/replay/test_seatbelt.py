"""The profile for sandbox-exec, as text, and the way out by a proxy; a program stands in for it."""

from __future__ import annotations

import socket
import sys
import threading

import pytest

from skillopt_replay import process
from skillopt_replay.errors import ReplayError, Unavailable
from skillopt_replay.sandbox import SYSTEM_PATH, Endpoint, choose, seatbelt
from skillopt_replay.sandbox.seatbelt import Seatbelt, make_profile

LOCAL, REMOTE = Endpoint("127.0.0.1", 8080), Endpoint("api.example.com", 443)

# Keeps what it was given beside itself, and runs the command as sandbox-exec would.
FAKE = """#!/bin/bash
printf '%s\\n' "$@" > "$(dirname "$0")/given"
while [ $# -gt 0 ]; do
  case "$1" in
    -D) shift 2;;
    -p) printf '%s' "$2" > "$(dirname "$0")/profile"; shift 2; break;;
    *) break;;
  esac
done
exec "$@"
"""


@pytest.fixture
def fake(tmp_path):
    folder = tmp_path / "macos"
    folder.mkdir()
    program = folder / "sandbox-exec"
    program.write_text(FAKE)
    program.chmod(0o755)
    return Seatbelt(program)


def test_the_profile_denies_what_it_does_not_name():
    lines = make_profile([True, False, True], 2, []).splitlines()
    assert lines[:2] == ["(version 1)", "(deny default)"]
    assert [line for line in lines if "file-write*" in line][1:] == [
        '(allow file-write* (subpath (param "FOLDER0")))',
        '(deny file-write* (subpath (param "FOLDER1")))',
        '(allow file-write* (subpath (param "FOLDER2")))',
    ]
    (reads,) = [line for line in lines if line.startswith("(allow file-read* ")]
    assert '(subpath (param "FOLDER0")) (subpath (param "FOLDER1"))' in reads
    for place in ("/Users", "/private/var/folders", "/private/tmp", "/Library/Keychains", "/Volumes"):
        assert f'"{place}"' not in reads
    assert not [line for line in lines if "network" in line]


def test_a_folder_in_another_one_keeps_its_own_rule(fake, tmp_path):
    outer = tmp_path / "outer"
    inner = outer / "workspace" / "plugin"
    inner.mkdir(parents=True)
    argv = fake.wrap(["true"], writable=[inner.parent], readable=[inner, outer], cwd=outer, reach=())
    given = [part for part in argv if part.startswith("FOLDER")]
    assert given == [f"FOLDER0={outer}", f"FOLDER1={inner.parent}", f"FOLDER2={inner}"]
    rules = [line.split()[0] for line in argv[argv.index("-p") + 1].splitlines() if "FOLDER" in line][1:]
    assert rules == ["(deny", "(allow", "(deny"]


@pytest.mark.parametrize(
    ("services", "rules"),
    [
        ([], []),
        ([LOCAL], ['(allow network-outbound (remote ip "localhost:8080"))']),
        ([REMOTE], ['(allow network-outbound (remote ip "localhost:@proxy"))']),
        (
            [LOCAL, REMOTE],
            [
                '(allow network-outbound (remote ip "localhost:8080"))',
                '(allow network-outbound (remote ip "localhost:@proxy"))',
            ],
        ),
        (None, ["(allow network*)"]),
    ],
)
def test_only_the_ports_of_the_services_are_open(services, rules):
    assert [line for line in make_profile([], 0, services).splitlines() if "network" in line] == rules


@pytest.mark.parametrize("services", [[], [LOCAL, REMOTE], None])
def test_the_parentheses_of_the_profile_close(services):
    for line in make_profile([True, False], 4, services).splitlines():
        assert line.startswith(("(", ";"))
        assert line.count("(") == line.count(")") or line.startswith(";")
        assert line.count('"') % 2 == 0


async def test_a_path_is_a_parameter_and_can_add_no_rule(fake, tmp_path):
    evil = tmp_path / 'a") (allow default) ("'
    evil.mkdir()
    argv = fake.wrap(["true"], writable=[evil], readable=[], cwd=tmp_path, reach=())
    assert f"FOLDER0={evil}" in argv
    profile = argv[argv.index("-p") + 1]
    assert "allow default" not in profile
    assert str(tmp_path) not in profile


async def run(fake, tmp_path, script: str, **options):
    room = tmp_path / "room"
    room.mkdir()
    argv = fake.wrap(["/bin/bash", "-c", script], writable=[room], readable=[], cwd=room, **options)
    env = {"PATH": SYSTEM_PATH}
    return await process.run(argv, cwd=tmp_path, env=env, seconds=20)


ASK = """
port=${HTTPS_PROXY##*:}
ask() { exec 3<>/dev/tcp/127.0.0.1/$port; printf "$1" >&3; timeout 5 cat <&3; echo; exec 3<&-; }
"""


async def test_services_elsewhere_are_reached_by_the_proxy_and_no_others(fake, tmp_path):
    # At a number of the loopback that is not one of its usual ones, so that it counts as elsewhere.
    with socket.create_server(("127.0.0.2", 0)) as server:
        port = server.getsockname()[1]

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(connection.recv(100).upper())

        threading.Thread(target=serve, daemon=True).start()
        script = ASK + (
            f"ask 'CONNECT 127.0.0.2:{port} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\nhello'\n"
            "ask 'CONNECT example.com:443 HTTP/1.1\\r\\n\\r\\n'\n"
            f"ask 'GET http://127.0.0.2:{port}/ HTTP/1.1\\r\\n\\r\\n'\n"
            "ask 'CONNECT 127.0.0.2:2 HTTP/1.1\\r\\n\\r\\n'\n"
            "ask 'nonsense\\r\\n\\r\\n'\n"
        )
        reach = [LOCAL, Endpoint("127.0.0.2", port), Endpoint("127.0.0.2", 2)]
        finished = await run(fake, tmp_path, script, reach=reach)
    assert finished.stdout.replace("\r", "").split("\n") == [
        "HTTP/1.1 200 Connected", "", "HELLO",
        "HTTP/1.1 403 Not one of the services of this run", "", "",
        "HTTP/1.1 403 Not one of the services of this run", "", "",
        "HTTP/1.1 502 The service cannot be reached", "", "",
        "", "",
    ]  # fmt: skip
    assert "127.0.0.2:2 cannot be reached" in finished.stderr
    profile = (tmp_path / "macos/profile").read_text()
    assert "@proxy" not in profile
    assert '(remote ip "localhost:8080")' in profile


async def test_without_services_elsewhere_there_is_no_proxy(fake, tmp_path):
    finished = await run(fake, tmp_path, "echo ${HTTPS_PROXY:-none}", reach=[LOCAL])
    assert finished.stdout == "none\n"


def test_macos_gets_its_own_sandbox(fake, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(seatbelt, "find", lambda _network: [fake])
    monkeypatch.setattr(Seatbelt, "probe", lambda self: seatbelt.Probe(name="x", works=True, detail=""))
    assert choose("auto") is fake
    assert choose("sandbox-exec") is fake
    with pytest.raises(Unavailable, match="bubblewrap is not for darwin"):
        choose("bubblewrap")
    monkeypatch.setattr(seatbelt, "find", lambda _network: [])
    with pytest.raises(Unavailable, match="sandbox-exec is not installed"):
        choose("auto")
    with pytest.raises(ReplayError, match="unknown network"):
        choose("auto", "some")
