"""Keeps a run from what no namespace holds: a filter of system calls for bwrap.

That of the network does not hold all kinds of sockets. Those of virtual machines (AF_VSOCK) lead to the host
that this machine runs on, and to whatever listens for them here. The kernel's keys are one user's wherever he
is, and who knows the number of one gets at it. By moving its blocks a file can be changed without its times
telling, by which it is known that a run has changed nothing.

And the first process of a sandbox is bwrap, started outside: who makes it fork, as a debugger can, has a
process whose program is bwrap's own file on the machine, and may change that. What another process has open
is not taken either: the client's output and its connections are its own.

Where the machine's settings let users watch whole processors, as some do who look for what is slow, what is
seen of the programs that run there comes with pieces of their memory.
"""

from __future__ import annotations

import os
import struct

_FAMILIES = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK
# Of the kernel's packet filter language.
_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24  # offsets in what the filter sees
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_EPERM, _ENOTTY, _ENOSYS, _EAFNOSUPPORT = 1, 25, 38, 97
# The kind and number of what moves blocks from file to file: of ext4, XFS and F2FS.
_MOVES, _KIND_AND_NUMBER = (0x660F, 0x586D, 0xF509), 0xFFFF
_IO_URING_SETUP = 425  # it opens sockets without a system call for each; programs do without it
_SOCKETCALL = 102  # hides its arguments behind a pointer; what is newer than 2015 does without it
_X32 = 0x40000000
_PIDFD_GETFD = 438
_FIRST_PROCESS = 1
_REFUSED = (_IO_URING_SETUP, _PIDFD_GETFD)
# By machine: its architectures with the numbers of `socket`, `ioctl`, `ptrace`, and of those that read and
# write the memory of another process; and those that are refused: the last four watch processors, and are
# for keys.
_KNOWN = {
    "x86_64": (
        (0xC000003E, 41, 16, 101, (310, 311), (*_REFUSED, 298, 248, 249, 250)),
        (0x40000003, 359, 54, 26, (347, 348), (_SOCKETCALL, *_REFUSED, 336, 286, 287, 288)),
    ),
    "aarch64": (
        (0xC00000B7, 198, 29, 117, (270, 271), (*_REFUSED, 241, 217, 218, 219)),
        (0x40000028, 281, 54, 26, (376, 377), (_SOCKETCALL, *_REFUSED, 364, 309, 310, 311)),
    ),
}
_INSTRUCTION = struct.Struct("=HBBI")

Step = tuple[int, int, str, str]  # instruction, its number, where to go on when it holds and when not


def make_filter(machine: str) -> bytes | None:
    """Return the filter for a kind of machine, None where its system calls are not known here."""
    known = _KNOWN.get(machine)
    if known is None:
        return None
    steps: list[Step] = [(_LOAD, _ARCHITECTURE, "", "")]
    places: dict[str, int] = {}
    for architecture, *_ in known:
        steps.append((_EQUAL, architecture, f"{architecture}", ""))
    steps.append((_RETURN, _ERROR | _ENOSYS, "", ""))
    for architecture, socket, control, trace, memory, refused in known:
        places[f"{architecture}"] = len(steps)
        steps.append((_LOAD, _NUMBER, "", ""))
        # The same machine's calls with short pointers have other numbers, of which nothing is known here.
        steps.append((_AT_LEAST, _X32, "refuse", ""))
        steps += [(_EQUAL, number, "refuse", "") for number in refused]
        steps += [(_EQUAL, number, "first", "") for number in memory]
        steps.append((_EQUAL, trace, "second", ""))
        steps.append((_EQUAL, control, "ioctl", ""))
        steps.append((_EQUAL, socket, "socket", "allow"))
    places["socket"] = len(steps)
    steps.append((_LOAD, _FIRST_ARGUMENT, "", ""))
    steps += [(_EQUAL, family, "allow", "") for family in _FAMILIES]
    steps.append((_RETURN, _ERROR | _EAFNOSUPPORT, "", ""))
    places["ioctl"] = len(steps)
    steps += [(_LOAD, _SECOND_ARGUMENT, "", ""), (_AND, _KIND_AND_NUMBER, "", "")]
    steps += [(_EQUAL, move, "unknown", "") for move in _MOVES]
    steps.append((_RETURN, _ALLOW, "", ""))
    places["unknown"] = len(steps)
    steps.append((_RETURN, _ERROR | _ENOTTY, "", ""))
    for place, argument in (("first", _FIRST_ARGUMENT), ("second", _SECOND_ARGUMENT)):
        places[place] = len(steps)
        steps += [(_LOAD, argument, "", ""), (_EQUAL, _FIRST_PROCESS, "deny", "allow")]
    places["deny"] = len(steps)
    steps.append((_RETURN, _ERROR | _EPERM, "", ""))
    places["allow"] = len(steps)
    steps.append((_RETURN, _ALLOW, "", ""))
    places["refuse"] = len(steps)
    steps.append((_RETURN, _ERROR | _ENOSYS, "", ""))
    return b"".join(
        _INSTRUCTION.pack(code, *(places[to] - at - 1 if to else 0 for to in (yes, no)), number)
        for at, (code, number, yes, no) in enumerate(steps)
    )


def open_filter() -> int | None:
    """Return a descriptor that bwrap reads this machine's filter from, None where there is none."""
    if _OWN is None:
        return None
    descriptor = os.memfd_create("filter", 0)
    os.write(descriptor, _OWN)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


_OWN = make_filter(os.uname().machine)
