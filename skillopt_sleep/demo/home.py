"""A home of the demo's own, so that nothing of the user's is read or written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path

import msgspec

from skillopt_replay.agents.claude_cli import CREDENTIAL_FILE, find_claude
from skillopt_replay.agents.clients import Credentials
from skillopt_replay.errors import Unavailable
from skillopt_sleep.config import write_settings
from skillopt_sleep.errors import AppError
from skillopt_sleep.files import write_atomically
from skillopt_sleep.paths import DEMO_MARKER, Paths, make_private
from skillopt_sleep.settings import Settings

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
    return DemoHome(
        paths=Paths(
            config=root / "config.toml",
            data=root,
            cache=root / "cache",
            log=root / "log",
            model_folder=paths.models,
        ),
        home=home,
        env=make_env(paths, env),
    )


def make_env(paths: Paths, env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the demo's home, whether that is there yet or not."""
    home = paths.cache / "demo" / "home"
    passed = {k: v for k, v in env.items() if k in _PASSED_ON or k.startswith(_PASSED_ON_PREFIXES)}
    return {**passed, "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude")}


@contextmanager
def lend_sign_in(demo: DemoHome, env: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Give the demo's environment with what signs the user's Claude Code in, and nothing else of theirs.

    A copy of the credential file lies in the demo's home while the block runs, without the token that
    renews it. Raises Unavailable when Claude Code is not there or nobody is signed in.
    """
    credentials = find_sign_in(env)
    copy = demo.home / ".claude" / CREDENTIAL_FILE
    try:
        if credentials.file is not None:
            write_atomically(copy, credentials.file.decode())
        yield {**demo.env, **dict(credentials.env)}
    finally:
        copy.unlink(missing_ok=True)


def find_sign_in(env: Mapping[str, str]) -> Credentials:
    """Return what signs the user's Claude Code in. Raises Unavailable as `lend_sign_in` does."""
    cli = find_claude(env)
    if cli is None or cli.credentials is None or not cli.signed_in:
        problem = "not installed" if cli is None else "not signed in"
        hint = (cli.hint if cli else "") or "or run the demo with the local model: leave --agent out"
        raise Unavailable(f"Claude Code is {problem}", hint=hint)
    return cli.credentials


def furnish(demo: DemoHome, settings: Settings) -> None:
    """Leave what later commands in this home need to go on with the demo's model, not with the user's."""
    write_settings(demo.paths.config, settings)
    models, own = demo.paths.models, demo.paths.cache / "models"
    if models.is_dir() and not os.path.lexists(own):
        own.parent.mkdir(exist_ok=True)
        own.symlink_to(models, target_is_directory=True)


def _clear(root: Path) -> None:
    """Leave an empty folder with the marker; it is there at every moment, should this be cut off."""
    marker = root / DEMO_MARKER
    if os.path.lexists(root) and not marker.is_file() and (not root.is_dir() or any(root.iterdir())):
        raise AppError(f"{root} is not a demo's folder", hint="move it away, then try again")
    make_private(root)
    marker.touch()
    for path in root.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path != marker:
            path.unlink()
