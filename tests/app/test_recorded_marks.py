"""`tasks` tells how the recorded session fared with each check."""

from __future__ import annotations

import json

from tests.app.conftest import Sleeper


def test_a_check_that_the_recorded_session_failed_is_marked(sleeper: Sleeper):
    sleeper.work()
    sleeper.sleep("harvest")
    tasks = json.loads(sleeper.sleep("tasks", "--json"))
    checks = [check for task in tasks for check in task["checks"]]
    assert checks
    assert {check["met_before"] for check in checks} == {False}
    assert all(check["origin"]["quote"] for check in checks)
    assert "(failed by the recorded session)" in sleeper.sleep("tasks")
