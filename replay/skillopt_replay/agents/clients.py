"""A client program as found on this machine, and the one thing that signs it in."""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from skillopt_replay.errors import Unavailable
from skillopt_replay.lent import find_all, find_secrets, keep_long, strip_miswritten
from skillopt_replay.sandbox.contract import SYSTEM_PATH

_VERSION = re.compile(r"\d+\.\d+\.\d+")


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """The one thing that signs a client in, and the route to its service.

    `env` goes to the client's environment; `keys` name what of it is secret whatever it is called. `file` is
    the content of its credential file, without the token that renews it: a copy that renewed itself would
    sign the user out. `route` is the part of the user's configuration that leads to the service. `expires` is
    Unix time.
    """

    source: str
    env: tuple[tuple[str, str], ...] = ()
    keys: tuple[str, ...] = ()
    file: bytes | None = None
    route: dict[str, Any] = {}
    expires: float | None = None

    @property
    def expired(self) -> bool:
        return self.expires is not None and self.expires <= time.time()

    @property
    def secrets(self) -> tuple[str, ...]:
        """What of it must never be kept or told."""
        named = {name: value for name, value in self.env if name in self.keys}
        return keep_long((*find_secrets(dict(self.env), self.route, self.file), *find_all(named)))

    def __repr__(self) -> str:
        return f"Credentials(source={self.source!r})"


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """The program, its version, and its sign-in (None when nobody is signed in; `hint` says what to do)."""

    binary: Path
    version: str
    credentials: Credentials | None
    hint: str = ""

    @property
    def signed_in(self) -> bool:
        return self.credentials is not None and not self.credentials.expired

    def sign_in(self, title: str) -> Credentials:
        """Return what signs it in. Raises Unavailable when nobody is; `title` is its name for people."""
        if self.credentials is None or not self.signed_in:
            raise Unavailable(f"{title} is not signed in", hint=self.hint)
        return self.credentials


def say_bare(*, bare: bool) -> str:
    """Return what an identity ends with when the project's own settings are left out."""
    return " without project settings" if bare else ""


def say_effort(effort: str) -> str:
    """Return what an identity says of how hard the model is told to think; nothing where it is not."""
    return f" at {effort} effort" if effort else ""


def say_address(*urls: str | None) -> str:
    """Return what an identity says of services that are not the client's own, "" for none.

    Another service is another agent, whatever the model is called there. Of a URL only host, port and path
    are told: the rest may hold a key.
    """
    shown = [_say_place(strip_miswritten(url)) for url in urls if url]
    return f" via {', '.join(shown)}" if shown else ""


def _say_place(url: str) -> str:
    try:
        place = urlsplit(url if "//" in url else f"//{url}")
    except ValueError:
        return "an address that cannot be read"  # nothing runs there
    return f"{(place.netloc.rpartition('@')[2])}{place.path.rstrip('/')}"


def read_version(binary: Path, *, hint: str, env: tuple[tuple[str, str], ...] = ()) -> str:
    """Return what `--version` says. Raises Unavailable, with the hint, when it says nothing of use."""
    try:
        # Even for this some lay out a folder in their home.
        with tempfile.TemporaryDirectory(prefix="skillopt-version-", ignore_cleanup_errors=True) as home:
            finished = subprocess.run(
                [str(binary), "--version"],
                env={"PATH": SYSTEM_PATH, "HOME": home, **dict(env)},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=30.0,
                check=False,
                start_new_session=True,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{binary} does not start: {error}", hint=hint) from error
    match = _VERSION.search(finished.stdout)
    if finished.returncode != 0 or match is None:
        said = (finished.stderr or finished.stdout).strip()[-200:]
        raise Unavailable(f"{binary} --version does not tell a version: {said}", hint=hint)
    return match.group()
