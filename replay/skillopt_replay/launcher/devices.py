"""Keeps the machine's devices from root's runs.

bwrap shows a run the real ones. What is written to them goes nowhere, but they belong to root, who could take
/dev/null from every program of the machine. Read-only they still take what is written; bwrap itself knows no
read-only devices, so it is started where they are.
"""

from __future__ import annotations

import ctypes
import os

from skillopt_replay.launcher import tree

_SHOWN = ("null", "zero", "full", "random", "urandom", "tty")
_NEWNS, _NEWUSER = 0x20000, 0x10000000
_RDONLY, _NOSUID, _NOEXEC, _REMOUNT, _BIND, _REC, _SLAVE = 1, 2, 8, 32, 4096, 16384, 1 << 19


def hold_devices() -> None:
    """Enter a view of the file system with read-only devices, if we are root. Raises OSError."""
    if os.geteuid() != 0:
        return  # theirs are not ours to change
    try:
        _call("unshare", _NEWNS)
    except PermissionError:
        _become_root()
    _call("mount", None, b"/", None, _REC | _SLAVE, None)
    for name in _SHOWN:
        path = b"/dev/" + name.encode()
        _call("mount", path, path, None, _BIND, None)
        _call("mount", None, path, None, _REMOUNT | _BIND | _RDONLY | _NOSUID | _NOEXEC, None)


def _become_root() -> None:
    """Do the same as a container's root, who may mount something only in a namespace of users of its own."""
    group = os.getegid()
    _call("unshare", _NEWUSER | _NEWNS)
    for name, line in (("setgroups", "deny"), ("uid_map", "0 0 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123
            file.write(line)


def _call(name: str, *arguments: object) -> None:
    if getattr(tree.libc(), name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
