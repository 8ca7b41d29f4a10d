"""Listens inside the network of a bwrap sandbox, in place of the services a run may reach.

The sandbox's network has nothing but its own loopback. We enter it for a moment, open listening sockets there
and keep them: a socket stays in the network it was opened in, whoever holds it. So no program of ours runs
inside, and what the run sends to `https://service` is its own encrypted connection, which we only pass on.
"""

from __future__ import annotations

import _socket
import fcntl
import os
import struct
import time

from skillopt_replay.launcher import lookup, speaker, tree
from skillopt_replay.launcher.handing import start_handing
from skillopt_replay.launcher.relay import serve
from skillopt_replay.launcher.upstream import LOOPBACK, Address, strip_proxies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

Place = tuple[str, int, Address]  # local address, port, service

_NEWUSER, _NEWNET = 0x10000000, 0x40000000
_NS_GET_USERNS = 0xB701
_SIOCGIFFLAGS, _SIOCSIFADDR, _SIOCGIFINDEX = 0x8913, 0x8916, 0x8933
_IFF_UP = 1
_DESCRIPTOR = struct.Struct("i")
_SECONDS = 10.0
_NAMES = "127.0.64."
_HOSTS = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"


def start_inside(
    program: list[str], reach: list[Address], files: list[str], *, is_alone: bool = False
) -> int:
    """Start bwrap, lay out its network before the run in it begins, and return bwrap's process id.

    With `is_alone` only what bwrap starts may use it, and none of what that starts.
    """
    places, hosts = plan(reach)
    info, info_end = os.pipe()
    gate, gate_end = os.pipe()
    names = os.memfd_create("hosts", 0)
    os.write(names, hosts.encode())
    os.lseek(names, 0, os.SEEK_SET)
    options = ("--info-fd", str(info_end), "--block-fd", str(gate), "--file", str(names), "/etc/hosts")
    env = strip_proxies(dict(os.environ))
    child = start_handing(program, env, files, options, (info_end, gate, names))
    inner = _read_child(info)
    os.close(info)
    if inner is None:
        return child  # it ended before it made a sandbox, and has said why
    if is_alone:
        speaker.keep_to_client(inner, program[program.index("--") + 1])
    for listener, service in _listen(inner, places, is_alone=is_alone):
        serve(listener, service)
    try:
        os.write(gate_end, b"1")
    except BrokenPipeError:
        pass
    os.close(gate_end)
    return child


def plan(reach: list[Address]) -> tuple[list[Place], str]:
    """Return where to listen, (local address, port, service), and the hosts file that leads there."""
    places: list[Place] = []
    hosts = _HOSTS
    known: dict[str, str] = {}
    for host, port in dict.fromkeys(reach):
        if host in LOOPBACK:
            places += [("127.0.0.1", port, (host, port)), ("::1", port, (host, port))]
            continue
        if _is_number(host):
            places.append((host, port, (host, port)))
            continue
        if host not in known:
            known[host] = f"{_NAMES}{len(known) + 1}"
            hosts += f"{known[host]} {host}\n"
        places.append((known[host], port, (host, port)))
    return places, hosts


def _read_child(info: int) -> int | None:
    said = b""
    while b"}" not in said:
        piece = os.read(info, 4096)
        if not piece:
            return None
        said += piece
    return int(said.partition(b'"child-pid":')[2].partition(b",")[0])


def _listen(inner: int, places: list[Place], *, is_alone: bool) -> list[tuple[_socket.socket, Address]]:
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        try:
            _open_in(inner, places, theirs, is_alone=is_alone)
        except OSError as error:
            theirs.send(b"-" + str(error).encode())
        finally:
            os._exit(0)
    theirs.close()
    inquiry = _receive(ours) if is_alone else None
    if inquiry is not None:
        lookup.inquire_through(inquiry)
    listeners = []
    for _, _, service in places:
        descriptor = _receive(ours)
        if descriptor is not None:
            listeners.append((_socket.socket(fileno=descriptor), service))
    ours.close()
    os.waitpid(pid, 0)
    return listeners


