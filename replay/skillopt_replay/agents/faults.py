"""Sorts what a service or a client says about a failed call: pure functions over status and words."""

from __future__ import annotations

import re

from skillopt_replay.rollouts import Fault

# In this order: an empty account is answered with 429 by some and 400 by others, a bad key with 403 or 400,
# and a token that could not be checked is no bad one.
_WORDS = (
    (Fault.MONEY, r"insufficient[_ ]quota|credit balance|billing|usage limit|quota exceeded|out of credits"),
    (Fault.NETWORK, r"fetch failed|error sending request"),
    (Fault.SIGN_IN, r"invalid (?:x-)?api[- ]?key|authenticat|unauthori[sz]ed|not logged in|please run /login|"
     r"forbidden|oauth token|\b401\b"),
    (Fault.MODEL, r"model[^.\n]{0,80}(?:not (?:found|exist|supported|available)|does not exist|unknown)|"
     r"(?:unknown|invalid|no such) model|issue with the selected model"),
    (Fault.RATE, r"rate[- _]?limit|too many requests|\b429\b"),
    (Fault.OVERLOAD, r"overloaded|internal server error|bad gateway|service unavailable|high demand|"
     r"at capacity|\b5\d\d\b"),
    (Fault.CUT, r"stream (?:closed|disconnected|ended|error)|cut off|premature|unexpected (?:end|EOF)|"
     r"incomplete"),
    (Fault.NETWORK, r"connect|network|timed? ?out|ECONN|ENOTFOUND|dns|socket|unreachable"),
)  # fmt: skip
_PATTERNS = tuple((fault, re.compile(words, re.IGNORECASE)) for fault, words in _WORDS)
_STATUSES = {401: Fault.SIGN_IN, 402: Fault.MONEY, 403: Fault.SIGN_IN, 404: Fault.MODEL, 429: Fault.RATE}


def fault_of(status: int | str | None, said: str = "") -> Fault:
    """Return the fault for an HTTP status (None: not told) and what was said with it.

    Words about money come before the status, because an empty account is not told by it.
    """
    number = int(str(status)) if str(status or "").isdecimal() else None
    if _PATTERNS[0][1].search(said):
        return Fault.MONEY
    if number in _STATUSES:
        return _STATUSES[number]
    if number is not None and number >= 500:
        return Fault.OVERLOAD
    return next((fault for fault, pattern in _PATTERNS if pattern.search(said)), Fault.CLIENT)
