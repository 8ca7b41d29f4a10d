"""Further folders that runs may read, such as a version manager's; never one that holds what is private."""

from __future__ import annotations

import fnmatch
import os
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt_replay.errors import ReplayError
from skillopt_replay.sandbox.contract import Toolchains
from skillopt_replay.sandbox.folders import homes, refuse_homes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Sign-ins, keys and what agents know of the user. Neither they nor what holds them is ever shown.
_PRIVATE = (
    ".agents", ".aws", ".azure", ".claude", ".codex", ".config", ".copilot", ".docker", ".gemini", ".gnupg",
    ".kube", ".local/share/keyrings", ".local/share/opencode", ".mozilla", ".oci", ".opencode",
    ".password-store", ".pi", ".pki", ".ssh", ".terraform.d", ".thunderbird", "AppData",
    "Library/Application Support", "Library/Containers", "Library/Cookies", "Library/Keychains",
    "Library/Preferences",
)  # fmt: skip
_MOVED = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GNUPGHOME", "XDG_CONFIG_HOME", "GH_CONFIG_DIR")
_SYSTEM = ("/boot", "/dev", "/etc", "/proc", "/run", "/sys", "/var")
# What tools keep beside their programs to sign in with.
_SECRETS = (
    "*credentials*", "*.key", "*.kdbx", "*.p12", "*.pfx", ".env", ".env.*", ".git-credentials", ".netrc",
    ".npmrc", ".pypirc", ".yarnrc.yml", "auth.json", "auth.toml", "gradle.properties", "hosts.yml",
    "id_ecdsa*", "id_ed25519*", "id_rsa*", "settings-security.xml", "settings.xml", "token", "tokens.json",
)  # fmt: skip


def open_toolchains(given: Iterable[str], env: Mapping[str, str], private: Iterable[Path] = ()) -> Toolchains:
    """Return the folders, links resolved; "~/" is the home in `env`.

    Raises ReplayError for one that is missing, is a home or holds one, lies in or holds a place of sign-ins,
    keys, agents' settings or one of the folders in `private`, or has files at its top that look secret.
    """
    found = tuple(_resolve(text, env) for text in given)
    refuse_homes(found)
    kept = _list_private(env, private) if found else []
    for folder in found:
        for place in kept:
            if folder.is_relative_to(place) or place.is_relative_to(folder):
                raise ReplayError(
                    f"{folder} cannot be a toolchain: {place} is private",
                    hint="name the folder of the toolchain itself in replay.toolchains",
                )
        secret = _find_secret(folder)
        if secret is not None:
            raise ReplayError(
                f"{folder} cannot be a toolchain: {secret} in it looks like a sign-in",
                hint="name the folders in it that are needed in replay.toolchains, such as ~/.cargo/bin",
            )
    return Toolchains(found)


def _resolve(text: str, env: Mapping[str, str]) -> Path:
    path = Path(env["HOME"], text[2:]) if text.startswith("~/") and env.get("HOME") else Path(text)
    if not path.is_absolute():
        raise ReplayError(f"{text!r} is no place of a toolchain", hint="write it as /PATH or ~/PATH")
    try:
        resolved = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise ReplayError(f"the toolchain {text} is not there", hint="correct replay.toolchains") from error
    if not resolved.is_dir():
        raise ReplayError(f"the toolchain {text} is no folder", hint="name the folder that holds it")
    return resolved


def list_moved(env: Mapping[str, str]) -> list[Path]:
    """Return the places of sign-ins and settings that the environment names."""
    return [Path(env[name]) for name in _MOVED if env.get(name)]


def _list_private(env: Mapping[str, str], private: Iterable[Path]) -> list[Path]:
    kept = [Path(place) for place in _SYSTEM]
    kept += [home / place for home in homes() for place in _PRIVATE]
    kept += [Path(env["HOME"]) / place for place in _PRIVATE if env.get("HOME")]
    return [path.resolve() for path in (*kept, *list_moved(env), *private)]


def _find_secret(folder: Path) -> str | None:
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - names are all that is looked at
    except OSError as error:
        raise ReplayError(f"the toolchain {folder} cannot be read: {error.strerror}") from error
    return next((name for name in names if any(fnmatch.fnmatch(name.lower(), p) for p in _SECRETS)), None)
