"""Commands that work when they are pasted into the shell this program was started from."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from pathlib import Path

from skillopt_sleep.paths import HOME_VARIABLE, locate

NAME = "skillopt-sleep"
_NAMED = re.compile(rf"(?<![\w/.-]){NAME}(?= [a-z])")
# Commands after a colon, up to the end.
_ENDING = re.compile(rf"(?<=: )({NAME} [^;]+(?:; {NAME} [^;]+)*)$")


def call(words: str, *, home: Path | None = None) -> str:
    """Return the line that calls this program with these words, with the home in force or `home`."""
    return f"{_begin(home)} {words}"


def spell_out(text: str) -> str:
    """Return a text of ours in which every `skillopt-sleep ...` is written as `call` writes it."""
    begin = _begin()
    return _NAMED.sub(lambda _: begin, text)


def split_commands(text: str) -> tuple[str, list[str]]:
    """Return a hint's words and the commands it ends with, if it does: `say so: skillopt-sleep a; ...`."""
    found = _ENDING.search(text)
    if found is None:
        return spell_out(text), []
    return spell_out(text[: found.start(1)].rstrip()), [spell_out(one) for one in found[1].split("; ")]


def _begin(home: Path | None = None) -> str:
    if home is None and os.environ.get(HOME_VARIABLE):
        home = locate().data
    return f"{HOME_VARIABLE}={shlex.quote(str(home))} {_name_program()}" if home else _name_program()


def _name_program() -> str:
    if shutil.which(NAME):
        return NAME
    started = Path(sys.argv[0])
    if started.parts[-2:] == ("skillopt_sleep", "__main__.py"):
        return f"{shlex.quote(sys.executable)} -m skillopt_sleep"
    if started.name != NAME:
        return NAME
    return shlex.quote(os.path.relpath(started) if started.is_relative_to(Path.cwd()) else str(started))
