"""Searches with a regular expression that may be a bad one, within a time limit."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from skillopt_replay import process
from skillopt_replay.errors import ReplayError

SECONDS = 5.0

# Runs apart because nothing inside a process can stop a search that backtracks for hours.
_SEARCH = (
    "import json, re, sys\n"
    "pattern, text = json.load(sys.stdin)\n"
    "try:\n"
    "    found = re.search(pattern, text, re.MULTILINE) is not None\n"
    "except (re.error, OverflowError, RecursionError) as error:\n"
    "    print('invalid', error)\n"
    "else:\n"
    "    print('found' if found else 'missing')\n"
)


class PatternFailed(ReplayError):
    """The pattern is not a regular expression, or takes too long on this text."""


async def search(pattern: str, text: str, *, seconds: float = SECONDS) -> bool:
    """Return whether `pattern` matches somewhere in `text`; ^ and $ match at line ends.

    Raises PatternFailed, and ReplayError when it was killed by another.
    """
    finished = await process.run(
        [sys.executable, "-I", "-S", "-c", _SEARCH],
        cwd=Path("/"),
        env={"PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1"},
        seconds=seconds,
        stdin=msgspec.json.encode([pattern, text]),
    )
    if finished.timed_out:
        raise PatternFailed(f"the pattern takes more than {seconds:g} s on this answer")
    if finished.returncode < 0:
        # By the system, and not by the pattern: nobody knows whether it matches.
        raise ReplayError(f"the search was killed by signal {-finished.returncode}")
    word, _, rest = finished.stdout.strip().partition(" ")
    if word == "invalid":
        raise PatternFailed(f"the pattern is not a regular expression: {rest}")
    if word not in ("found", "missing"):
        raise PatternFailed(f"the search failed: {finished.stderr.strip()[-200:]}")
    return word == "found"
