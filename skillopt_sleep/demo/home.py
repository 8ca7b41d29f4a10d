"""A home of the demo's own, so that nothing of the user's is read or written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path

import msgspec

from skillopt_sleep.errors import AppError
from skillopt_sleep.paths import Paths, make_private

_MARKER = ".skillopt-sleep-demo"
# What a child process needs to run at all; nothing that says who the user is.
_PASSED_ON = {"PATH", "LANG", "LC_ALL", "TERM", "TMPDIR", "REQUESTS_CA_BUNDLE"}
_PASSED_ON |= {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"}
_PASSED_ON_PREFIXES = ("PIP_", "SSL_CERT_")


class DemoHome(msgspec.Struct, frozen=True, kw_only=True):
    """Where the demo lives. `env` is the environment its harvest and its agents see."""

    paths: Paths
    home: Path
    env: dict[str, str]


def make_home(paths: Paths, env: Mapping[str, str]) -> DemoHome:
    """Create the demo's home anew beside the cache, with the sample transcripts in it.

    The last demo's home is removed; a folder there that no demo made raises AppError and is left alone.
    The model folder is shared with the app, so a model is fetched once.
    """
    root = paths.cache / "demo"
    _clear(root)
    home = make_private(root / "home")
    with as_file(files("skillopt_sleep.demo") / "transcripts" / "dot-claude" / "projects") as samples:
        shutil.copytree(samples, home / ".claude" / "projects")
    passed = {k: v for k, v in env.items() if k in _PASSED_ON or k.startswith(_PASSED_ON_PREFIXES)}
    return DemoHome(
        paths=Paths(
            config=root / "config.toml",
            data=root,
            cache=root / "cache",
            log=root / "log",
            model_folder=paths.models,
        ),
        home=home,
        env={**passed, "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude")},
    )


def _clear(root: Path) -> None:
    """Leave an empty folder with the marker; it is there at every moment, should this be cut off."""
    marker = root / _MARKER
    if os.path.lexists(root) and not marker.is_file() and (not root.is_dir() or any(root.iterdir())):
        raise AppError(f"{root} is not a demo's folder", hint="move it away, then try again")
    make_private(root)
    marker.touch()
    for path in root.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path != marker:
            path.unlink()