def _open_in(inner: int, places: list[Place], channel: _socket.socket, *, is_alone: bool) -> None:
    _enter(inner)
    _await_loopback()
    if is_alone:
        _hand_over(channel, lookup.open_inquiry, (), may_lack=True)
    for address, port, _ in places:
        _hand_over(channel, _open, (address, port), may_lack=address == "::1")


def _hand_over(
    channel: _socket.socket,
    open_one: Callable[..., _socket.socket],
    at: tuple[object, ...],
    *,
    may_lack: bool,
) -> None:
    try:
        opened = open_one(*at)
    except OSError:
        if not may_lack:
            raise
        channel.send(b"0")  # such as on a system without IPv6
        return
    rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, _DESCRIPTOR.pack(opened.fileno()))
    channel.sendmsg([b"+"], [rights])


def _receive(channel: _socket.socket) -> int | None:
    said, extra, _, _ = channel.recvmsg(1000, _socket.CMSG_LEN(_DESCRIPTOR.size))
    if extra:
        return int(_DESCRIPTOR.unpack(extra[0][2])[0])
    if said != b"0":
        raise OSError(said[1:].decode() or "the helper ended early")
    return None


def _enter(inner: int) -> None:
    net = os.open(f"/proc/{inner}/ns/net", os.O_RDONLY)
    if os.stat(net).st_ino == os.stat("/proc/self/ns/net").st_ino:  # noqa: PTH116 - a descriptor
        raise OSError("the sandbox has no network of its own")
    owner = fcntl.ioctl(net, _NS_GET_USERNS)
    library = tree.libc()
    # Made by root without a user namespace, the network belongs to our own, which is entered already.
    library.setns(owner, _NEWUSER)
    if library.setns(net, _NEWNET) != 0:
        raise OSError("the network of the sandbox cannot be entered; is bwrap installed setuid root?")


def _await_loopback() -> None:
    """Wait for bwrap, which sets the loopback up at the same time and fails when somebody else has."""
    deadline = time.monotonic() + _SECONDS
    request = struct.pack("16sH14x", b"lo", 0)
    control = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    try:
        while not struct.unpack("16sH14x", fcntl.ioctl(control, _SIOCGIFFLAGS, request))[1] & _IFF_UP:
            if time.monotonic() > deadline:
                raise OSError("the sandbox does not set its loopback up")
            time.sleep(0.0002)
    finally:
        control.close()


def _open(address: str, port: int) -> _socket.socket:
    is_v6 = ":" in address
    if not address.startswith("127.") and address != "::1":
        _own(address)
    family = _socket.AF_INET6 if is_v6 else _socket.AF_INET
    listener = _socket.socket(family, _socket.SOCK_STREAM)
    listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    if is_v6:
        listener.setsockopt(_socket.IPPROTO_IPV6, _socket.IPV6_V6ONLY, 1)
    listener.bind((address, port))
    listener.listen(64)
    return listener


def _own(address: str) -> None:
    """Give the sandbox's loopback the address of a service that is named by its number."""
    if ":" in address:
        control = _socket.socket(_socket.AF_INET6, _socket.SOCK_DGRAM)
        request = struct.pack("16si12x", b"lo", 0)
        index = struct.unpack("16si12x", fcntl.ioctl(control, _SIOCGIFINDEX, request))[1]
        packed = _socket.inet_pton(_socket.AF_INET6, address)
        fcntl.ioctl(control, _SIOCSIFADDR, struct.pack("=16sIi", packed, 128, index))
    else:
        control = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
        label = f"lo:{int.from_bytes(_socket.inet_aton(address)[2:], 'big'):x}".encode()
        request = struct.pack("16sH2s4s8x", label, _socket.AF_INET, b"", _socket.inet_aton(address))
        fcntl.ioctl(control, _SIOCSIFADDR, request)
    control.close()


def _is_number(host: str) -> bool:
    for family in (_socket.AF_INET, _socket.AF_INET6):
        try:
            _socket.inet_pton(family, host)
        except OSError:
            continue
        return True
    return False
