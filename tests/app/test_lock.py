"""Two runs never work at once."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from skillopt_sleep.errors import Busy
from skillopt_sleep.lock import hold, hold_decisions
from skillopt_sleep.paths import locate

HOLD = """
import sys, time
from skillopt_sleep.lock import hold
from skillopt_sleep.paths import locate
with hold(locate(), "run"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_run_is_told_who_works_and_a_dead_one_does_not_block():
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "held\n"
    with pytest.raises(Busy, match=rf"run \(pid {other.pid}") as caught, hold(locate(), "harvest"):
        pass
    assert caught.value.exit_code == 75
    with hold_decisions(locate(), "apply"):
        pass  # a night takes hours: the user decides all the same
    other.kill()
    other.wait()
    other.stdout.close()
    with hold(locate(), "harvest"):
        pass
