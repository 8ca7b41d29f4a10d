"""Whom a connection asks for: the name in the first message of TLS, which is sent in the clear.

Many services share the addresses of a few large hosts. Whoever gets to such an address gets to every service
there by asking for it, so only connections that ask for the right one are passed on. A service may ask for
that message once more, and many go by the name in the second one.
"""

from __future__ import annotations

import _socket

from skillopt_replay.launcher.upstream import LOOPBACK, Address

_HANDSHAKE, _CLIENT_HELLO, _SERVER_HELLO = 22, 1, 2
_RECORDS = range(20, 25)  # the kinds of records that TLS knows
# Stands for what is random elsewhere in the answer that asks for another hello (RFC 8446, 4.1.3).
_RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
_SERVER_NAME, _ENCRYPTED_HELLO = 0, 0xFE0D  # extensions
_LONGEST = 65_536
_SECONDS = 30.0


class OtherName(OSError):
    """A connection asks for another service than the one it was opened for."""


def read_opening(connection: _socket.socket, service: Address) -> bytes:
    """Return what the client says first, once it is known to ask for `service`.

    Nothing is read for services named by a number or on this machine, nor where the client does not begin
    with TLS, unless the port is 443. Raises OtherName when it asks for another name, or for none.
    """
    host, port = service
    if host in LOOPBACK or _is_number(host):
        return b""
    connection.settimeout(_SECONDS)
    said = _read(connection, 1)
    if said[0] != _HANDSHAKE:
        # Many services pass over an alert that comes before the hello.
        if port == 443 or said[0] in _RECORDS:
            raise OtherName("the run did not speak TLS")
        connection.settimeout(None)
        return said
    said = _read_hello(connection, said, host)
    connection.settimeout(None)
    return said


def follow(near: _socket.socket, far: _socket.socket, service: Address, opening: bytes) -> None:
    """Pass on what the service says to the `opening`, and what it is told then, if it asks for that again.

    Raises OtherName when the run asks for another name the second time.
    """
    if opening[:1] != bytes([_HANDSHAKE]):
        return
    far.settimeout(_SECONDS)
    answer = _read_record(far)
    far.settimeout(None)
    near.sendall(answer)
    if answer[5:6] != bytes([_SERVER_HELLO]) or answer[11 : 11 + len(_RETRY)] != _RETRY:
        return
    near.settimeout(_SECONDS)
    left = _LONGEST
    # What was sent early is thrown away by the service, before some hellos comes a word for old devices, and
    # not every alert ends a connection: what follows one may be the second hello all the same.
    while (kind := _read(near, 1))[0] != _HANDSHAKE:
        head = _read(near, 4)
        body = _read(near, int.from_bytes(head[2:4], "big"))
        far.sendall(kind + head + body)
        left -= len(head) + len(body)
        if left < 0:
            raise OSError("the second message of TLS does not come")
    far.sendall(_read_hello(near, kind, service[0]))
    near.settimeout(None)


def _read_hello(connection: _socket.socket, said: bytes, host: str) -> bytes:
    """Return `said`, the first byte of a hello, and all of that, if it asks for the host."""
    hello = b""
    while len(hello) < 4 or len(hello) < 4 + int.from_bytes(hello[1:4], "big"):
        if len(said) > 1:
            said += _read(connection, 1)
            if said[-1] != _HANDSHAKE:
                # Services pass over some of them, and put together another hello than we would.
                raise OtherName("the run put other words between the parts of its hello")
        head = _read(connection, 4)
        body = _read(connection, int.from_bytes(head[2:4], "big"))
        said += head + body
        hello += body
        if len(said) > _LONGEST:
            raise OSError("the first message of TLS has no end")
    if _ENCRYPTED_HELLO in (list_extensions(hello) or ()):
        raise OtherName("the run sent a name there that only the service can read (ECH)")
    name = find_name(hello)
    if name is None or name.lower().rstrip(".") != host.lower():
        raise OtherName(f"the run asked for {name or 'no name'} there")
    return said


def find_name(hello: bytes) -> str | None:
    """Return the server's name in a ClientHello; None when there is none, or it cannot be read.

    With an encrypted one beside it (ECH), it is not the one that a service goes by.
    """
    said = (list_extensions(hello) or {}).get(_SERVER_NAME, b"")
    # A list of names, of which there is one, of the kind "host name".
    size = int.from_bytes(said[3:5], "big")
    if len(said) != 5 + size or int.from_bytes(said[:2], "big") != 3 + size or said[2] != 0:
        return None
    try:
        return said[5:].decode("ascii")
    except UnicodeDecodeError:
        return None


def list_extensions(hello: bytes) -> dict[int, bytes] | None:
    """Return the extensions of a ClientHello by their kinds; None when they cannot be read in one way."""
    found: dict[int, bytes] = {}
    try:
        if hello[0] != _CLIENT_HELLO:
            return None
        at = 4 + 2 + 32
        at += 1 + hello[at]
        at += 2 + int.from_bytes(hello[at : at + 2], "big")
        at += 1 + hello[at]
        end = at + 2 + int.from_bytes(hello[at : at + 2], "big")
        at += 2
        while at + 4 <= end:
            kind, length = (int.from_bytes(hello[at + i : at + i + 2], "big") for i in (0, 2))
            data = hello[at + 4 : at + 4 + length]
            if kind in found or len(data) < length:
                return None
            found[kind] = data
            at += 4 + length
    except IndexError:
        return None
    return found


def _read_record(connection: _socket.socket) -> bytes:
    """Return one record of TLS, or what there is of it."""
    said = b""
    size = 5
    try:
        while len(said) < size and (piece := connection.recv(size - len(said))):
            said += piece
            if len(said) == 5:
                size += int.from_bytes(said[3:5], "big")
    except ConnectionError:
        pass  # whoever reads on sees it as well
    return said


def _read(connection: _socket.socket, size: int) -> bytes:
    said = b""
    while len(said) < size:
        piece = connection.recv(size - len(said))
        if not piece:
            raise OSError("the run said nothing more")
        said += piece
    return said


def _is_number(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdigit()
