"""Where OpenCode keeps its sessions, and how to tell a file of it by its first bytes."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt_harvesters.sources.folders import can_be_path, find_base, unique
from skillopt_harvesters.sources.opencode.database import MAGIC
from skillopt_harvesters.walk import walk_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

# `opencode.db`; builds of another channel add its name.
_DATABASE = re.compile(r"opencode(?:-[\w.-]+)?\.db\Z")
_SESSION = re.compile(
    rb'\s*\{\s*"id"\s*:\s*"ses_[^"]+"\s*,(?=.*"(?:version|time|title|projectID)"\s*:)', re.DOTALL
)
_SESSION_FILE = re.compile(r"ses_\w+\.json\Z")
_MARKS = b"\xef\xbb\xbf\x00"


def find_roots(env: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    """Return the client's data folder, and the database itself when a variable puts it elsewhere."""
    data = find_base(env, "XDG_DATA_HOME", home / ".local" / "share") / "opencode"
    moved = env.get("OPENCODE_DB", "").strip()
    if moved == ":memory:" or not can_be_path(moved):
        return (data,)
    return unique([data, data / moved])


def find_files(root: Path, *, warn: Callable[[str], None] | None = None) -> Iterator[Path]:
    """Yield the databases in a root, and the session files of the time before. A root may be a database."""
    try:
        if stat.S_ISREG(root.stat().st_mode):
            yield root
            return
        yield from find_databases(root)
    except FileNotFoundError:
        return
    except OSError as error:
        if warn:
            warn(f"cannot read {root}: {error.strerror}")
        return
    for folder in (root / "storage" / "session", *_find_old(root / "project")):
        yield from walk_files(folder, (".json",), warn=warn)


def find_databases(data: Path) -> list[Path]:
    """Return the databases in the client's data folder. Raises OSError when it cannot be read."""
    with os.scandir(data) as entries:
        names = sorted(entry.name for entry in entries if _DATABASE.match(entry.name) and entry.is_file())
    return [data / name for name in names]


def _find_old(projects: Path) -> list[Path]:
    try:
        with os.scandir(projects) as entries:
            return sorted(Path(entry.path) / "storage" / "session" / "info" for entry in entries)
    except OSError:
        return []


def is_database(head: bytes) -> bool:
    """Tell whether a file is a database, of whatever program."""
    return head.startswith(MAGIC)


def recognise(head: bytes) -> bool:
    """Tell whether a file that begins with `head` may be this client's.

    Of a database only its tables can tell, which may stand in its log alone; so that is left to the reading.
    """
    return is_database(head) or _SESSION.match(head.lstrip(_MARKS)) is not None


def find_damage(head: bytes, path: Path) -> str:
    """Return why a file of this client's name is not one; "" for any other, and for text."""
    if _DATABASE.match(path.name):
        return "its beginning is damaged: it is no database" if b"\0" in head else ""
    return "it is no session that can be read" if _SESSION_FILE.match(path.name) else ""
