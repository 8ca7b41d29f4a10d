"""Finds the `codex` program and what it needs to sign in."""

from __future__ import annotations

import base64
import binascii
import os
import platform
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from skillopt_replay.agents.clients import Client, Credentials, read_version
from skillopt_replay.agents.codex_route import OPENAI, Route, read_route
from skillopt_replay.errors import Unavailable
from skillopt_replay.sandbox.contract import SYSTEM_PATH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

KEY = "CODEX_API_KEY"
# The client reads this one for providers of the user's own only, so it is handed on under the name above.
_OPENAI_KEY = "OPENAI_API_KEY"
CREDENTIAL_FILE = "auth.json"
# How to get to the service. None of these signs anybody in.
_ROADS = (
    "HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "all_proxy",
    "no_proxy", "SSL_CERT_FILE", "CODEX_CA_CERTIFICATE", "CODEX_OSS_BASE_URL", "CODEX_OSS_PORT",
)  # fmt: skip
CERTIFICATES = ("SSL_CERT_FILE", "CODEX_CA_CERTIFICATE")
# Earlier ones tell nobody what a run has used up before it is over.
OLDEST = (0, 142)
_HINT = "install Codex (npm install -g @openai/codex)"
_SIGN_IN_HINT = (
    "sign in with `codex login`, or set CODEX_API_KEY (a sign-in kept in the system's keyring is not lent to"
    " runs)"
)


def find_codex(env: Mapping[str, str], binary: Path | None = None) -> Client | None:
    """Return the client at `binary`, or the one on the PATH in `env`; None when there is none.

    Raises Unavailable when the program is there but does not start, or is too old to be held to limits.
    """
    path = locate(env, binary)
    if path is None:
        return None
    version = read_version(path, hint=_HINT)
    if tuple(map(int, version.split(".")))[:2] < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise Unavailable(f"Codex {version} at {path} is older than {oldest}", hint=f"update it: {_HINT}")
    credentials, hint = find_credentials(env)
    if credentials is not None and credentials.expired:
        hint = f"the sign-in has run out: start `codex` once to renew it; for nights: {_SIGN_IN_HINT}"
    return Client(binary=path, version=version, credentials=credentials, hint=hint)


def locate(env: Mapping[str, str], binary: Path | None = None) -> Path | None:
    """Return the real program behind links and, where it can be seen, behind npm's wrapper."""
    found = shutil.which(str(binary or "codex"), path=env.get("PATH", SYSTEM_PATH))
    if found is None:
        return None
    path = Path(found).resolve()
    for folder in path.parents:
        if folder.name == "codex" and folder.parent.name == "@openai":
            return next((native for native in _natives(folder) if os.access(native, os.X_OK)), path)
    return path


def _natives(wrapper: Path) -> Iterator[Path]:
    """Yield where this platform's program can lie for npm's wrapper package.

    The wrapper starts it as a child that outlives the wrapper when that is killed.
    """
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(
        platform.machine().lower(), ""
    )
    package = f"codex-{'darwin' if sys.platform == 'darwin' else 'linux'}-{machine}"
    triple = {"x64": "x86_64", "arm64": "aarch64"}.get(machine, "") + (
        "-apple-darwin" if sys.platform == "darwin" else "-unknown-linux-musl"
    )
    for place in (wrapper.parent / package, wrapper / "node_modules/@openai" / package, wrapper):
        yield place / "vendor" / triple / "bin/codex"
        yield place / "vendor" / triple / "codex/codex"


def find_credentials(env: Mapping[str, str]) -> tuple[Credentials | None, str]:
    """Return the user's way to sign in, else None and what to do.

    The client's own order: CODEX_API_KEY before its credential file; a key for OpenAI at large comes last.
    A provider of the user's own, named in the client's configuration, is signed in to its own way.
    """
    home = _home(env)
    route = read_route(home / "config.toml") if home else Route()
    if route.trouble:
        return None, route.trouble
    roads = tuple((name, env[name]) for name in (*_ROADS, *route.headers) if env.get(name))
    if route.signs_in_with_openai:
        found = _find_openai(env, home, route)
        hint = "" if found else _SIGN_IN_HINT
    elif route.key and not env.get(route.key):
        found, hint = None, f"set {route.key} for the model provider {route.provider}"
    else:
        keys = ((route.key, env[route.key]),) if route.key else ()
        found, hint = Credentials(source=route.provider, env=keys), ""
    if found is None:
        return None, hint
    # The user may have called them anything.
    named = tuple(name for name in (route.key, *route.headers) if name)
    lent = (*found.env, *roads)
    return msgspec.structs.replace(found, env=lent, keys=named, route=route.settings), hint


def _find_openai(env: Mapping[str, str], home: Path | None, route: Route) -> Credentials | None:
    if env.get(KEY):
        return Credentials(source=KEY, env=((KEY, env[KEY]),))
    found = _read_file(home / CREDENTIAL_FILE) if home else None
    if found is None and env.get(_OPENAI_KEY) and route.provider == OPENAI:
        return Credentials(source=_OPENAI_KEY, env=((KEY, env[_OPENAI_KEY]),))
    return found


def _home(env: Mapping[str, str]) -> Path | None:
    if env.get("CODEX_HOME"):
        return Path(env["CODEX_HOME"])
    return Path(env["HOME"], ".codex") if env.get("HOME") else None


def _read_file(path: Path) -> Credentials | None:
    """Return the sign-in in the client's file: a key, or an account's tokens that cannot renew themselves."""
    try:
        content: Any = msgspec.json.decode(path.read_bytes())
        key, tokens = content.get(_OPENAI_KEY), content.get("tokens")
        if not tokens:
            return Credentials(source=str(path), env=((KEY, key),)) if isinstance(key, str) and key else None
        expires = _expiry(tokens["access_token"])
        # The client wants the field, and renews what it takes to be old.
        tokens["refresh_token"] = ""
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        kept = {"auth_mode": content.get("auth_mode", "chatgpt"), _OPENAI_KEY: None, "tokens": tokens}
        file = msgspec.json.encode({**kept, "last_refresh": now})
    except (OSError, msgspec.DecodeError, LookupError, TypeError, AttributeError):
        return None
    return Credentials(source=str(path), file=file, expires=expires)


def _expiry(token: str) -> float | None:
    """Return when the token runs out, in Unix time; None when it does not say."""
    try:
        payload = token.split(".")[1]
        claims = msgspec.json.decode(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        expires = claims["exp"]
    except (IndexError, binascii.Error, msgspec.DecodeError, LookupError, TypeError, ValueError):
        return None
    return float(expires) if isinstance(expires, int | float) else None
