"""A connection is passed on only when it asks for the service it was opened for."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import socket
import ssl
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_replay.launcher import relay
from skillopt_replay.launcher.hello import OtherName, find_name, follow, read_opening

SERVICE = ("api.example.com", 443)


@functools.cache
def say_hello(name: str | None) -> bytes:
    """Return what a real client sends first."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(incoming, outgoing, server_hostname=name)
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def extend(hello: bytes, kind: int, data: bytes) -> bytes:
    """Return the hello, one record, with an extension after its others."""
    body = hello[9:]
    at = 2 + 32
    at += 1 + body[at]
    at += 2 + int.from_bytes(body[at : at + 2], "big")
    at += 1 + body[at]
    more = body[at + 2 :] + kind.to_bytes(2, "big") + len(data).to_bytes(2, "big") + data
    body = body[:at] + len(more).to_bytes(2, "big") + more
    message = b"\x01" + len(body).to_bytes(3, "big") + body
    return hello[:3] + len(message).to_bytes(2, "big") + message


def name_server(*names: str) -> bytes:
    listed = b"".join(b"\0" + len(name).to_bytes(2, "big") + name.encode() for name in names)
    return len(listed).to_bytes(2, "big") + listed


@pytest.fixture
def hear():
    """What is heard of bytes that come in pieces of a size."""
    pairs = []

    def listen(data: bytes, service=SERVICE, size: int = 7) -> bytes:
        near, far = socket.socketpair()
        pairs.append((near, far))
        for start in range(0, len(data), size):
            near.sendall(data[start : start + size])
        near.shutdown(socket.SHUT_WR)
        return read_opening(far, service)

    yield listen
    for pair in pairs:
        for one in pair:
            one.close()


@pytest.mark.parametrize("name", ["api.example.com", "API.Example.com"])
def test_the_right_name_is_passed_on_byte_for_byte(hear, name):
    hello = say_hello(name)
    assert hear(hello) == hello


def test_a_first_message_in_several_records_is_put_together(hear):
    hello = say_hello("api.example.com")
    body = hello[5:]
    parts = [body[start : start + 50] for start in range(0, len(body), 50)]
    split = b"".join(hello[:3] + len(part).to_bytes(2, "big") + part for part in parts)
    assert hear(split) == split


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (say_hello("evil.example.com"), "asked for evil.example.com"),
        (say_hello(None), "asked for no name"),
        (extend(say_hello("api.example.com"), 0xFE0D, b"\0" * 40), "that only the service can read"),
        (extend(say_hello("api.example.com"), 0, name_server("evil.example.com")), "asked for no name"),
        (extend(say_hello(None), 0, name_server("api.example.com", "evil.example.com")), "asked for no name"),
        (b"GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n", "did not speak TLS"),
        (say_hello("api.example.com")[:40], "said nothing more"),
        (b"", "said nothing more"),
        (b"\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00", "asked for no name"),
        ((b"\x16\x03\x01\x40\x00" + b"\x01\xff\xff\xff" + b"x" * (0x4000 - 4)) * 5, "has no end"),
    ],
    # A hello begins with random bytes: as a name it would be another one in each worker.
    ids=[
        "another-name",
        "no-name",
        "hidden",
        "twice",
        "two-names",
        "no-tls",
        "cut",
        "nothing",
        "empty-hello",
        "endless",
    ],
)
def test_another_name_or_none_is_not(hear, data, reason):
    with pytest.raises(OSError, match=reason):
        hear(data, size=1 << 16)


@pytest.mark.parametrize(
    "service", [("127.0.0.1", 443), ("localhost", 8080), ("10.1.2.3", 443), ("fd00::1", 443)]
)
def test_services_named_by_a_number_or_here_are_asked_for_by_nobody(hear, service):
    assert hear(b"anything", service) == b""


def test_a_model_in_the_house_may_speak_without_tls(hear):
    assert hear(b"GET / HTTP/1.1\r\n", ("gpu.lan", 8000)) == b"G"
    with pytest.raises(OSError, match="asked for evil"):
        hear(say_hello("evil.lan"), ("gpu.lan", 8000))


ALERT = b"\x15\x03\x03\x00\x02\x01\x5a"  # one that ends nothing: the user has cancelled


def test_no_record_of_another_kind_comes_before_or_within_a_hello(hear):
    # Services pass over some of them: what we would read as one hello is another one to them.
    hello = say_hello("api.example.com")
    parts = [hello[:3] + len(part).to_bytes(2, "big") + part for part in (b"", hello[5:60], hello[60:])]
    assert hear(b"".join(parts)) == b"".join(parts)
    for kind in (20, 21, 23, 24):
        other = bytes([kind]) + ALERT[1:]
        for at in (1, 2):
            with pytest.raises(OtherName, match="between the parts"):
                hear(b"".join([*parts[:at], other, *parts[at:]]))
        with pytest.raises(OtherName, match="did not speak TLS"):
            hear(other + hello, ("gpu.lan", 8443))


