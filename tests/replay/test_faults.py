"""What a service says about a failed call, itself or through a client, sorted by one table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_replay.faults import find_fault, guess_fault, name_fault
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
        (403, "The model `gpt-nope` does not exist", Fault.MODEL),
        ("429", "", Fault.RATE),
        (None, "exceeded retry limit, last status: 429 Too Many Requests", Fault.RATE),
        (529, "Overloaded", Fault.OVERLOAD),
        (None, "API Error: 500 Internal server error", Fault.OVERLOAD),
        (None, "unexpected status 503 Service Unavailable", Fault.OVERLOAD),
        (None, "stream disconnected before completion", Fault.CUT),
        (None, "failed to lookup address information", Fault.NETWORK),
        (None, "Unable to connect to API (ECONNREFUSED)", Fault.NETWORK),
        (None, "request timed out", Fault.NETWORK),
        (501, "", Fault.REPLY),
        (400, "messages: roles must alternate", Fault.REPLY),
        (400, "Invalid prompt: flagged as potentially violating our usage policy", Fault.REFUSAL),
        (401, "your account was closed for violating our usage policies", Fault.SIGN_IN),
        (None, "Segmentation fault", Fault.CLIENT),
        ("weird", "", Fault.CLIENT),
    ],
)
def test_status_and_words_of_a_client_tell_the_fault(status, said, fault):
    assert guess_fault(status, said) is fault


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
        (400, "content_filter", "The response was filtered", Fault.REFUSAL),
        (400, "", "triggering Azure OpenAI's content management policy", Fault.REFUSAL),
        (0, "minimax 1008", "insufficient balance", Fault.MONEY),
        (0, "minimax 1026", "input is sensitive", Fault.REFUSAL),
    ],
)
def test_a_refused_request_has_one_fault_whatever_the_service_calls_it(status, code, message, fault):
    assert find_fault(status, code, message) is fault


@given(st.integers(0, 999), st.text(max_size=30), st.text(max_size=300))
def test_whatever_is_said_has_a_fault(status, code, message):
    assert isinstance(find_fault(status, code, message), Fault)
    assert isinstance(guess_fault(status, message), Fault)


@given(st.sampled_from([400, 401, 402, 403, 404, 408, 429, 500, 501, 503, 529]), st.booleans())
def test_a_status_means_the_same_from_a_service_and_from_a_client(status, as_words):
    said = guess_fault(None, f"last status: {status}") if as_words else guess_fault(status)
    assert said is find_fault(status)


@pytest.mark.parametrize(
    "message",
    ["Your credit balance is too low", "no such model", "blocked by the content management policy"],
)
def test_a_services_plain_words_mean_the_same_through_a_client(message):
    assert guess_fault(400, message) is find_fault(400, message=message)


def test_a_code_is_known_in_any_case_and_as_a_whole_only():
    assert name_fault(" Insufficient_Quota ") is Fault.MONEY
    assert name_fault("insufficient") is None


def test_only_what_waiting_does_not_mend_is_permanent():
    assert {fault for fault in Fault if fault.permanent} == {
        Fault.SIGN_IN,
        Fault.MODEL,
        Fault.MONEY,
        Fault.REPLACED,
        Fault.ABSENT,
    }
