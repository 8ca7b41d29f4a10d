"""Copies folders: all of one, or of one under no version control what is not secret, built or large."""

from __future__ import annotations

import fnmatch
import os
import shutil
import sys
from pathlib import Path

from skillopt_replay import process
from skillopt_replay.errors import ReplayError
from skillopt_replay.folders import PRIVATE_PREFIX, RUN_PREFIX, find_path, lies_in, walk

MAX_BYTES = 200_000_000
MAX_FILES = 20_000

_LEFT_OUT = {
    ".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".pytest_cache",
    ".ruff_cache", ".tox", ".nox", ".cache", ".gradle", "target",
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".pgpass", ".npmrc", ".pypirc",
    ".terraform", ".vault-token", ".htpasswd", ".dockercfg", ".s3cfg", ".boto", ".my.cnf",
    ".yarnrc.yml", "kubeconfig",
}  # fmt: skip
_SECRET = (
    ".env",
    ".env.*",
    ".envrc*",
    "*.env",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.kdbx",
    "*.jks",
    "*.keystore",
    "*.ppk",
    "*.tfstate*",
    "*.tfvars",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "*credentials*",
    "auth.json",
    "*service-account*.json",
    "*service_account*.json",
    "secrets.y*ml",
    "secrets.json",
    "secrets.toml",
    "secrets.ini",
    "*.secret",
    "*.secrets",
)


def holds_settings(source: Path) -> bool:
    """Return whether the folder is, or lies in, a hidden one of the home folder, such as ~/.ssh."""
    home = Path.home().resolve()
    return source.is_relative_to(home) and any(
        part.startswith(".") for part in source.relative_to(home).parts[:1]
    )


class TooLarge(Exception):
    """The folder holds more than may be copied."""


def copy_folder(source: Path, target: Path, *, max_bytes: int = MAX_BYTES, max_files: int = MAX_FILES) -> int:
    """Copy `source` into the existing folder `target` and return the number of files.

    Left out: version control, dependencies, caches, files that look secret, sockets and devices, links
    that lead out of the folder, and what cannot be read. Raises TooLarge when a ceiling is passed; the
    target then holds a part.
    """
    bytes_left, files = max_bytes, 0
    for folder, names, file_names in walk(source):
        names[:] = sorted(name for name in names if not _is_left_out(name))
        here = Path(folder)
        there = target / here.relative_to(source)
        for name in list(names):
            if (here / name).is_symlink():
                names.remove(name)
                _copy_link(here / name, there / name, source)
            else:
                (there / name).mkdir(exist_ok=True)
        for name in sorted(file_names):
            path = here / name
            if _is_left_out(name):
                continue
            if path.is_symlink():
                _copy_link(path, there / name, source)
            elif path.is_file() and os.access(path, os.R_OK):
                files += 1
                bytes_left -= path.stat().st_size
                if bytes_left < 0 or files > max_files:
                    raise TooLarge(f"more than {max_bytes // 1_000_000} MB or {max_files} files")
                shutil.copy2(path, there / name, follow_symlinks=False)
    return files


async def copy_tree(source: Path, target: Path) -> None:
    """Copy all that lies in `source` into the existing folder `target`. Raises ReplayError."""
    # The system's own program shares blocks where the file system can.
    options = ["-a", "--reflink=auto"] if sys.platform.startswith("linux") else ["-a"]
    finished = await process.run(
        ["cp", *options, f"{source}/.", f"{target}/"],
        cwd=target,
        env={"PATH": find_path(), "LC_ALL": "C"},
        seconds=600.0,
    )
    if finished.returncode != 0:
        raise ReplayError(f"{source} could not be copied: {finished.stderr.strip()[-300:]}")


def _is_left_out(name: str) -> bool:
    lower = name.lower()
    if lower.startswith((RUN_PREFIX, PRIVATE_PREFIX)):
        return True  # the folder of the runs may lie in the project: a copy must not hold itself
    return lower in _LEFT_OUT or any(fnmatch.fnmatchcase(lower, pattern) for pattern in _SECRET)


def _copy_link(path: Path, target: Path, source: Path) -> None:
    to = path.readlink()
    if not to.is_absolute() and lies_in(path, source):
        target.symlink_to(to)
