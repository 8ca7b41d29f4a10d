"""Credentials in HTTP headers: Authorization, Bearer and cookies."""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING

from skillopt_harvesters.redact.marks import IS_MARK
from skillopt_harvesters.redact.values import Look, look_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillopt_harvesters.redact.joints import Joint
    from skillopt_harvesters.redact.view import Edit

_OPENING = re.compile(r"(?:[rbfu]?\\{0,63}[\"'`]|%2[27]|&quot;)?\s{0,4}(?:(?:f|`)?)")
_QUOTE = re.compile(r"\\{0,63}[\"'`]")
_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9-]{1,24})(?:[ \t]{1,8}|%20|\+|\\{1,63}t|=)(?=[^\s=])")
_BEARER_GAP = re.compile(
    r"(?:[ \t]{1,8}|%20|\+|[\"']?[ \t]{0,4}[:=,][ \t]{0,4}|\\{1,63}t)(?:\\{0,63}[\"'`])?"
)
_CREDENTIAL = re.compile(r"[A-Za-z0-9+/=_.~:%!|@*-]{6,16384}")
_PARAMETERS = re.compile(r"[^\n'`]{1,4096}")
_COOKIES = re.compile(r"[^\s;=\"'`\\]{1,128}=(?P<value>[^\n\"'`]{3,8192})")


def read_authorization(plain: str, joint: Joint) -> Edit | None:
    """Read the credentials of an Authorization header, which may come after the name of a scheme."""
    begin = _after(_OPENING, plain, joint.begin)
    scheme = _SCHEME.match(plain, begin)
    if scheme:
        name = scheme["scheme"].lower()
        if name in {"digest", "oauth", "hawk", "mac", "hmac", "signature"} or name.startswith("aws4-"):
            parameters = _PARAMETERS.match(plain, scheme.end())
            if parameters is None or "=" not in parameters[0][:400]:
                return None
            return (scheme.end(), parameters.end(), "authorization")
        if name == "basic":
            return _read_credential(plain, scheme.end(), is_basic)
        return _read_credential(plain, scheme.end(), _is_token)
    if not joint.assigns:
        return None
    return _read_credential(plain, begin, _is_token)


def read_bearer(plain: str, end: int) -> Edit | None:
    """Read what follows the word Bearer, wherever it stands."""
    gap = _BEARER_GAP.match(plain, end)
    return _read_credential(plain, gap.end(), _is_token) if gap else None


def read_cookie(plain: str, joint: Joint) -> Edit | None:
    """Read the cookies of a header, a flag or a quoted assignment: all that follows, names and values."""
    begin = joint.begin
    opening = _QUOTE.match(plain, begin)
    if opening:
        begin = opening.end()
    joined = joint.assigns or joint.kind in {"space", "call", "pair", "comma"}
    if not joined or not (opening or joint.kind == ":"):
        return None
    cookies = _COOKIES.match(plain, begin)
    if cookies is None or IS_MARK.match(plain, begin):
        return None
    value = cookies["value"].strip()
    if ";" not in value and (len(value) < 6 or look_at(value) <= Look.CODE or IS_MARK.fullmatch(value)):
        return None
    end = cookies.end()
    return (begin, end - (len(cookies[0]) - len(cookies[0].rstrip("\\ "))), "cookie")


def _after(pattern: re.Pattern[str], plain: str, begin: int) -> int:
    match = pattern.match(plain, begin)
    return match.end() if match else begin


def _read_credential(plain: str, begin: int, accepts: Callable[[str], bool]) -> Edit | None:
    credential = _CREDENTIAL.match(plain, begin)
    if credential is None:
        return None
    text = credential[0].rstrip(".:")
    if plain.startswith(("(", "["), begin + len(text)) or not accepts(text):
        return None
    return (begin, begin + len(text), "authorization")


def _is_token(text: str) -> bool:
    """Tell a credential, which has a digit or is long, from prose: "Bearer authentication"."""
    return look_at(text) >= (Look.NUMBER if len(text) >= 20 else Look.NUMBERED)


def is_basic(text: str) -> bool:
    """Tell a login in base64, with a colon inside, from a word."""
    try:
        decoded = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return look_at(text) >= Look.MIXED
    return b":" in decoded or look_at(text) >= Look.MIXED
