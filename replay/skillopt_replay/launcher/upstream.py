"""The way out: straight to the service, or through the proxy that the user's settings name."""

from __future__ import annotations

import _socket
import os

Address = tuple[str, int]  # host and port

LOOPBACK = ("localhost", "127.0.0.1", "::1")
_SECONDS = 30.0
_PROXIES = ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY")
_OTHERS = ("all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY")
_LONGEST_REPLY = 16_384


def strip_proxies(env: dict[str, str]) -> dict[str, str]:
    """Return the environment without the proxy settings: the run has no other way out than ours."""
    return {name: value for name, value in env.items() if name not in (*_PROXIES, *_OTHERS)}


def dial(service: Address) -> _socket.socket:
    """Connect to the service. Raises OSError when it cannot be reached."""
    host, port = service
    proxy = find_proxy(dict(os.environ), host, port)
    connection = _connect(service) if proxy is None else _dial_through(proxy, service)
    connection.settimeout(None)
    return connection


def find_proxy(env: dict[str, str], host: str, port: int) -> str | None:
    """Return the URL of the proxy that the usual variables name for this service, None for none."""
    if host in LOOPBACK:
        return None
    for pattern in (env.get("no_proxy") or env.get("NO_PROXY") or "").split(","):
        suffix = pattern.strip().lower().lstrip(".")
        if suffix == "*" or (suffix and (host.lower() == suffix or host.lower().endswith("." + suffix))):
            return None
    names = _PROXIES[2:] if port == 80 else _PROXIES[:2]
    return next((env[name] for name in names if env.get(name)), None)


def _connect(place: Address) -> _socket.socket:
    """Connect to the first of the host's addresses that answers."""
    failure = OSError(f"{place[0]} has no address")
    # Given text, Python would load all it takes to write names in any script.
    name = place[0].encode("ascii" if place[0].isascii() else "idna")
    for family, kind, protocol, _, address in _socket.getaddrinfo(name, place[1], 0, _socket.SOCK_STREAM):
        connection = _socket.socket(family, kind, protocol)
        connection.settimeout(_SECONDS)
        try:
            connection.connect(address)
        except OSError as error:
            connection.close()
            failure = error
        else:
            return connection
    raise failure


def _dial_through(proxy: str, service: Address) -> _socket.socket:
    import base64
    from urllib.parse import unquote, urlsplit

    try:
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        port = parts.port or 80
    except ValueError:
        # Python's own words hold what it takes for the port, which is a part of the password.
        raise OSError("the proxy's URL cannot be read: in a password # is written %23, / %2F") from None
    if parts.scheme != "http" or not parts.hostname:
        raise OSError("only proxies at http:// addresses can be used")
    host = f"[{service[0]}]" if ":" in service[0] else service[0]
    request = f"CONNECT {host}:{service[1]} HTTP/1.1\r\nHost: {host}:{service[1]}\r\n"
    if parts.username:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        request += f"Proxy-Authorization: Basic {base64.b64encode(pair.encode()).decode()}\r\n"
    connection = _connect((parts.hostname, port))
    try:
        connection.sendall(f"{request}\r\n".encode())
        said = _read_reply(connection).partition(b"\r\n")[0].decode("latin-1")
        if " 200" not in said:
            raise OSError(f"the proxy said {said}")
    except OSError:
        connection.close()
        raise
    return connection


def _read_reply(connection: _socket.socket) -> bytes:
    # Byte by byte: what follows the reply belongs to the run.
    reply = b""
    while not reply.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        if not byte or len(reply) > _LONGEST_REPLY:
            raise OSError("the proxy closed the connection")
        reply += byte
    return reply
