"""Tells what the end of a client's run means: a result, a limit, or an infrastructure that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from skillopt_replay.faults import guess_fault
from skillopt_replay.rollouts import Fault, Outcome
from skillopt_replay.sandbox.launching import find_failure

if TYPE_CHECKING:
    from skillopt_replay.agents.traces import Reading
    from skillopt_replay.process import Finished
    from skillopt_replay.protocols import Limits

_SILENT_SHARE = 0.5
_SLOW = 5.0  # seconds in which any client may be silent
_SIGNALLED = 128  # and the signal's number: what a sandbox makes of a program that was killed


class Judge(Protocol):
    """Tells a failed run from a failed infrastructure."""

    def __call__(
        self, program: str, finished: Finished, reading: Reading, limits: Limits
    ) -> tuple[Outcome, str | None, Fault | None]: ...


def conclude(
    program: str, finished: Finished, reading: Reading, limits: Limits
) -> tuple[Outcome, str | None, Fault | None]:
    """Tell a failed run from a failed infrastructure.

    A result that came counts, whatever came after; but who was killed by another than us need not have said
    it, since a tool that a client runs can write in its name, and end it.
    """
    if reading.outcome is not None and not _was_killed(finished):
        return _accept(reading, reading.outcome)
    if finished.timed_out:
        # What thinks for long is slow, which counts against the run; what is silent for most of it hangs.
        hangs = reading.idle and reading.silent_s >= max(limits.seconds * _SILENT_SHARE, _SLOW)
        if reading.waiting_for_service or hangs:
            error = f"no reply from the service within {limits.seconds:g} s"
            return Outcome.INFRASTRUCTURE, error, reading.fault or Fault.NETWORK
        return Outcome.LIMIT, f"stopped after {limits.seconds:g} s", None
    if finished.excess:
        return Outcome.LIMIT, f"stopped: {finished.excess}", None
    if finished.flooded:
        return _flooded(reading)
    return _crashed(program, finished, reading)


def _was_killed(finished: Finished) -> bool:
    ended = finished.timed_out or finished.flooded or finished.stopped or finished.excess
    return not ended and (finished.returncode < 0 or finished.returncode > _SIGNALLED)


def _flooded(reading: Reading) -> tuple[Outcome, str | None, Fault | None]:
    if not reading.idle:
        # A tool was under way, or the program is the agent itself: output without end is its doing.
        return Outcome.LIMIT, "stopped: output without end", None
    return Outcome.INFRASTRUCTURE, "the client wrote without end and was stopped", Fault.CLIENT


def _accept(reading: Reading, outcome: Outcome) -> tuple[Outcome, str | None, Fault | None]:
    if outcome is Outcome.FINISHED and not reading.answer.strip() and not reading.calls:
        return Outcome.INFRASTRUCTURE, "the model said nothing and did nothing", Fault.REPLY
    fault = (reading.fault or Fault.CLIENT) if outcome is Outcome.INFRASTRUCTURE else None
    return outcome, reading.error, fault


def _crashed(program: str, finished: Finished, reading: Reading) -> tuple[Outcome, str | None, Fault | None]:
    broken = find_failure(finished.stderr) if finished.returncode != 0 else None
    if broken:
        return Outcome.INFRASTRUCTURE, f"the sandbox failed: {broken[:300]}", Fault.SANDBOX
    said = reading.error or finished.stderr.strip()[-500:] or "it wrote nothing on the error channel"
    result = "no result" if reading.outcome is None else "a result that may be another's"
    error = f"{program} ended with {finished.returncode} and {result}: {said}"
    return Outcome.INFRASTRUCTURE, error, reading.fault or guess_fault(None, said)
