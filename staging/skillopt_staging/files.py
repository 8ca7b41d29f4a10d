"""The one live file apply may write: read, replaced in one step, or removed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skillopt_staging.errors import NeedsDecision, StagingError

_MARK = ".skillopt-"


def digest(data: bytes | None) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal; "" for a file that is not there."""
    return "" if data is None else hashlib.sha256(data).hexdigest()


def read_live(live: Path) -> bytes | None:
    """Return the bytes behind `live`, through links; None when there is no file."""
    with _explained("read", live):
        real = _follow(live)
        try:
            status = real.stat()
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(status.st_mode):
            raise StagingError(f"{live} is not a file", hint="a skill is a folder with a SKILL.md in it")
        return real.read_bytes()


def write_live(live: Path, data: bytes, *, expected: bytes | None) -> int:
    """Put `data` in place of `expected` in one step; return how many folders had to be made for it.

    The file behind a link is replaced, its mode and owner stay. A reader sees the old bytes or the new
    ones, also after a crash. Raises NeedsDecision when the file no longer holds `expected`, StagingError
    when it cannot be written; then it is as it was.
    """
    with _explained("write", live):
        real = _follow(live)
        made = _make_folders(real.parent)
        _remove_leftovers(real)
        temporary = real.with_name(f".{real.name}{_MARK}{secrets.token_hex(8)}")
        try:
            _write_new(temporary, data, like=real)
            _require(live, expected)
            os.replace(temporary, real)  # noqa: PTH105
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
                _remove_folders(real.parent, made)
            raise
        _sync_folder(real.parent)
    return made


def count_missing_folders(live: Path) -> int:
    """Return how many folders would have to be made before the file behind `live` can be written."""
    folder, missing = _follow(live).parent, 0
    while not folder.is_dir() and folder != folder.parent:
        folder, missing = folder.parent, missing + 1
    return missing


def remove_live(live: Path, *, expected: bytes | None, folders: int) -> None:
    """Remove the file that holds `expected`, and up to `folders` of the folders above it that are empty.

    Raises NeedsDecision when the file no longer holds `expected`.
    """
    with _explained("remove", live):
        real = _follow(live)
        _require(live, expected)
        real.unlink(missing_ok=True)
        _sync_folder(real.parent)
        # The file is gone; a folder that somebody fills just now stays.
        with contextlib.suppress(OSError):
            _remove_folders(real.parent, folders)


def refuse_links(top: Path, path: str) -> None:
    """Raise StagingError when a folder on the way from `top` to `path` is a link: it could lead elsewhere."""
    folder = top
    for part in path.split("/")[:-1]:
        folder /= part
        if folder.is_symlink():
            raise StagingError(f"{folder} is a symbolic link", hint="name the place of the real file")


def _follow(live: Path) -> Path:
    return Path(os.path.realpath(live))


def _require(live: Path, expected: bytes | None) -> None:
    if read_live(live) != expected:
        raise NeedsDecision(f"{live} has just been changed by someone else", hint="look at it, then retry")


def _write_new(temporary: Path, data: bytes, *, like: Path) -> None:
    # 0o666 lets the user's umask decide, which tempfile's 0600 would not.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o666)
    with os.fdopen(descriptor, "wb") as file:
        if like.exists():
            status = like.stat()
            if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
                with contextlib.suppress(PermissionError):
                    os.fchown(descriptor, status.st_uid, status.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
        file.write(data)
        file.flush()
        os.fsync(descriptor)


def _make_folders(folder: Path) -> int:
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for new in reversed(missing):
        new.mkdir(exist_ok=True)
    return len(missing)


def _remove_folders(folder: Path, count: int) -> None:
    for empty in [folder, *folder.parents][:count]:
        if any(empty.iterdir()):
            return
        empty.rmdir()


def _remove_leftovers(real: Path) -> None:
    # Only a killed run leaves these, and the repository's lock is held.
    for entry in real.parent.iterdir():
        if entry.name.startswith(f".{real.name}{_MARK}"):
            entry.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    # The change is made; a file system that cannot sync folders must not report it as failed.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _explained(verb: str, live: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StagingError(
            f"cannot {verb} {live}: {error.strerror or error}", hint="nothing was changed"
        ) from error
