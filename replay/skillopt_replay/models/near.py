"""What of a model is on this machine: the server that a spec names, and the file of a local one."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from skillopt_replay.errors import Unavailable
from skillopt_replay.models.catalogue import Entry
from skillopt_replay.models.places import is_loopback, look_up, strip_login
from skillopt_replay.models.presets import ANTHROPIC, BY_NAME
from skillopt_replay.models.servers import Server, locate_server

_LOCAL = "local"
_KNOCK_S = 2.0


def is_near(spec: str, *, env: Mapping[str, str]) -> bool:
    """Tell whether the model runs on this machine. Raises Unavailable as `check_model` does."""
    return spec.strip().partition(":")[0] == _LOCAL or _find_server(spec, env) is not None


def knock(spec: str, *, env: Mapping[str, str]) -> None:
    """Raise Unavailable when nothing listens where the server on this machine should be that `spec` names.

    Nothing is sent, and no other server is tried. Raises Unavailable as `check_model` does, too.
    """
    server = _find_server(spec, env)
    if server is None:
        return
    address = strip_login(server.base_url)
    try:
        parts = urlsplit(server.base_url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname or "", port), timeout=_KNOCK_S).close()
    except (OSError, ValueError) as error:
        hint = server.preset.start.replace("MODEL", server.model) or "start the server"
        raise Unavailable(f"nothing answers at {address}: {error}", hint=hint) from error


def find_missing(spec: str, folder: Path) -> Entry | None:
    """Return the local model that `spec` names and that would have to be fetched into `folder` first."""
    kind, _, rest = spec.strip().partition(":")
    if kind != _LOCAL:
        return None
    found = look_up(rest)
    return found if isinstance(found, Entry) and not (folder / found.file).exists() else None


def _find_server(spec: str, env: Mapping[str, str]) -> Server | None:
    kind, _, rest = spec.strip().partition(":")
    preset = ANTHROPIC if kind == ANTHROPIC.name else BY_NAME.get(kind)
    if preset is None:
        return None
    server = locate_server(preset, rest, env)
    return server if is_loopback(server.base_url) else None
