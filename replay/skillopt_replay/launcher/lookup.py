"""Looks up a TCP socket in the network of a sandbox by its two ends.

The kernel is asked for that one, by a socket of its own kind that was opened in there (sock_diag(7)): the
lists in /proc take it through the connections of the whole machine.
"""

from __future__ import annotations

import _socket
import _thread
import sys

_DIAGNOSIS = 4  # NETLINK_SOCK_DIAG
_BY_FAMILY, _IS_REQUEST = 20, 1
_TCP = 6
_ANY = 0xFFFFFFFF
_WORD = 4  # bytes; what is asked and answered consists of those of this machine
_inquiry: list[_socket.socket] = []
_asking = _thread.allocate_lock()


def open_inquiry() -> _socket.socket:
    """Return what asks about the network that we are in now. Raises OSError where there is none."""
    return _socket.socket(_socket.AF_NETLINK, _socket.SOCK_RAW | _socket.SOCK_CLOEXEC, _DIAGNOSIS)


def inquire_through(descriptor: int) -> None:
    """Ask by this socket from now on."""
    _inquiry[:] = [_socket.socket(fileno=descriptor)]


def find_socket(inner: int, near: tuple[str, int], far: tuple[str, int]) -> str | None:
    """Return the number of the socket with these ends in the network of the process `inner`."""
    # The lists have the last word.
    return _inquire(near, far) or _find_listed(inner, near, far)


def _inquire(near: tuple[str, int], far: tuple[str, int]) -> str | None:
    if not _inquiry:
        return None
    ends = [_pack(*near[:2]), _pack(*far[:2])]
    ports = b"".join(port for _, port in ends)
    identity = ports + b"".join(address.ljust(16, b"\0") for address, _ in ends) + _words(0)
    family = _socket.AF_INET6 if ":" in near[0] else _socket.AF_INET
    question = bytes([family, _TCP, 0, 0]) + _words(_ANY) + identity + _words(_ANY, _ANY)
    size = (16 + len(question)).to_bytes(_WORD, sys.byteorder)
    kind = _BY_FAMILY.to_bytes(2, sys.byteorder) + _IS_REQUEST.to_bytes(2, sys.byteorder)
    try:
        with _asking:
            _inquiry[0].send(size + kind + _words(0, 0) + question)
            answer = _inquiry[0].recv(8192, _socket.MSG_DONTWAIT)
    except OSError:
        return None
    # family, state, timer, retransmissions; the ends; then expiry, two queues, user, and the number.
    found = answer[16:88]
    if answer[4:6] != kind[:2] or len(found) < 72 or found[4:8] != ports:
        return None  # a listener at the near end, whose far end has no port; or none, or no such answers here
    return str(int.from_bytes(found[68:72], sys.byteorder))


def _words(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(_WORD, sys.byteorder) for number in numbers)


def _pack(host: str, port: int) -> tuple[bytes, bytes]:
    family = _socket.AF_INET6 if ":" in host else _socket.AF_INET
    return _socket.inet_pton(family, host), port.to_bytes(2, "big")


def _find_listed(inner: int, near: tuple[str, int], far: tuple[str, int]) -> str | None:
    ends = [_write(*near[:2]), _write(*far[:2])]
    for table in ("tcp", "tcp6"):
        try:
            with open(f"/proc/{inner}/net/{table}") as file:  # noqa: PTH123
                lines = file.read().splitlines()[1:]
        except OSError:
            continue  # a system without IPv6
        for line in lines:
            fields = line.split()
            if [_strip(end) for end in fields[1:3]] == ends:
                return fields[9]
    return None


def _write(host: str, port: int) -> str:
    """Return an address as the kernel lists it: in words of the machine's own order."""
    packed = _pack(host, port)[0]
    words = (int.from_bytes(packed[at : at + _WORD], sys.byteorder) for at in range(0, len(packed), _WORD))
    return f"{''.join(f'{word:08X}' for word in words)}:{port:04X}"


_MAPPED = _write("::ffff:0.0.0.0", 0)[:24]


def _strip(end: str) -> str:
    """Return an address of IPv4 that is listed among those of IPv6 as it is."""
    return end.removeprefix(_MAPPED) if end.startswith(_MAPPED) else end
