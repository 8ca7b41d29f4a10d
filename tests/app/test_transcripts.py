"""A run as the reviewer reads it."""

from __future__ import annotations

from skillopt_replay.rollouts import Called, CheckResult, Outcome, Rollout, RolloutCall, Said, make_score
from skillopt_sleep.night.transcripts import LONGEST, tell_runs


def run(**changes) -> Rollout:
    values = {
        "task": "t", "skill": "", "agent": "a", "model": "m", "outcome": Outcome.FINISHED, "answer": "Done.",
        "score": make_score([CheckResult(True, "ok")]),
    }  # fmt: skip
    return Rollout(**values | changes)


def test_steps_come_in_order_with_what_commands_said_and_the_answer_last():
    calls = (
        RolloutCall("Bash", command="make check", exit_code=2, output="1 failed"),
        RolloutCall("Edit", error="no such file"),
        RolloutCall("Bash", command="make check", exit_code=0),
    )
    steps = (Said("First the tests."), Called(0), Called(1), Said("Again."), Called(2), Said("Done."))
    assert tell_runs([run(calls=calls, steps=steps, diff="+new\n")]).split("\n") == [
        "First the tests.", "$ make check  (exit code 2)", "1 failed", "[Edit]  failed: no such file",
        "Again.", "$ make check", "Done.", "", "changed:", "+new",
    ]  # fmt: skip


def test_without_steps_the_calls_are_told_and_a_run_without_a_score_says_why():
    assert tell_runs([run(calls=(RolloutCall("Bash", command="ls"),))]) == "$ ls\nDone."
    lost = run(score=None, outcome=Outcome.INFRASTRUCTURE, error="the service is down")
    assert tell_runs([lost]) == "(no valid run: the service is down)"
    assert tell_runs([lost, run()]) == "Done."
    assert tell_runs([]) == ""


def test_a_long_run_loses_its_middle():
    told = tell_runs([run(answer="start " + "x" * 100_000 + " end")])
    assert len(told) < LONGEST + 100
    assert told.startswith("start ")
    assert told.endswith(" end")
    assert "characters left out" in told
