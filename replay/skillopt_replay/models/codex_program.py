"""Where the `codex` program is and what signs it in, for its use as a chat model."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from skillopt_replay.agents.clients import Client, Credentials, read_version
from skillopt_replay.sandbox.contract import SYSTEM_PATH

HINT = "install Codex (npm install -g @openai/codex)"
SIGN_IN = "run `codex login`, or set CODEX_API_KEY"
_KEYS = ("CODEX_API_KEY", "OPENAI_API_KEY")
_ROUTES = (
    "OPENAI_BASE_URL",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "https_proxy",
    "http_proxy",
    "no_proxy",
)
FILE = "auth.json"


def find_codex(env: Mapping[str, str], binary: Path | None = None) -> Client | None:
    """Return the client at `binary`, or the one on the PATH in `env`; None when there is none.

    Raises Unavailable when the program is there but does not start.
    """
    found = shutil.which(str(binary or "codex"), path=env.get("PATH", SYSTEM_PATH))
    if found is None:
        return None
    path = _find_native(Path(found).resolve())
    credentials = _find_credentials(env)
    hint = "" if credentials else SIGN_IN
    return Client(binary=path, version=read_version(path, hint=HINT), credentials=credentials, hint=hint)


def _find_native(path: Path) -> Path:
    """Return the program of this platform's package; npm's wrapper leaves it running when killed."""
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(
        platform.machine().lower(), ""
    )
    package = f"codex-{'darwin' if sys.platform == 'darwin' else 'linux'}-{machine}"
    for folder in path.parents:
        if folder.name != "codex" or folder.parent.name != "@openai":
            continue
        for place in (folder.parent / package, folder / "node_modules/@openai" / package):
            for native in place.glob("vendor/*/bin/codex"):
                if os.access(native, os.X_OK):
                    return native
    return path


def _find_credentials(env: Mapping[str, str]) -> Credentials | None:
    routes = tuple((name, env[name]) for name in _ROUTES if env.get(name))
    for name in _KEYS:
        if env.get(name):
            return Credentials(source=name, env=((name, env[name]), *routes))
    folder = env.get("CODEX_HOME") or (env.get("HOME", "") and str(Path(env["HOME"], ".codex")))
    return _read_file(Path(folder, FILE), routes) if folder else None


def _read_file(path: Path, routes: tuple[tuple[str, str], ...]) -> Credentials | None:
    try:
        content: Any = msgspec.json.decode(path.read_bytes())
        tokens = content.get("tokens")
        if tokens:
            # A copy that renewed itself would sign the user out.
            tokens["refresh_token"] = ""
        elif not content.get("OPENAI_API_KEY"):
            return None
    except (OSError, msgspec.DecodeError, AttributeError, TypeError):
        return None
    return Credentials(source=str(path), env=routes, file=msgspec.json.encode(content))
