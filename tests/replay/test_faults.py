"""What a service says about a failed call, sorted."""

from __future__ import annotations

import pytest

from skillopt_replay.agents.faults import fault_of
from skillopt_replay.rollouts import Fault


@pytest.mark.parametrize(
    ("status", "said", "fault"),
    [
        (401, "invalid x-api-key", Fault.SIGN_IN),
        (None, "Invalid API key · Please run /login", Fault.SIGN_IN),
        (403, "", Fault.SIGN_IN),
        (400, "Your credit balance is too low", Fault.MONEY),
        (429, "You exceeded your current quota: insufficient_quota", Fault.MONEY),
        (404, "model: claude-nope", Fault.MODEL),
        (None, "The model `gpt-nope` does not exist or you do not have access", Fault.MODEL),
        ("429", "", Fault.RATE),
        (None, "exceeded retry limit, last status: 429 Too Many Requests", Fault.RATE),
        (529, "Overloaded", Fault.OVERLOAD),
        (None, "API Error: 500 Internal server error", Fault.OVERLOAD),
        (None, "stream disconnected before completion", Fault.CUT),
        (None, "Unable to connect to API (ECONNREFUSED)", Fault.NETWORK),
        (None, "request timed out", Fault.NETWORK),
        (None, "Segmentation fault", Fault.CLIENT),
        ("weird", "", Fault.CLIENT),
    ],
)
def test_status_and_words_tell_the_fault(status, said, fault):
    assert fault_of(status, said) is fault


def test_only_what_waiting_does_not_mend_is_permanent():
    assert {fault for fault in Fault if fault.permanent} == {Fault.SIGN_IN, Fault.MODEL, Fault.MONEY}
