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
_SIGN_IN_WORDS = re.compile(
    r"(?:invalid|incorrect|wrong|no|missing) api.?key|not logged in|please (?:log|sign) in"
    r"|run /login|oauth token (?:has )?expired|authentication[_ ](?:failed|error)",
    re.IGNORECASE,
)
_RATE_CODES = frozenset({"rate_limit_error", "rate_limit_exceeded", "too_many_requests"})
_OVERLOAD_CODES = frozenset({"overloaded_error", "server_overloaded", "api_error", "internal_server_error"})
_OVERLOAD_WORDS = re.compile(
    r"overloaded|high demand|service unavailable|internal server error", re.IGNORECASE
)
_RATE_WORDS = re.compile(r"rate.?limit|too many requests|usage limit|hit your limit", re.IGNORECASE)
_NETWORK_WORDS = re.compile(
    r"connection (?:error|refused|reset|closed)|econn(?:refused|reset)|enotfound|could not connect"
    r"|unable to connect|getaddrinfo|timed? ?out|network error|error sending request",
    re.IGNORECASE,
)
_STATUSES = {
    401: Fault.SIGN_IN,
    402: Fault.MONEY,
    403: Fault.SIGN_IN,
    404: Fault.MODEL,
    408: Fault.NETWORK,
    429: Fault.RATE,
}


def find_fault(status: int, code: str = "", message: str = "") -> Fault:
    """Return the fault behind a refused request.

    What is wrong with the account goes before the status: an empty one is told as 400, 402, 403 or 429.
    A request that is refused for its own sake gives REPLY.
    """
    named = _by_code(code) or _by_words(message, permanent_only=True)
    if named is not None and (named.permanent or status < 100):
        return named
    return _STATUSES.get(status) or (Fault.OVERLOAD if status >= 500 else Fault.REPLY)


def guess_fault(message: str) -> Fault | None:
    """Return the fault that a client's words tell of, None when they tell of none.

    For programs that pass on no status. A number of three digits that follows "status", "error" or "HTTP"
    counts as one.
    """
    found = re.search(r"(?:status|error|http)\D{0,12}\b([45]\d\d)\b", message, re.IGNORECASE)
    if found:
        return find_fault(int(found[1]), message=message)
    return _by_words(message, permanent_only=False)


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


def _by_words(message: str, *, permanent_only: bool) -> Fault | None:
    table = [(_MONEY_WORDS, Fault.MONEY), (_MODEL_WORDS, Fault.MODEL)]
    if not permanent_only:
        table += [
            (_SIGN_IN_WORDS, Fault.SIGN_IN),
            (_RATE_WORDS, Fault.RATE),
            (_OVERLOAD_WORDS, Fault.OVERLOAD),
            (_NETWORK_WORDS, Fault.NETWORK),
        ]
    return next((fault for words, fault in table if words.search(message)), None)
