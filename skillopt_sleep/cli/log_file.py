"""Reading the end of a log file, and on as it grows."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from skillopt_sleep.errors import NothingToDo

_BLOCK = 64 * 1024
_LOOK_S = 0.5


def print_log(file: Path, lines: int, *, follow: bool) -> None:
    """Print the last lines of a log; with `follow` also what comes, through rotations, until interrupted."""
    from skillopt_sleep.review.visible import show_line

    try:
        stream = file.open("rb")
    except FileNotFoundError:
        raise NothingToDo(f"there is no log yet: {file}") from None
    try:
        _seek_back(stream.fileno(), lines)
        while True:
            for line in stream:
                sys.stdout.write(show_line(line.decode("utf-8", "replace").rstrip("\n")) + "\n")
            sys.stdout.flush()
            if not follow:
                return
            time.sleep(_LOOK_S)
            if _is_replaced(file, stream.fileno()):
                stream.close()
                stream = file.open("rb")
    finally:
        stream.close()


def _seek_back(descriptor: int, lines: int) -> None:
    """Set a file to the beginning of its last lines."""
    at = os.fstat(descriptor).st_size
    found = -1  # the end of the last line is no end of one before
    while at > 0:
        size = min(_BLOCK, at)
        at -= size
        os.lseek(descriptor, at, os.SEEK_SET)
        block = os.read(descriptor, size)
        for place in range(len(block) - 1, -1, -1):
            if block[place] == 10:
                found += 1
                if found == lines:
                    os.lseek(descriptor, at + place + 1, os.SEEK_SET)
                    return
    os.lseek(descriptor, 0, os.SEEK_SET)


def _is_replaced(file: Path, descriptor: int) -> bool:
    try:
        return not os.path.samestat(file.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
