"""Who has opened a connection, told by the client itself, whatever others do to be taken for it."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys

import pytest

from skillopt_replay.launcher import lookup, speaker

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="bubblewrap is for Linux")

CLIENT = """
import socket, sys
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
sys.stdin.read()
"""


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


@pytest.fixture
def client(listener, monkeypatch):
    """A client that keeps its connection open, and the other end of that."""
    port = str(listener.getsockname()[1])
    process = subprocess.Popen([sys.executable, "-ISc", CLIENT, port], stdin=subprocess.PIPE)
    connection = listener.accept()[0]
    monkeypatch.setattr(speaker, "_sandbox", [os.getpid()])
    monkeypatch.setattr(speaker, "_behind_script", [False])
    monkeypatch.setattr(speaker, "_speaker", [process.pid])
    yield process.pid, connection
    connection.close()
    process.communicate()


def connect(listener):
    ours = socket.create_connection(listener.getsockname())
    return ours, listener.accept()[0]


@pytest.fixture
def closed(client, monkeypatch):
    """The same client once it has closed its list, as it looks to all but root."""
    holds = speaker._holds
    monkeypatch.setattr(speaker, "_holds", lambda pid, name: None if pid == client[0] else holds(pid, name))
    return client


def test_a_client_that_closes_its_list_is_known_by_what_it_holds(closed):
    speaker.check(closed[1])


def test_a_connection_that_nobody_holds_at_that_moment_is_not_the_clients(closed, listener):
    near, far = socket.socketpair()
    ours, theirs = connect(listener)
    with near, far, theirs:
        socket.send_fds(near, [b"x"], [ours.fileno()])
        ours.close()
        with pytest.raises(OSError, match="not the client itself"):
            speaker.check(theirs)


def test_a_client_that_is_gone_holds_nothing(closed, listener, monkeypatch):
    ours, theirs = connect(listener)
    gone = subprocess.Popen(["true"])
    gone.wait()
    monkeypatch.setattr(speaker, "_speaker", [gone.pid])
    monkeypatch.setattr(speaker, "_holds", lambda *_: None)
    with ours, theirs, pytest.raises(OSError, match="not the client itself"):
        speaker.check(theirs)


def test_a_connection_that_is_reset_meanwhile_is_not_taken_for_the_clients_next_one(
    client, listener, monkeypatch
):
    """The client's next one may come from the port that became free."""
    ours, theirs = connect(listener)

    def reset(_name: str) -> bool:
        ours.sendall(b"x" * 9000)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        ours.close()
        return True

    monkeypatch.setattr(speaker, "_is_the_clients", reset)
    with theirs:
        with pytest.raises(OSError):
            speaker.check(theirs)
        assert theirs.recv(10), "what was sent before it was reset is there to be read"


@pytest.fixture
def inquiry(monkeypatch):
    """The kernel is asked about the network that the tests are in."""
    opened = lookup.open_inquiry()
    monkeypatch.setattr(lookup, "_inquiry", [opened])
    yield
    opened.close()


@pytest.mark.usefixtures("inquiry")
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6], ids=["IPv4", "IPv6"])
def test_a_socket_is_found_by_its_ends_whether_the_kernel_or_its_lists_are_asked(family):
    address = "127.0.0.1" if family == socket.AF_INET else "::1"
    with socket.create_server((address, 0), family=family) as listening:
        near = socket.create_connection(listening.getsockname()[:2])
        far = listening.accept()[0]
        with near, far:
            number = str(os.fstat(near.fileno()).st_ino)
            ends = near.getsockname(), near.getpeername()
            assert lookup._find_listed(os.getpid(), *ends) == number
            assert lookup._inquire(*ends) == number
            assert lookup._inquire(*reversed(ends)) == str(os.fstat(far.fileno()).st_ino)
        # A listener is none that holds a connection from there.
        nobody = listening.getsockname(), (address, 1)
        assert lookup._inquire(*nobody) is None
        assert lookup.find_socket(os.getpid(), *nobody) is None


@pytest.mark.usefixtures("inquiry")
def test_a_program_of_both_kinds_of_addresses_is_found_by_the_old_one():
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        socket.socket(socket.AF_INET6) as near,
    ):
        near.connect(("::ffff:127.0.0.1", listening.getsockname()[1]))
        with listening.accept()[0] as far:
            ends = far.getpeername(), far.getsockname()
            number = str(os.fstat(near.fileno()).st_ino)
            assert lookup._find_listed(os.getpid(), *ends) == number
            assert lookup._inquire(*ends) == number
