"""Two runs never work at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

import pytest

from skillopt_sleep.errors import Busy
from skillopt_sleep.holder import find_at_work
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


HOLD_BEFORE_NOTING = """
import sys
from pathlib import Path
from filelock import FileLock
from skillopt_sleep.paths import locate, make_private
lock = locate().lock
make_private(lock.parent)
with FileLock(str(lock)):
    print("held", flush=True)
    sys.stdin.readline()
    if sys.argv[1] == "note":
        lock.with_suffix(".json").write_text('{"what": "run", "pid": 7, "since": "today"}')
        sys.stdin.readline()
"""


@pytest.mark.parametrize("then", ["note", "leave"])
def test_a_holder_that_has_not_written_its_note_yet_is_waited_for_a_moment(then: str):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_BEFORE_NOTING, then],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        go_on = threading.Timer(0.3, lambda: (other.stdin.write("\n"), other.stdin.flush()))
        go_on.start()
        if then == "note":
            with pytest.raises(Busy, match=r"run \(pid 7, since today\)"), hold(locate(), "harvest"):
                pass
            other.stdin.write("\n")
        else:
            with hold(locate(), "harvest"):
                pass
        go_on.join()


def test_a_note_older_than_the_process_that_has_its_pid_now_tells_of_nobody_at_work():
    note = locate().lock.with_suffix(".json")
    with hold(locate(), "run"):
        assert find_at_work(locate(), "run").startswith(f"run (pid {os.getpid()}, since ")
        assert find_at_work(locate(), "train") == ""
        told = json.loads(note.read_text())
        for since in ("2020-01-01T00:00:00Z", "yesterday", ""):
            note.write_text(json.dumps({**told, "since": since}))
            assert find_at_work(locate(), "run") == ""
    assert find_at_work(locate(), "run") == ""
