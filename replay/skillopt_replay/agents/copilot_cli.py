"""Finds the `copilot` program and what it needs to sign in."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from filelock import FileLock

from skillopt_replay.agents.clients import Client, Credentials, read_version
from skillopt_replay.folders import remove_tree
from skillopt_replay.sandbox.contract import SYSTEM_PATH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# The order in which the client itself prefers them; exactly one is handed on, under the first name, which
# git and gh do not heed.
TOKENS = ("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN")
PROVIDER = "COPILOT_PROVIDER_BASE_URL"
_PROVIDER_KEYS = ("COPILOT_PROVIDER_BEARER_TOKEN", "COPILOT_PROVIDER_API_KEY")
_PROVIDER_HEADERS = "COPILOT_PROVIDER_HEADERS"
_PROVIDER_COMMAND = "COPILOT_PROVIDER_API_KEY_COMMAND"
_PROVIDER_DETAILS = (
    PROVIDER, "COPILOT_PROVIDER_TYPE", "COPILOT_PROVIDER_WIRE_API", "COPILOT_PROVIDER_TRANSPORT",
    "COPILOT_PROVIDER_AZURE_API_VERSION", _PROVIDER_HEADERS, "COPILOT_PROVIDER_MODEL_ID",
    "COPILOT_PROVIDER_WIRE_MODEL", "COPILOT_PROVIDER_MAX_PROMPT_TOKENS",
    "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS",
)  # fmt: skip
MODEL = "COPILOT_MODEL"
# Where the service is and how to get there. None of these signs anybody in.
_ROUTES = (
    "COPILOT_GH_HOST", "GH_HOST", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy",
    "no_proxy", "NODE_EXTRA_CA_CERTS",
)  # fmt: skip
# What the client keeps out of the commands it runs and out of what it writes.
SECRETS = (TOKENS[0], *_PROVIDER_KEYS, _PROVIDER_HEADERS)
_CLASSIC = "ghp_"  # a kind of token the service refuses
_HINT = "install GitHub Copilot CLI (npm install -g @github/copilot)"
_SIGN_IN_HINT = (
    'set COPILOT_GITHUB_TOKEN to a fine-grained token with the permission "Copilot Requests", or'
    f" {PROVIDER} and COPILOT_MODEL for a provider of your own; the sign-in that `copilot` keeps for itself"
    " is not lent to runs"
)
_CLASSIC_HINT = f"the token in {{}} is a classic one ({_CLASSIC}), which Copilot refuses: {_SIGN_IN_HINT}"
_COMMAND_HINT = (
    f"{_PROVIDER_COMMAND} cannot run inside a sandbox: set COPILOT_PROVIDER_API_KEY for the night instead"
)
_NATIVE = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


def find_copilot(env: Mapping[str, str], binary: Path | None = None, *, cache: Path) -> Client | None:
    """Return the client at `binary`, or the one on the PATH in `env`; None when there is none.

    Where the package does not tell the version, the program is started once and unpacks itself into
    `cache`. Raises Unavailable when it does not start.
    """
    path = locate(env, binary)
    if path is None:
        return None
    credentials = find_credentials(env)
    return Client(
        binary=path,
        version=_packaged_version(path) or _start_once(path, cache),
        credentials=credentials,
        hint="" if credentials else _explain_missing(env),
    )


def locate(env: Mapping[str, str], binary: Path | None = None) -> Path | None:
    """Return the real program behind links and, where it can be seen, behind npm's loader."""
    found = shutil.which(str(binary or "copilot"), path=env.get("PATH", SYSTEM_PATH))
    if found is None:
        return None
    path = Path(found).resolve()
    return next((native for native in _natives(path.parent) if os.access(native, os.X_OK)), path)


