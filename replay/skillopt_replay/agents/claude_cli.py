"""Finds the `claude` program and what it needs to sign in."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from skillopt_replay.agents.clients import Client, Credentials, read_version
from skillopt_replay.sandbox.contract import SYSTEM_PATH

if TYPE_CHECKING:
    from collections.abc import Mapping

# The order in which the client itself prefers them; exactly one is handed on.
_TOKENS = ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN")
# Where the service is and how to get there. None of these signs anybody in.
_ROUTES = (
    "ANTHROPIC_BASE_URL", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy",
    "NODE_EXTRA_CA_CERTS",
)  # fmt: skip
_OWN = "https://api.anthropic.com"
CREDENTIAL_FILE = ".credentials.json"
_QUIET = (("DISABLE_AUTOUPDATER", "1"),)
_HINT = "install Claude Code (npm install -g @anthropic-ai/claude-code)"
_SIGN_IN_HINT = (
    "run `claude setup-token` and set CLAUDE_CODE_OAUTH_TOKEN, "
    "or set ANTHROPIC_API_KEY, or sign in with `claude`"
)

_RETRIES = 4


def make_environment(
    credentials: Credentials, private: Path, *, path: str, entrypoint: str
) -> dict[str, str]:
    """Return the whole environment of a run: private folders, one sign-in, nothing that calls home.

    Home and temporary folder lie below `private`. The client records `entrypoint`; harvesters know ours.
    """
    home = private / "home"
    temporary = str(private / "tmp")
    return {
        "PATH": path,
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "TMPDIR": temporary,
        "CLAUDE_CODE_TMPDIR": temporary,
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "CLAUDE_CODE_ENTRYPOINT": entrypoint,
        "CLAUDE_CODE_MAX_RETRIES": str(_RETRIES),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        **dict(credentials.env),
    }


def find_address(credentials: Credentials | None) -> str | None:
    """Return the URL of the service where it is not the maker's own."""
    url = dict(credentials.env).get("ANTHROPIC_BASE_URL", "") if credentials else ""
    return url if url.rstrip("/") not in ("", _OWN) else None


def find_claude(env: Mapping[str, str], binary: Path | None = None) -> Client | None:
    """Return the client at `binary`, or the one on the PATH in `env`; None when there is none.

    Raises Unavailable when the program is there but does not start.
    """
    path = locate(env, binary)
    if path is None:
        return None
    credentials = find_credentials(env)
    hint = ""
    if credentials is None:
        hint = _SIGN_IN_HINT
    elif credentials.expired:
        hint = f"the sign-in has run out: start `claude` once to renew it; for nights: {_SIGN_IN_HINT}"
    return Client(
        binary=path, version=read_version(path, hint=_HINT, env=_QUIET), credentials=credentials, hint=hint
    )


def locate(env: Mapping[str, str], binary: Path | None = None) -> Path | None:
    """Return the real program behind links and, where it can be seen, behind npm's wrapper."""
    found = shutil.which(str(binary or "claude"), path=env.get("PATH", SYSTEM_PATH))
    if found is None:
        return None
    path = Path(found).resolve()
    for folder in path.parents:
        native = _native(folder)
        if native is not None:
            return native
        if folder.name == "node_modules":
            break
    return path


def _native(folder: Path) -> Path | None:
    """Return the program of this platform's package beside npm's wrapper package.

    The wrapper starts it as a child that outlives the wrapper when that is killed.
    """
    if folder.name != "claude-code":
        return None
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(
        platform.machine().lower(), ""
    )
    system = "darwin" if sys.platform == "darwin" else "linux"
    package = f"claude-code-{system}-{machine}"
    for place in (folder.parent / package, folder / "node_modules/@anthropic-ai" / package):
        if os.access(place / "claude", os.X_OK):
            return place / "claude"
    return None


def find_credentials(env: Mapping[str, str]) -> Credentials | None:
    """Return the user's way to sign in: a token of the environment before the client's credential file."""
    routes = tuple((name, env[name]) for name in _ROUTES if env.get(name))
    for name in _TOKENS:
        if env.get(name):
            return Credentials(source=name, env=((name, env[name]), *routes))
    folder = env.get("CLAUDE_CONFIG_DIR") or (env.get("HOME", "") and str(Path(env["HOME"], ".claude")))
    if not folder:
        return None
    return _read_file(Path(folder, CREDENTIAL_FILE), routes)


def _read_file(path: Path, routes: tuple[tuple[str, str], ...]) -> Credentials | None:
    try:
        content: Any = msgspec.json.decode(path.read_bytes())
        account = content["claudeAiOauth"]
        account["accessToken"]
        account.pop("refreshToken", None)
        expires = account.get("expiresAt")
    except (OSError, msgspec.DecodeError, LookupError, TypeError, AttributeError):
        return None
    return Credentials(
        source=str(path),
        env=routes,
        file=msgspec.json.encode({"claudeAiOauth": account}),
        expires=expires / 1000 if isinstance(expires, int | float) else None,
    )
