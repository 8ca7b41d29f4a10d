"""What a quick command may not load."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from skillopt_sleep.paths import locate
from skillopt_sleep.store.database import connect

HEAVY = (
    "textual git apscheduler watchdog asyncio httpx2 openai anthropic mcp distributed numpy jsonschema"
    " skillopt_harvesters tomlkit filelock"
).split()


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["status"], ["status", "--json"], ["status", "--help"], ["night", "--help"]],
    ids=" ".join,
)
def test_status_and_help_load_nothing_heavy(arguments: list[str]):
    connect(locate().database).close()
    code = (
        "import sys; from skillopt_sleep.cli import app\n"
        "try: app(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        f"loaded = sorted({set(HEAVY)!r} & set(sys.modules))\n"
        "sys.stderr.write(repr(loaded))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    )
    assert done.stdout
    assert done.stderr == "[]"
