"""Our command as a shell would run it, but in this process: a start of Python costs more than most calls."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import pytest

import skillopt_sleep
from skillopt_sleep.cli import main

_PROGRAM = str(Path(skillopt_sleep.__file__).with_name("__main__.py"))


def run_command(
    *arguments: str, env: Mapping[str, str | None] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command with its outputs in pipes and nothing to read, and return what came of it.

    `env` changes the environment; a value of None takes the variable away. A zone in TZ is in force
    meanwhile. An error that would end a process with a traceback is raised.
    """
    output, errors = _pipe(), _pipe()
    with _environment(env or {}), Path(os.devnull).open(encoding="utf-8") as nothing:
        with (
            mock.patch.object(sys, "argv", [_PROGRAM, *arguments]),
            mock.patch.object(sys, "stdin", nothing),
            redirect_stdout(output),
            redirect_stderr(errors),
        ):
            code = _call_main()
        return subprocess.CompletedProcess([*arguments], code, _read(output), _read(errors))


def _pipe() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _read(pipe: io.TextIOWrapper) -> str:
    pipe.seek(0)
    return pipe.read()


def _call_main() -> int:
    with pytest.raises(SystemExit) as end:
        main()
    assert isinstance(end.value.code, int), end.value.code
    return end.value.code


@contextmanager
def _environment(changes: Mapping[str, str | None]) -> Iterator[None]:
    try:
        with mock.patch.dict(os.environ):
            for name, value in changes.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
            time.tzset()
            yield
    finally:
        time.tzset()
