"""Secrets from a `.env` file, for the calls of a run; they are never written anywhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

_LINE = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?P<value>.*?)\s*\Z")


def read_env(folder: Path, env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with the variables of the folder's `.env` file that it does not set itself.

    A line is NAME=value, quoted or not; others are comments.
    """
    try:
        text = (folder / ".env").read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return dict(env)
    found = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        if match and not line.lstrip().startswith("#"):
            found[match["name"]] = _unquote(match["value"])
    return {**found, **env}


def _unquote(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    return value.partition(" #")[0].rstrip()