def _natives(folder: Path) -> Iterator[Path]:
    """Yield where this platform's program can lie when `folder` is npm's loader package.

    The loader starts it as a child that outlives the loader when that is killed.
    """
    if folder.name != "copilot" or folder.parent.name != "@github":
        return
    machine = _NATIVE.get(platform.machine().lower(), "")
    systems = ("darwin",) if sys.platform == "darwin" else ("linux", "linuxmusl")
    for system in systems:
        package = f"copilot-{system}-{machine}"
        for place in (folder.parent / package, folder / "node_modules/@github" / package):
            yield place / "copilot"


def _packaged_version(binary: Path) -> str | None:
    """Return the version in the npm package that holds the program; starting it would unpack 235 MB."""
    try:
        package: Any = msgspec.json.decode((binary.parent / "package.json").read_bytes())
        name, version = package["name"], package["version"]
    except (OSError, msgspec.DecodeError, LookupError, TypeError):
        return None
    is_copilots = isinstance(name, str) and name.startswith("@github/copilot-")
    return version if is_copilots and isinstance(version, str) else None


def unpack(binary: Path, version: str, cache: Path) -> None:
    """See to it that the program has unpacked itself into `cache`, where runs may then only read.

    The unpacked files of other versions are removed. Raises Unavailable when it does not start, OSError
    when the folder cannot be written.
    """
    done = cache / f"{version}.unpacked"
    if done.exists():
        return
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / "unpack.lock"):
        if done.exists():
            return
        _start_once(binary, cache)
        for old in cache.glob("*.unpacked"):
            old.unlink()
        for folder in cache.glob("pkg/*/*"):
            if folder.name != version:
                remove_tree(folder)
        done.touch()


def _start_once(binary: Path, cache: Path) -> str:
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as home:
        env = {**quiet(Path(home), cache), "HOME": home, "COPILOT_OFFLINE": "true"}
        return read_version(binary, hint=_HINT, env=tuple(env.items()))


def quiet(home: Path, cache: Path) -> dict[str, str]:
    """Return what keeps the client's files in `home` and `cache`, and the client as it is."""
    return {
        "COPILOT_HOME": str(home / ".copilot"),
        "COPILOT_CACHE_HOME": str(cache),
        "COPILOT_AUTO_UPDATE": "false",
        "USE_TGREP": "false",  # it would index into the shared cache
    }


def find_credentials(env: Mapping[str, str]) -> Credentials | None:
    """Return the user's way to sign in: an own provider before a token for GitHub, as the client does.

    Classic tokens, which the client refuses, are passed over.
    """
    if env.get(PROVIDER):
        return _provider_of(env)
    routes = tuple((name, env[name]) for name in _ROUTES if env.get(name))
    model = ((MODEL, env[MODEL]),) if env.get(MODEL) else ()
    for name in TOKENS:
        if env.get(name) and not env[name].startswith(_CLASSIC):
            return Credentials(source=name, env=((TOKENS[0], env[name]), *routes, *model))
    return None


def _provider_of(env: Mapping[str, str]) -> Credentials | None:
    if env.get(_PROVIDER_COMMAND) and not any(env.get(name) for name in _PROVIDER_KEYS):
        return None
    key = next(((name, env[name]) for name in _PROVIDER_KEYS if env.get(name)), None)
    names = (*_PROVIDER_DETAILS, MODEL, *(name for name in _ROUTES if "GH_HOST" not in name))
    details = tuple((name, env[name]) for name in names if env.get(name))
    # Without network access of its own the client skips everything but the provider.
    offline = ("COPILOT_OFFLINE", "true")
    return Credentials(source=key[0] if key else PROVIDER, env=((key,) if key else ()) + (*details, offline))


def _explain_missing(env: Mapping[str, str]) -> str:
    if env.get(PROVIDER):
        return _COMMAND_HINT
    classic = next((name for name in TOKENS if env.get(name, "").startswith(_CLASSIC)), None)
    return _CLASSIC_HINT.format(classic) if classic else _SIGN_IN_HINT
