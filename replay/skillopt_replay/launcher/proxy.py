"""An HTTP proxy that leads to the named services only, for systems without network namespaces."""

from __future__ import annotations

import contextlib
import os
import socket
import threading

from skillopt_replay.launcher import tree
from skillopt_replay.launcher.hello import follow, read_opening
from skillopt_replay.launcher.relay import free, join, tell
from skillopt_replay.launcher.upstream import LOOPBACK, dial, strip_proxies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from skillopt_replay.launcher.upstream import Address

_LONGEST_HEAD = 16_384


def start_behind_proxy(program: list[str], reach: list[Address]) -> int:
    """Start the program with the usual variables set to a new proxy, "@proxy" standing for its port."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    env = strip_proxies(dict(os.environ))
    for name in ("HTTPS_PROXY", "HTTP_PROXY"):
        env[name] = env[name.lower()] = url
    env["NO_PROXY"] = env["no_proxy"] = ",".join(LOOPBACK)
    child = tree.start([part.replace("@proxy", str(port)) for part in program], env)
    allowed = {(host.lower(), number) for host, number in reach}
    threading.Thread(target=_accept, args=(listener, allowed), daemon=True).start()
    return child


def _accept(listener: socket.socket, allowed: set[Address]) -> None:
    while True:
        connection, _ = listener.accept()
        try:
            free.pop()
        except IndexError:
            connection.close()
            continue
        threading.Thread(target=_answer, args=(connection, allowed), daemon=True).start()


def _answer(connection: socket.socket, allowed: set[Address]) -> None:
    try:
        with connection, contextlib.suppress(OSError, ValueError):
            connection.settimeout(30.0)
            method, target = _read_head(connection)
            host, _, port = target.rpartition(":")
            service = (host.strip("[]").lower(), int(port) if port.isdigit() else 0)
            if method != "CONNECT" or service not in allowed:
                connection.sendall(b"HTTP/1.1 403 Not one of the services of this run\r\n\r\n")
                return
            try:
                far = dial(service)
            except OSError as error:
                tell(service, error)
                connection.sendall(b"HTTP/1.1 502 The service cannot be reached\r\n\r\n")
                return
            with contextlib.closing(far):
                connection.settimeout(None)
                connection.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
                try:
                    opening = read_opening(connection, service)
                    far.sendall(opening)
                    follow(connection, far, service, opening)
                except OSError as error:
                    tell(service, error)
                    return
                join(connection, far)
    finally:
        free.append(None)


def _read_head(connection: socket.socket) -> tuple[str, str]:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        if not byte or len(head) > _LONGEST_HEAD:
            raise ValueError("no request")
        head += byte
    method, target, _ = head.partition(b"\r\n")[0].decode("latin-1").split(" ", 2)
    return method, target
