"""Secrets out of text, before anything is stored or sent."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

# Order matters: the specific kinds first, so that the mark says what it was.
# Beside each kind stand strings of which one must be in the text: a search for them is cheaper by far.
_PATTERNS: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = (
    (
        "private-key",
        ("PRIVATE KEY",),
        re.compile(
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?"
            r"(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
            re.DOTALL,
        ),
    ),
    ("jwt", ("eyJ",), re.compile(r"\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*)?")),
    (
        "github-token",
        ("gh", "github_pat_"),
        re.compile(r"(?:\bgh[pousr]_|\bgithub_pat_)[A-Za-z0-9_]{16,}"),
    ),
    ("gitlab-token", ("gl",), re.compile(r"\bgl(?:pat|dt|rt|cbt|ptt)-[A-Za-z0-9_.-]{16,}")),
    ("slack-token", ("xox", "xapp-"), re.compile(r"\bxox[a-z]-[A-Za-z0-9-]{8,}|\bxapp-[A-Za-z0-9-]{8,}")),
    (
        "slack-webhook",
        ("hooks.slack.com",),
        re.compile(r"https://hooks\.slack\.com/[A-Za-z/]*[A-Z0-9]{6,}/[A-Za-z0-9/]+"),
    ),
    (
        "aws-key",
        ("AKIA", "ASIA", "AGPA", "AIDA", "AROA", "ANPA"),
        re.compile(r"\b(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA)[A-Z0-9]{16}(?![A-Z0-9])"),
    ),
    ("google-key", ("AIza", "ya29."), re.compile(r"\bAIza[A-Za-z0-9_-]{30,}|\bya29\.[A-Za-z0-9_-]{20,}")),
    (
        "api-key",
        ("sk-", "sk_", "rk-", "rk_", "pk-", "pk_"),
        re.compile(r"(?<![A-Za-z0-9])[srp]k[-_](?:[A-Za-z]+[-_])*[A-Za-z0-9][A-Za-z0-9_-]{15,}"),
    ),
    (
        "twilio-key",
        ("SK", "AC"),
        re.compile(r"\b(?:SK|AC)[0-9a-f]{32}\b"),
    ),
    (
        "api-key",
        ("hf_", "npm_", "pypi-", "dop_v1_", "shpat_", "shpss_", "SG.", "sq0"),
        re.compile(r"\b(?:hf_|npm_|pypi-|dop_v1_|shp(?:at|ss)_|SG\.|sq0[a-z]{3}-)[A-Za-z0-9_.-]{16,}"),
    ),
)
_HEADER_WORDS = ("authorization", "bearer", "api-key")
_NAME_WORDS = ("pass", "pwd", "secret", "token", "key", "credential")
_URL_LOGIN = re.compile(r"(?P<scheme>\b[a-z][a-z0-9+.-]{1,20}://)(?P<login>[^\s/@\"'<>\[\]]+)@")
_HEADER = re.compile(
    r"(?P<name>\b(?:Proxy-)?Authorization[\"']?\s*[:=]\s*[\"']?(?:(?:Bearer|Basic|Token|Digest)\s+)?"
    r"|\bBearer\s+|\b(?:X-)?Api-Key[\"']?\s*:\s*[\"']?)(?P<value>[A-Za-z0-9+/=_.~:-]{8,})",
    re.IGNORECASE,
)
_ASSIGNMENT = re.compile(
    r"(?P<name>(?<![A-Za-z0-9])[A-Za-z0-9_.-]{0,40}?"
    r"(?:passw(?:or)?d|passphrase|passwd|passcode|pwd|secret(?:[_-]?(?:access)?[_-]?key)?|token|api[_-]?key|apikey"
    r"|access[_-]?key|auth[_-]?key|private[_-]?key|client[_-]?secret|credentials?)"
    r"[\"']?\s*(?:=>|:=|[:=])\s*)"
    r"(?:\"(?P<double>[^\"\n]{4,})\"|'(?P<single>[^'\n]{4,})'|(?P<bare>[^\s\"'`,;()<>{}\[\]$]{6,}))",
    re.IGNORECASE,
)
_FLAG = re.compile(
    r"(?P<name>--?(?:password|passwd|token|api-key|secret|auth-token|access-token)[ =]+)"
    r"(?P<value>[^\s\"'`$\[<-][^\s\"'`]{5,})",
    re.IGNORECASE,
)
# "the password is hunter2!": words alone could be prose ("the token is expired"), anything else is none.
_SPOKEN = re.compile(
    r"(?P<name>\b(?:password|passphrase|passwd|passcode|pwd|secret|token|api[ _-]?key)\s+"
    r"(?:is|was|to|=)\s+[\"'`]?)"
    r"(?P<value>(?=[^\s\"'`]*[^A-Za-z\s\"'`.,;:!?)-])[^\s\"'`,;()<>{}\[\]]{6,})",
    re.IGNORECASE,
)
_JOINED_FLAG = re.compile(
    r"(?P<name>\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|;&]*?\s-p)(?P<value>[^\s\[-][^\s]{3,})"
)
_EMAIL = re.compile(r"(?<![\w.+-])[A-Za-z0-9._%+-]+@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,24}\b(?!:)")
_NO_PERSON = re.compile(
    r"@(?:[\w-]+\.)*example\.(?:com|org|net)\Z|^(?:no-?reply|git)@|\.(?:local|test|invalid)\Z", re.I
)
_LONG = re.compile(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_=-]{20,}(?![A-Za-z0-9+/_=-])")
_WORDLIKE = re.compile(r"[A-Za-z]+|[0-9.]+\Z")
_NO_SECRETS_TEXT = (
    "string number boolean required optional undefined hidden secret password token changed "
    "missing invalid expired rotated incorrect protected"
)
_NO_SECRETS = frozenset(_NO_SECRETS_TEXT.split())
_DONE = re.compile(r"\[redacted:[a-z-]+\]")


def redact(text: str) -> str:
    """Return the text with every secret replaced by `[redacted:kind]`.

    Works on decoded strings. Redacting twice changes nothing more. Hashes, UUIDs, paths and prose stay.
    """
    if len(text) < 8:
        return text
    for kind, needles, pattern in _PATTERNS:
        if any(needle in text for needle in needles):
            text = pattern.sub(f"[redacted:{kind}]", text)
    if "://" in text:
        text = _URL_LOGIN.sub(_hide_login, text)
    lowered = text.lower()
    if any(word in lowered for word in _HEADER_WORDS):
        text = _HEADER.sub(_hide_header, text)
    if any(word in lowered for word in _NAME_WORDS):
        text = _ASSIGNMENT.sub(_hide_assignment, text)
        text = _FLAG.sub(r"\g<name>[redacted:secret]", text)
        text = _SPOKEN.sub(_hide_spoken, text)
    if "mysql" in lowered or "mariadb" in lowered:
        text = _JOINED_FLAG.sub(r"\g<name>[redacted:secret]", text)
    if "@" in text:
        text = _EMAIL.sub(_hide_email, text)
    return _LONG.sub(_hide_random, text)


def redact_within(text: str, limit: int) -> str:
    """Redact, then cut to `limit` characters. The cut comes last, so that no half of a secret is missed."""
    redacted = redact(text[: limit + 8192])
    return redacted if len(redacted) <= limit else redacted[: limit - 1] + "…"


def _hide_login(match: re.Match[str]) -> str:
    login = match["login"]
    if _DONE.search(login) or (":" not in login and len(login) < 20):
        return match[0]
    return f"{match['scheme']}[redacted:login]@"


def _hide_header(match: re.Match[str]) -> str:
    value = match["value"]
    # "Bearer authentication" is prose; a credential has a digit, or is long.
    if value.isalpha() and len(value) < 20:
        return match[0]
    return f"{match['name']}[redacted:authorization]"


def _hide_assignment(match: re.Match[str]) -> str:
    name = match["name"]
    quoted = match["double"] or match["single"]
    if quoted is not None:
        if _DONE.fullmatch(quoted):
            return match[0]
        mark = '"' if match["double"] else "'"
        return f"{name}{mark}[redacted:secret]{mark}"
    value = match["bare"]
    # "token: string" in a type and "password: required" in prose name no secret; "token = x.y" is code.
    if _DONE.match(value) or value.lower().rstrip(".") in _NO_SECRETS:
        return match[0]
    spaced = name[-1].isspace()
    if spaced and "pass" not in name.lower() and _is_plain(value):
        return match[0]
    return f"{name}[redacted:secret]"


def _hide_spoken(match: re.Match[str]) -> str:
    value = match["value"]
    # "the token is at src/auth.py" and "the api key is os.environ" point to a place.
    if _DONE.match(value) or _is_plain(value) or "/" in value or value.startswith(("$", "--")):
        return match[0]
    return f"{match['name']}[redacted:secret]"


def _is_plain(value: str) -> bool:
    parts = [part for part in re.split(r"[._/|?!:-]", value) if part]
    return bool(parts) and all(_WORDLIKE.fullmatch(part) for part in parts)


def _hide_email(match: re.Match[str]) -> str:
    return match[0] if _NO_PERSON.search(match[0]) else "[redacted:email]"


def _hide_random(match: re.Match[str]) -> str:
    return "[redacted:random]" if looks_random(match[0]) else match[0]


def looks_random(token: str) -> bool:
    """Tell a random token from an identifier, path or hash.

    Random means over 4.5 bits of entropy per character (or nearly the most its length allows), all three
    of lower case, upper case and digits, and a class that changes every other character: words and
    camelCase change it rarely, hex digits never reach the entropy.
    """
    if len(token) < 20:
        return False
    classes = [_class_of(character) for character in token]
    if not {"a", "A", "0"} <= set(classes):
        return False
    changes = sum(a != b for a, b in pairwise(classes)) / (len(token) - 1)
    if changes < 0.35:
        return False
    counts = Counter(token)
    entropy = -sum(n / len(token) * math.log2(n / len(token)) for n in counts.values())
    return entropy > min(4.5, 0.88 * math.log2(len(token)))


def _class_of(character: str) -> str:
    if character.isdigit():
        return "0"
    if character.islower():
        return "a"
    return "A" if character.isupper() else character
