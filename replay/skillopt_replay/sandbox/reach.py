"""The services a run may talk to: its model's, and nothing else."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

import msgspec

from skillopt_replay.errors import ReplayError

_PORTS = {"https": 443, "http": 80, "wss": 443, "ws": 80}

# What each client talks to by itself, when no other address of its model is given.
CLIENT_HOSTS: dict[str, tuple[str, ...]] = {
    "claude_code": ("api.anthropic.com",),
    "codex": ("api.openai.com", "chatgpt.com", "auth.openai.com"),
    "copilot": (
        "api.github.com",
        "github.com",
        "api.githubcopilot.com",
        "api.individual.githubcopilot.com",
        "api.business.githubcopilot.com",
        "api.enterprise.githubcopilot.com",
    ),
}


class Endpoint(msgspec.Struct, frozen=True):
    """A host, by name or number, and a TCP port."""

    host: str
    port: int = 443

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_endpoint(url: str) -> Endpoint:
    """Return where a URL leads. Raises ReplayError for one without host, or with an unknown scheme."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme.lower())
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        port, host = None, ""
    if not host or port is None or not _is_host(host):
        # What goes before and after may hold a password and keys.
        shown = url.rpartition("@")[2].partition("?")[0]
        raise ReplayError(f"{shown!r} is no address of a service", hint="write it as https://host:port/path")
    return Endpoint(host, port)


def reach_of(client: str, *urls: str | None) -> tuple[Endpoint, ...]:
    """Return what a run of the client may reach: where the URLs lead, else the client's own services."""
    given = tuple(read_endpoint(url) for url in urls if url)
    return tuple(dict.fromkeys(given)) or tuple(Endpoint(host) for host in CLIENT_HOSTS[client])


def _is_host(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        # The name goes into a hosts file and a command line.
        return all(c.isalnum() or c in "-._" for c in host) and not host.startswith("-")
    return True
