"""Secrets known by where they stand: in SQL, netrc, pgpass, JWK, a docker configuration, a sentence, a hash."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from skillopt_harvesters.redact.headers import is_basic
from skillopt_harvesters.redact.marks import IS_MARK
from skillopt_harvesters.redact.values import Look, look_at
from skillopt_harvesters.redact.view import in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from skillopt_harvesters.redact.view import Edit, View

_QUOTED = r"\\{0,7}[\"'](?P<value>[^\"'\n\\]{3,256})"
_JSON = r"\\{0,7}\"\s{0,8}:\s{0,8}\\{0,7}\""


class _Place(NamedTuple):
    """Words of which one is in the text, the pattern around the value, and what the value must be."""

    words: tuple[str, ...]
    pattern: re.Pattern[str]
    accepts: Callable[[str], bool]
    kind: str


def _at_least(look: Look) -> Callable[[str], bool]:
    return lambda value: look_at(value) >= look


def _place(
    words: str, pattern: str, accepts: Callable[[str], bool], kind: str = "secret"
) -> _Place:
    return _Place(tuple(words.split("|")), re.compile(pattern, re.IGNORECASE), accepts, kind)


_PLACES = (
    _place(
        "identified|password",
        r"(?:IDENTIFIED(?: WITH \S{1,64})? (?:BY|USING|AS)|PASSWORD(?: FOR [^\s=]{1,64})?(?: = ?| )(?:PASSWORD ?\()?)"
        rf" ?(?:PASSWORD )?{_QUOTED}",
        _at_least(Look.NUMBER),
    ),
    _place(
        "securestring",
        rf"ConvertTo-SecureString (?:-String )?{_QUOTED}",
        _at_least(Look.NUMBER),
    ),
    _place(
        "machine",
        r"machine\s{1,8}\S{1,256}\s{1,8}login\s{1,8}\S{1,256}\s{1,8}password\s{1,8}(?P<value>\S{1,256})",
        _at_least(Look.CODE),
    ),
    _place(
        ":5432:|:*:|:5433:|:6432:",
        r"(?:^|\n)[\w.*-]{1,256}:(?:[0-9]{2,5}|\*):[\w*-]{1,128}:[\w*-]{1,128}:(?P<value>[^\s:]\S{2,256})",
        _at_least(Look.CODE),
    ),
    _place(
        "credential|creds|log in|login|sign in",
        r"(?:credentials?|creds|log ?in|sign ?in)(?: (?:is|are|as|with|using))?:? {1,4}"
        r"`?[\w.@+-]{2,64}`? ?[/:] ?`?(?P<value>[^\s`\"',;]{5,128})",
        _at_least(Look.NUMBERED),
    ),
    _place(
        "password|passphrase",
        r"(?:with|as|use|the|my) (?:the |my |our )?(?:password|passphrase) {1,2}(?P<value>[^\s`\"',;:.()]{5,128})",
        _at_least(Look.NUMBERED),
    ),
    _place(
        '"kty|kty\\',
        rf"\"(?:d|p|q|dp|dq|qi|k){_JSON}(?P<value>[\w-]{{16,4096}})",
        lambda value: look_at(value) >= Look.NUMBERED,
    ),
    _place(
        '"auth|_auth|auth\\',
        rf"(?:\"_?auth{_JSON}|\b_auth ?= ?[\"']?)(?P<value>[A-Za-z0-9+/]{{6,512}}={{0,2}})",
        is_basic,
        "authorization",
    ),
    _place(
        "requirepass|masterauth",
        r"(?:requirepass|masterauth)[ \t]{1,16}[\"']?(?P<value>[^\s\"']{4,256})",
        _at_least(Look.NUMBER),
    ),
    _place(
        "$",
        r"(?P<value>\$(?:2[abxy]|[1567y]|apr1|sha1|gy|argon2(?:id|i|d)|scrypt|s0|pbkdf2[\w-]{0,16})"
        r"\$[./A-Za-z0-9][./A-Za-z0-9$=,+-]{8,512})",
        lambda value: not IS_MARK.search(value),
        "password-hash",
    ),
    _place(
        "pbkdf2_|{ssha|{sha|scrypt:|pbkdf2:",
        r"(?P<value>(?:pbkdf2_\w{3,12}\$[0-9]{1,9}\$|\{s?sha[0-9]{0,3}\}|(?:scrypt|pbkdf2):[\w:]{1,40}\$)"
        r"[^\s\"'`,<>]{8,512})",
        lambda value: not IS_MARK.search(value),
        "password-hash",
    ),
)

_ANY_WORD = re.compile("|".join(re.escape(word) for place in _PLACES for word in place.words if word != "$"))


def find_in_places(view: View) -> Iterator[Edit]:
    """Find what the places of secrets hold, from left to right."""
    if "$" not in view.lowered and not _ANY_WORD.search(view.lowered):
        return
    found: list[Edit] = []
    for place in _PLACES:
        if any(word in view.lowered for word in place.words):
            found += (
                (*match.span("value"), place.kind)
                for match in place.pattern.finditer(view.plain)
                if place.accepts(match["value"])
            )
    yield from in_order(found)
