"""What we installed, written down beside the data, so that exactly that is removed again."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from skillopt_sleep.errors import AppError
from skillopt_sleep.files import write_atomically
from skillopt_sleep.paths import Paths


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """A service that was installed: absolute `files`, and the `folders` that had to be made for them.

    `digests` are of the files as we wrote them, by name; an older version noted none.
    """

    manager: str
    mode: str
    files: tuple[str, ...]
    folders: tuple[str, ...]
    version: str
    digests: dict[str, str] = {}


def digest(content: bytes) -> str:
    """Return what tells a file's content from another."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def find_record(paths: Paths) -> Path:
    """Return where the record lies."""
    return paths.data / "service.json"


def read_record(paths: Paths) -> Installed | None:
    """Return what was installed, None when nothing is. Raises AppError when the record cannot be read."""
    file = find_record(paths)
    try:
        return msgspec.json.decode(file.read_bytes(), type=Installed)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise AppError(
            f"cannot read {file}, which says what was installed: {error}",
            hint="remove that file and run skillopt-sleep install, which takes over what lies there",
        ) from error


def write_record(paths: Paths, installed: Installed) -> None:
    """Write it down. Raises AppError."""
    try:
        write_atomically(find_record(paths), msgspec.json.encode(installed).decode())
    except OSError as error:
        raise AppError(f"cannot write {find_record(paths)}: {error.strerror or error}") from error
