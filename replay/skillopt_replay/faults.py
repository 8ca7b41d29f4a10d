"""What is said of a failed call, by services and by clients: one table, and pure functions over it."""

from __future__ import annotations

import re
from typing import NamedTuple

from skillopt_replay.rollouts import Fault


class _Row(NamedTuple):
    """How one fault is told. `codes` are compared in lower case, as a whole.

    `words` are a service's own, plain enough to go before a status. `hints` stand in what clients make of
    it, where a fault is only likely: they count when nothing better is known.
    """

    fault: Fault
    codes: frozenset[str] = frozenset()
    words: str = ""
    hints: str = ""


# In this order: an empty account is answered with 429 by some and 400 by others, a bad key with 403 or 400,
# and a token that could not be checked is no bad one.
_TABLE = (
    _Row(
        Fault.MONEY,
        frozenset(
            {
                "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error",
                "arrearage", "insufficient_balance", "allocationquota.freetieronly",
                "credit_balance_exhausted", "quota", "minimax 1008",
            }
        ),
        r"credit balance is too low|insufficient (?:account )?(?:balance|credit|funds)|out of credits"
        r"|insufficient[_ ]quota",
        r"credit balance|billing|usage limit|quota exceeded",
    ),
    _Row(
        Fault.NETWORK,
        hints=r"fetch failed|error sending request|lookup address|name does not resolve"
        r"|connection (?:failed|refused)|waiting for network|workspace routing",
    ),
    _Row(
        Fault.REFUSAL,
        frozenset(
            {
                "content_filter", "content_policy_violation", "responsibleaipolicyviolation",
                "invalid_prompt", "cyber_policy_violation", "data_inspection_failed",
                "datainspectionfailed", "minimax 1026", "minimax 1027",
            }
        ),
        r"content management policy|content[_ ]filter(?:ing)?|content[_ ]policy|violat\w+ our usage polic"
        r"|inappropriate content|safeguards flagged",
    ),
    _Row(
        Fault.MODEL,
        frozenset(
            {
                "model_not_found", "model_not_supported", "deploymentnotfound", "unknown_model",
                "model_not_exist", "model.accessdenied", "modelnotfound", "invalid_model",
            }
        ),
        r"model\b[^.\n]{0,80}?\b(?:not exist|not found|not supported when using|no longer available)"
        r"|unknown model|no such model|invalid model(?: name)?\b|do(?:es)? not have access to (?:the )?model",
    ),
    _Row(
        Fault.SIGN_IN,
        frozenset(
            {
                "invalid_api_key", "authentication_error", "permission_error", "invalid_authentication",
                "authentication", "authorization", "policy", "minimax 1004", "minimax 2049",
            }
        ),
        hints=r"invalid (?:x-)?api[- ]?key|authenticat|unauthori[sz]ed|not logged in|please run /login"
        r"|forbidden|oauth token|\b401\b",
    ),
    _Row(
        Fault.MODEL,
        hints=r"model[^.\n]{0,80}(?:not (?:supported|available)|unknown)|issue with the selected model",
    ),
    _Row(
        Fault.RATE,
        frozenset(
            {"rate_limit_error", "rate_limit_exceeded", "too_many_requests", "minimax 1002", "minimax 1039"}
        ),
        hints=r"rate[- _]?limit|too many requests|\b429\b",
    ),
    _Row(
        Fault.OVERLOAD,
        frozenset(
            {
                "overloaded_error", "server_overloaded", "api_error", "internal_server_error",
                "minimax 1000", "minimax 1001", "minimax 1013", "minimax 1024", "minimax 1033",
            }
        ),
        hints=r"overloaded|internal server error|bad gateway|service unavailable|high demand|at capacity"
        r"|\b5\d\d\b",
    ),
    _Row(
        Fault.CUT,
        hints=r"stream (?:closed|disconnected|ended|error)|cut off|premature|unexpected (?:end|EOF)"
        r"|incomplete",
    ),
    _Row(
        Fault.NETWORK,
        hints=r"connect|network|timed? ?out|ECONN|ENOTFOUND|dns|socket|unreachable",
    ),
)  # fmt: skip
_CODES = {code: row.fault for row in _TABLE for code in row.codes}
_WORDS = tuple((row.fault, re.compile(row.words, re.IGNORECASE)) for row in _TABLE if row.words)
_HINTS = tuple((row.fault, re.compile(row.hints, re.IGNORECASE)) for row in _TABLE if row.hints)
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
# A gateway that stopped waiting for a reply, or lost it, refused nothing: it may be paid for all the same.
GAVE_UP = frozenset({504, 520, 524})
_STATUS = re.compile(r"\bstatus:? (\d{3})\b")


def find_fault(status: int, code: str = "", message: str = "") -> Fault:
    """Return the fault behind a request that a service refused; status 0 when none came.

    What is wrong with the account or the request's content goes before the status: an empty account is told
    as 400, 402, 403 or 429. A request that is refused for its own sake gives REPLY.
    """
    named = name_fault(code) or _first(_WORDS, message)
    if named is not None and (_overrules(named, status) or status < 100):
        return named
    return _by_status(status) or Fault.REPLY


def guess_fault(status: int | str | None, said: str = "") -> Fault:
    """Return the fault behind a client's words; `status` is the HTTP status where it tells one.

    The same rules, and where they say nothing the words that clients use. What tells nothing gives CLIENT.
    """
    number = _to_number(status) or _to_number(found[1] if (found := _STATUS.search(said)) else None)
    fault = _first(_WORDS, said)
    if fault is not None and _overrules(fault, number):
        return fault
    hint = _first(_HINTS, said)
    if hint is Fault.MONEY:
        return hint
    return _by_status(number) or hint or (Fault.REPLY if 400 <= number < 500 else Fault.CLIENT)


def name_fault(code: str) -> Fault | None:
    """Return the fault that a service's or client's code stands for, None for one that is not known."""
    return _CODES.get(code.strip().lower())


def _overrules(fault: Fault, status: int) -> bool:
    """Whether it goes before the status: what is wrong with the account, and with what was asked."""
    return fault.permanent or (fault is Fault.REFUSAL and status not in _STATUSES)


def _by_status(status: int) -> Fault | None:
    return _STATUSES.get(status) or (Fault.OVERLOAD if status >= 500 else None)


def _first(patterns: tuple[tuple[Fault, re.Pattern[str]], ...], text: str) -> Fault | None:
    return next((fault for fault, pattern in patterns if pattern.search(text)), None)


def _to_number(status: int | str | None) -> int:
    text = str(status or "")
    return int(text) if text.isascii() and text.isdecimal() else 0
