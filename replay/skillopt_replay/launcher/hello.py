"""Whom a connection asks for: the name in the first message of TLS, which is sent in the clear.

Many services share the addresses of a few large hosts. Whoever gets to such an address gets to every service
there by asking for it, so only connections that ask for the right one are passed on.
"""

from __future__ import annotations

import _socket

from skillopt_replay.launcher.upstream import LOOPBACK, Address

_HANDSHAKE, _CLIENT_HELLO = 22, 1
_SERVER_NAME, _ENCRYPTED_HELLO = 0, 0xFE0D  # extensions
_LONGEST = 65_536
_SECONDS = 30.0


def read_opening(connection: _socket.socket, service: Address) -> bytes:
    """Return what the client says first, once it is known to ask for `service`.

    Nothing is read for services named by a number or on this machine, nor where the client does not begin
    with TLS, unless the port is 443. Raises OSError when it asks for another name, or for none.
    """
    host, port = service
    if host in LOOPBACK or _is_number(host):
        return b""
    connection.settimeout(_SECONDS)
    said = _read(connection, 1)
    if said[0] != _HANDSHAKE:
        if port == 443:
            raise OSError("the run did not speak TLS")
        connection.settimeout(None)
        return said
    hello = b""
    while len(hello) < 4 or len(hello) < 4 + int.from_bytes(hello[1:4], "big"):
        if hello or len(said) > 1:
            said += _read(connection, 1)
        head = _read(connection, 4)
        body = _read(connection, int.from_bytes(head[2:4], "big"))
        said += head + body
        hello += body
        if len(said) > _LONGEST:
            raise OSError("the first message of TLS has no end")
    if _ENCRYPTED_HELLO in (list_extensions(hello) or ()):
        raise OSError("the run sent a name there that only the service can read (ECH)")
    name = find_name(hello)
    if name is None or name.lower().rstrip(".") != host.lower():
        raise OSError(f"the run asked for {name or 'no name'} there")
    connection.settimeout(None)
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
