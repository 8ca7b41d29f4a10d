"""Which fault stands behind what services say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_replay.models.faults import find_fault
from skillopt_replay.rollouts import Fault


@pytest.mark.parametrize(
    ("status", "code", "message", "fault"),
    [
        (401, "invalid_api_key", "Incorrect API key provided", Fault.SIGN_IN),
        (403, "", "Forbidden", Fault.SIGN_IN),
        (403, "model_not_found", "Project does not have access to model `gpt-x`", Fault.MODEL),
        (404, "not_found_error", "model: claude-x", Fault.MODEL),
        (404, "DeploymentNotFound", "The API deployment for this resource does not exist.", Fault.MODEL),
        (400, "invalid_request_error", "Model Not Exist", Fault.MODEL),
        (404, "api_error", 'model "qwen9" not found, try pulling it first', Fault.MODEL),
        (429, "insufficient_quota", "You exceeded your current quota", Fault.MONEY),
        (402, "invalid_request_error", "Insufficient Balance", Fault.MONEY),
        (400, "invalid_request_error", "Your credit balance is too low to access the API", Fault.MONEY),
        (400, "Arrearage", "Access denied", Fault.MONEY),
        (403, "AllocationQuota.FreeTierOnly", "The free tier is used up", Fault.MONEY),
        (429, "rate_limit_exceeded", "Slow down", Fault.RATE),
        (500, "", "", Fault.OVERLOAD),
        (529, "overloaded_error", "Overloaded", Fault.OVERLOAD),
        (408, "", "", Fault.NETWORK),
        (400, "context_length_exceeded", "too long", Fault.REPLY),
        (0, "", "authentication failed", Fault.REPLY),
        (0, "overloaded_error", "", Fault.OVERLOAD),
    ],
)
def test_a_refusal_has_one_fault_whatever_the_service_calls_it(status, code, message, fault):
    assert find_fault(status, code, message) is fault


@given(st.integers(0, 999), st.text(max_size=30), st.text(max_size=300))
def test_any_refusal_has_a_fault(status, code, message):
    assert isinstance(find_fault(status, code, message), Fault)
