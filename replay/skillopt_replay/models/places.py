"""Where a model is: a known file to fetch, a file of the user's, or a server."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from skillopt_replay.errors import Unavailable
from skillopt_replay.lent import strip_miswritten
from skillopt_replay.models.catalogue import DEFAULT, Entry, find_entry
from skillopt_replay.models.digests import digest_of

if TYPE_CHECKING:
    from collections.abc import Callable

# In place of the HTTP client's own words, which hold what it takes for the port: a part of the password.
UNUSABLE_PROXY = "the proxy in the environment cannot be used: in a password # is written %23, / %2F"
_MAGIC = b"GGUF"
_LOGIN = re.compile(r"^([a-zA-Z][a-zA-Z0-9+.-]*://|//)?[^/?#]*@")


def locate(name: str, folder: Path, progress: Callable[[int, int], None]) -> Entry | tuple[Path, str, str]:
    """Return the catalogue entry that `name` means, or the user's own file as (path, name, SHA-256).

    "" is the default model. What ends in .gguf or has a slash is a path; "~" is the home folder. The digest
    of an own file is remembered in `folder`, never beside the file. Raises Unavailable.
    """
    found = look_up(name)
    if isinstance(found, Entry):
        return found
    with _readable(found):
        size = found.stat().st_size
        sha256 = digest_of(found, folder / "digests", lambda done: progress(done, size))
    return found, found.stem, sha256


def is_path(name: str) -> bool:
    """Tell whether `name` is a model file's path, rather than a name of the table."""
    return name.endswith(".gguf") or "/" in name or name.startswith("~")


def look_up(name: str) -> Entry | Path:
    """Return what `name` means as `locate` does, without a digest. Raises Unavailable."""
    name = name.strip()
    if not is_path(name):
        return find_entry(name or DEFAULT)
    path = Path(name).expanduser()
    with _readable(path), path.open("rb") as stream:
        magic = stream.read(len(_MAGIC))
    if magic != _MAGIC:
        raise Unavailable(f"{path} is not a GGUF file", hint="llama.cpp reads models in the GGUF format")
    return path


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unavailable(
            f"the model file {path} cannot be read: {error.strerror or error}", hint="give its full path"
        ) from error


def strip_login(url: str) -> str:
    """Return the address as it may be told: a user's name and password in it are for its server alone."""
    return _LOGIN.sub(r"\1", strip_miswritten(url) if not _LOGIN.match(url) else url)


def strip_logins(text: str) -> str:
    """Return what was to be a model's name as it may be told: without what stands before the last @."""
    return re.sub(r"://\S*@", "://", text)


def is_loopback(url: str) -> bool:
    """Tell whether the address is on this machine."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
