"""Why a model's service said no: pure functions over its status, code and message."""

from __future__ import annotations

import re

from skillopt_replay.rollouts import Fault

# How services name the same thing; compared in lower case, whatever stands around it.
_MONEY_CODES = frozenset(
    {
        "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error",
        "arrearage", "insufficient_balance", "allocationquota.freetieronly", "credit_balance_exhausted",
    }
)  # fmt: skip
_MONEY_WORDS = re.compile(
    r"credit balance is too low|insufficient (?:account )?(?:balance|credit|funds)|out of credits",
    re.IGNORECASE,
)
_MODEL_CODES = frozenset(
    {
        "model_not_found", "model_not_supported", "deploymentnotfound", "unknown_model", "model_not_exist",
        "model.accessdenied", "modelnotfound", "invalid_model",
    }
)  # fmt: skip
_MODEL_WORDS = re.compile(
    r"model\b[^.]{0,80}?\b(?:not exist|not found|not supported when using|no longer available)"
    r"|unknown model|no such model|invalid model(?: name)?\b|do(?:es)? not have access to (?:the )?model",
    re.IGNORECASE,
)
_SIGN_IN_CODES = frozenset(
    {"invalid_api_key", "authentication_error", "permission_error", "invalid_authentication"}
)
_RATE_CODES = frozenset({"rate_limit_error", "rate_limit_exceeded", "too_many_requests"})
_OVERLOAD_CODES = frozenset({"overloaded_error", "server_overloaded", "api_error", "internal_server_error"})
_STATUSES = {
    401: Fault.SIGN_IN,
    402: Fault.MONEY,
    403: Fault.SIGN_IN,
    404: Fault.MODEL,
    408: Fault.NETWORK,
    429: Fault.RATE,
    # What the server will never do, however often it is asked.
    501: Fault.REPLY,
    505: Fault.REPLY,
}


def find_fault(status: int, code: str = "", message: str = "") -> Fault:
    """Return the fault behind a refused request.

    What is wrong with the account goes before the status: an empty one is told as 400, 402, 403 or 429.
    A request that is refused for its own sake gives REPLY.
    """
    named = _by_code(code) or _by_words(message)
    if named is not None and (named.permanent or status < 100):
        return named
    return _STATUSES.get(status) or (Fault.OVERLOAD if status >= 500 else Fault.REPLY)


def _by_code(code: str) -> Fault | None:
    code = code.strip().lower()
    for codes, fault in (
        (_MONEY_CODES, Fault.MONEY),
        (_MODEL_CODES, Fault.MODEL),
        (_SIGN_IN_CODES, Fault.SIGN_IN),
        (_RATE_CODES, Fault.RATE),
        (_OVERLOAD_CODES, Fault.OVERLOAD),
    ):
        if code in codes:
            return fault
    return None


def _by_words(message: str) -> Fault | None:
    if _MONEY_WORDS.search(message):
        return Fault.MONEY
    return Fault.MODEL if _MODEL_WORDS.search(message) else None
