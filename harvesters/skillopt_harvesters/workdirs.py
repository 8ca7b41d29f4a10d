"""Working directories: one name for one folder, however a client spells it."""

from __future__ import annotations

import re

_DRIVE = re.compile(r"(?:[\\/]{2}[?.][\\/])?(?P<letter>[A-Za-z]):(?=[\\/])")
_SHARE = re.compile(r"\\\\(?![?.]\\)|//(?=[^/\\]+\\)")
_SEPARATORS = re.compile(r"[\\/]+")


def name_folder(path: str) -> str:
    r"""Return the one spelling of a folder: `c:/work/` and `C:\work` are the same on Windows.

    A trailing separator is dropped anywhere. What is no absolute path of Windows stays otherwise as it is,
    but for NULs, which no folder has in its name and no system call takes.
    """
    path = path.replace("\0", "\ufffd")
    drive = _DRIVE.match(path)
    if drive:
        rest = _SEPARATORS.sub(r"\\", path[drive.end() :])
        return f"{drive['letter'].upper()}:{rest.rstrip(chr(92)) or chr(92)}"
    share = _SHARE.match(path)
    if share:
        return "\\\\" + _SEPARATORS.sub(r"\\", path[share.end() :]).strip("\\")
    return path.rstrip("/") or path[:1]
