"""URIs as VS Code writes them, and the paths they stand for."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote, urlsplit

# Schemes of files an agent works on; others stand for settings, notebooks' cells, or VS Code's own documents.
_FILES = frozenset({"file", "vscode-remote"})
_DRIVE = re.compile(r"/([A-Za-z]):(?=/|\Z)")


def to_path(uri: Any) -> str | None:
    """Return the path of a URI, given as text or as its parts; None when it is no file's.

    A remote folder is the path on the machine it is on. Paths with a drive letter are Windows' own.
    """
    if isinstance(uri, dict):
        scheme, host, path = uri.get("scheme") or "file", uri.get("authority") or "", uri.get("path")
    elif isinstance(uri, str):
        try:
            parts = urlsplit(uri)
        except ValueError:
            return None
        scheme, host, path = parts.scheme, parts.netloc, unquote(parts.path)
    else:
        return None
    if not isinstance(scheme, str) or scheme not in _FILES or not isinstance(path, str) or not path:
        return None
    drive = _DRIVE.match(path)
    if drive:
        return drive[1].upper() + ":" + (path[3:] or "/").replace("/", "\\")
    if scheme == "file" and isinstance(host, str) and host and host != "localhost":
        return ("//" + unquote(host) + path).replace("/", "\\")
    return path
