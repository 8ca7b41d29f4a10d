"""A night that is killed at random points, over and over, loses nothing and pays for nothing twice.

SKILLOPT_TEST_KILLS says how often it is killed; it is a few times where nobody says.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter

from skillopt_sleep.paths import locate
from skillopt_sleep.store.database import connect
from tests.app.conftest import Sleeper
from tests.app.test_night import outcome
from tests.support.chat_server import ChatModel

KILLS = int(os.environ.get("SKILLOPT_TEST_KILLS", "4"))
SLOTS = 2


def test_a_night_killed_again_and_again_ends_as_an_undisturbed_one_and_its_ledger_has_every_request(
    sleeper: Sleeper, model: ChatModel
):
    sleeper.work()
    undisturbed = sleeper.night()
    alone = Counter(request.key for request in model.requests)
    assert max(alone.values()) == 1
    forget(sleeper, model)

    chance = random.Random(20260502)
    kills = 0
    # So slow that a night lasts for many kills.
    pace = 0.01
    model.hangs = lambda request: bool(time.sleep(pace))
    while kills < KILLS:
        child = sleeper.start("run", "--json")
        try:
            wait_until(len(model.requests) + chance.randrange(0, 4), model, child)
            time.sleep(chance.uniform(0, 4 * pace))
            ended = child.poll() is not None
            if not ended:
                os.killpg(child.pid, signal.SIGKILL)
        finally:
            child.communicate()
        kills += not ended
        check_ledger(model, kills)
        if ended:
            # It came to its end before the number was full: another one begins.
            forget(sleeper, model)
    model.hangs = lambda request: False
    report = sleeper.night() if is_unfinished() else undisturbed
    assert outcome(report) == outcome(undisturbed)
    check_ledger(model, kills)


def wait_until(number: int, model: ChatModel, child) -> None:
    deadline = time.monotonic() + 60
    while len(model.requests) <= number and child.poll() is None:
        assert time.monotonic() < deadline, "the night never came so far"
        time.sleep(0.002)


def is_unfinished() -> bool:
    connection = connect(locate().database)
    try:
        return connection.execute("select count(*) from nights where state = 'running'").fetchone()[0] > 0
    finally:
        connection.close()


def check_ledger(model: ChatModel, kills: int) -> None:
    """Hold the ledger against what the server was asked."""
    connection = connect(locate().database)
    try:
        rows = connection.execute("select key, state from calls").fetchall()
    finally:
        connection.close()
    asked = Counter(request.key for request in model.requests)
    done = sum(row["state"] == "done" for row in rows)
    assert sum(asked.values()) <= len(rows), "every request is in the ledger, before it is made"
    assert done <= len(asked)
    # Only what was under way when it was killed can have been asked for again.
    assert sum(asked.values()) - len(asked) <= SLOTS * kills
    assert sum(asked.values()) - done <= SLOTS * (kills + 1)


def forget(sleeper: Sleeper, model: ChatModel) -> None:
    from tests.conftest import git

    for ref in git(
        sleeper.project, "for-each-ref", "--format=%(refname)", "refs/heads/skillopt/"
    ).splitlines():
        git(sleeper.project, "update-ref", "-d", ref)
    for path in locate().data.glob("state.db*"):
        path.unlink()
    model.requests.clear()
    model.answered.clear()
    model.trained_on.clear()
