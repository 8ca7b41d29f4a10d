"""Commit messages and branch names."""

from __future__ import annotations

import re
from collections.abc import Mapping

from skillopt_staging.errors import StagingError

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*\Z")


def trailers(message: str, mapping: Mapping[str, str]) -> str:
    """Return the message with `Key: value` lines at its end, as `git interpret-trailers --parse` reads them.

    Values become one line each. Raises StagingError for an empty message or a key that git would not read.
    """
    body = message.strip()
    if not body:
        raise StagingError("a commit message may not be empty")
    for key in mapping:
        if not _KEY.match(key):
            raise StagingError(f"{key!r} is no trailer name", hint="letters, digits and hyphens only")
    lines = [f"{key}: {' '.join(value.split())}".rstrip() for key, value in mapping.items()]
    return "\n\n".join([body, "\n".join(lines)]).rstrip() + "\n"


def branch_name(night: str, skill: str) -> str:
    """Return `skillopt/<night>-<skill>` with what git does not allow in a ref turned into hyphens."""
    name = re.sub(r"[^\w.-]+|\.\.+|\.lock\Z", "-", f"{night}-{skill}").strip("-.")
    return f"skillopt/{name}"