def test_other_extensions_are_let_through(hear):
    hello = extend(say_hello(None), 0, name_server("api.example.com"))
    hello = extend(hello, 0x1234, b"anything")
    assert hear(hello) == hello


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reading_of_a_name(data):
    assert find_name(data) is None or isinstance(find_name(data), str)


@given(st.integers(0, 400), st.integers(0, 255))
def test_a_damaged_hello_has_the_name_or_another_and_breaks_nothing(place, value):
    hello = bytearray(say_hello("api.example.com")[5:])
    hello[place % len(hello)] = value
    assert find_name(bytes(hello)) is None or isinstance(find_name(bytes(hello)), str)


def test_the_relay_calls_nobody_for_a_connection_that_asks_for_another(monkeypatch, capfd):
    called = []

    def dial(service):
        called.append(service)
        return socket.create_connection(echo.getsockname())

    monkeypatch.setattr(relay, "dial", dial)
    relay._told.clear()
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_server(("127.0.0.1", 0)) as echo:

        def answer() -> None:
            connection, _ = echo.accept()
            with connection:
                connection.sendall(connection.recv(5))

        threading.Thread(target=answer, daemon=True).start()
        threading.Thread(
            target=lambda: [relay._pass_on(listener.accept()[0], SERVICE) for _ in range(2)], daemon=True
        ).start()
        for _ in range(2):
            relay.free.pop()
        with socket.create_connection(listener.getsockname()) as evil:
            evil.sendall(say_hello("evil.example.com"))
            with contextlib.suppress(ConnectionResetError):
                assert evil.recv(10) == b""
        assert called == []
        with socket.create_connection(listener.getsockname()) as good:
            hello = say_hello("api.example.com")
            good.sendall(hello)
            assert good.recv(5) == hello[:5]
        assert called == [SERVICE]
    assert "asked for evil.example.com" in capfd.readouterr().err


RETRY_RANDOM = hashlib.sha256(b"HelloRetryRequest").digest()  # RFC 8446, 4.1.3


def ask_again(random: bytes = RETRY_RANDOM) -> bytes:
    """Return the answer of a service to a hello."""
    body = b"\x03\x03" + random + b"\x00\x13\x01\x00\x00\x00"
    return (
        b"\x16\x03\x03" + (len(body) + 4).to_bytes(2, "big") + b"\x02" + len(body).to_bytes(3, "big") + body
    )


@pytest.mark.parametrize(
    "before", [b"", b"\x14\x03\x03\x00\x01\x01", b"\x17\x03\x03\x00\x05early", ALERT, ALERT * 2]
)
@pytest.mark.parametrize("name", ["api.example.com", "evil.example.com"])
def test_a_second_hello_asks_for_the_same_service_or_is_not_passed_on(before, name):
    (run, near), (far, service) = socket.socketpair(), socket.socketpair()
    with run, near, far, service:
        first, second = say_hello("api.example.com"), before + say_hello(name)
        service.sendall(ask_again() + b"more")
        run.sendall(second)
        if name == SERVICE[0]:
            follow(near, far, SERVICE, first)
            assert service.recv(10_000) == second
        else:
            with pytest.raises(OtherName, match="asked for evil"):
                follow(near, far, SERVICE, first)
            service.setblocking(False)
            if before:
                assert service.recv(10_000) == before
            with pytest.raises(BlockingIOError):
                service.recv(1)
        assert run.recv(10_000) == ask_again()


@pytest.mark.parametrize("answer", [ask_again(b"x" * 32), b"\x15\x03\x03\x00\x02\x02\x28", b"\x16\x03", b""])
def test_after_any_other_answer_nothing_is_waited_for(answer):
    (run, near), (far, service) = socket.socketpair(), socket.socketpair()
    with run, near, far, service:
        service.sendall(answer)
        service.shutdown(socket.SHUT_WR)
        follow(near, far, SERVICE, say_hello("api.example.com"))
        near.close()
        assert run.recv(10_000) == answer


def test_a_client_that_gives_up_instead_of_a_second_hello_is_heard():
    (run, near), (far, service) = socket.socketpair(), socket.socketpair()
    with run, near, far, service:
        service.sendall(ask_again())
        run.sendall(b"\x15\x03\x03\x00\x02\x02\x28")
        run.shutdown(socket.SHUT_WR)
        with pytest.raises(OSError, match="said nothing more"):
            follow(near, far, SERVICE, say_hello("api.example.com"))
        assert service.recv(10) == b"\x15\x03\x03\x00\x02\x02\x28"
