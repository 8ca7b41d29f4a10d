"""Credentials in URLs: logins, signed queries, and addresses that are a secret as a whole."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillopt_harvesters.redact.marks import IS_MARK
from skillopt_harvesters.redact.values import Look, look_at
from skillopt_harvesters.redact.view import in_order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillopt_harvesters.redact.view import Edit, View

_SLASHES = re.compile(r":(?:\\{0,63}/){2}|%3A(?:%2F){2}", re.IGNORECASE)
_ADDRESS = re.compile(r"[^\s\"'`<>]{1,512}")
# A backslash ends an address, unless it escapes a slash.
_ADDRESS_END = re.compile(r"\\+(?![\\/])")
_PATH_START = re.compile(r"[/?#]|%2F", re.IGNORECASE)
_PORT = re.compile(r":[0-9]{1,5}(?:[/?#]|\Z)")
_PLACEHOLDER_LOGIN = re.compile(
    r"[^:]*:(?:\$\{?\w+\}?|\{+[\w.]+\}+|<[^<>]*>|\*+|x{3,}|\[redacted:[a-z-]+\]|%s|\.\.\.)?\Z"
)
_EXAMPLE_NAMES = frozenset(["user", "username", "name", "login", "u", ""])
_EXAMPLE_WORDS = frozenset("pass password passwd pwd secret p pw passw0rd".split())
_SIGN = re.compile(r"@(?=[A-Za-z0-9])")
_BARE_LOGIN = re.compile(r"[\w.+-]{1,64}:(?P<word>[^\s:/\"'`]{3,256})")
_HOST = re.compile(
    r"(?P<driver>(?:tcp|udp|unix)\()|(?:[\w-]{1,63}\.){1,8}[A-Za-z][\w-]{0,63}|(?:[0-9]{1,3}\.){3}[0-9]{1,3}|localhost\b"
)

# Parameters that are no secret in other places.
_PARAMETER = re.compile(
    r"[?&#;](?:amp;)?(?P<name>(?:x-(?:amz|goog|ms)-)?(?:sig|signature|credential|security-token|code|key|apikey|st|se_sig|sid"
    r"|session|sessionid|session_id|phpsessid|jsessionid|hmac|auth|hash_key|appid|app_key|ticket|otp|pin|assertion|saml\w*|state"
    r"|device_code|user_code|client_assertion|invite|magic|reset|verification|nonce_token|h-captcha-response))"
    r"(?:=|%3D)(?P<value>[^\s&\"'`<>\\;#]{6,4096})",
    re.IGNORECASE,
)
_SURE_PARAMETER = re.compile(
    r"sig|signature|credential|token|hmac|session|sid|assertion|saml|auth", re.IGNORECASE
)

_S = r"(?:\\{0,63}/)"
_SECRET_ADDRESS = re.compile(
    rf"(?:hooks\.slack(?:-gov)?\.com{_S}(?:services|workflows|triggers){_S}"
    rf"|discord(?:app)?\.com{_S}api{_S}(?:v[0-9]{{1,2}}{_S})?webhooks{_S}[0-9]{{5,25}}{_S}"
    rf"|webhook\.office\.com{_S}webhookb2{_S}|outlook\.office(?:365)?\.com{_S}webhook{_S}"
    rf"|hooks\.zapier\.com{_S}hooks{_S}catch{_S}|maker\.ifttt\.com{_S}trigger{_S}\w{{1,64}}{_S}(?:json{_S})?with{_S}key{_S}"
    rf"|open\.(?:feishu|larksuite)\.c(?:n|om){_S}open-apis{_S}bot{_S}v2{_S}hook{_S}|hook\.(?:[a-z0-9]{{2,4}}\.)?make\.com{_S}"
    rf"|hc-ping\.com{_S}|\.infura\.io{_S}(?:ws{_S})?v3{_S}|\.alchemy\.com{_S}v2{_S}|\.quiknode\.pro{_S}"
    rf"|api\.telegram\.org{_S}(?:file{_S})?bot|hooks\.mattermost\.com{_S}hooks{_S}|chat\.googleapis\.com{_S}v1{_S}spaces{_S}"
    rf"|api\.pushover\.net{_S}|events\.pagerduty\.com{_S}integration{_S}|webhook\.site{_S})"
    r"(?P<secret>(?:[^\s\"'`<>\\)\],;]|\\{1,63}/){8,1024})",
)
_SECRET_HOSTS = (
    "hooks.",
    "hook.",
    "webhook.",
    "discord",
    "ifttt.com",
    "feishu.cn",
    "larksuite.com",
    "outlook.office",
    "hc-ping.com",
    "infura.io",
    "alchemy.com",
    "quiknode.pro",
    "telegram.org",
    "chat.googleapis",
    "pushover.net",
    "pagerduty.com",
)


def find_in_urls(view: View) -> Iterator[Edit]:
    """Find logins, parameters and secret addresses, from left to right."""
    lowered = view.lowered
    found: list[Edit] = []
    if "://" in lowered or ":\\" in lowered or "%3a%2f" in lowered:
        found += _find_logins(view.plain)
        if any(host in lowered for host in _SECRET_HOSTS):
            found += _find_addresses(lowered)
    if "=" in lowered or "%3d" in lowered:
        found += _find_parameters(view.plain)
    if "@" in lowered:
        found += _find_bare_logins(view.plain)
    if found:
        yield from in_order(found)


def _find_logins(plain: str) -> Iterator[Edit]:
    done = 0
    for slashes in _SLASHES.finditer(plain):
        if slashes.start() < done:
            continue
        address = _ADDRESS.match(plain, slashes.end())
        if address is None or ("@" not in address[0] and "%40" not in address[0]):
            continue
        text = address[0]
        login = _login_of(_ADDRESS_END.split(text, 1)[0] if "\\" in text else text)
        if login:
            yield (slashes.end(), slashes.end() + len(login), "login")
            done = slashes.end() + len(login)


def _login_of(address: str) -> str:
    """Return the login that an address (behind the slashes) begins with, or nothing."""
    separator = "%40" if "@" not in address and "%40" in address else "@"
    colon = "%3A" if ":" not in address else ":"
    path = _PATH_START.search(address)
    authority = address[: path.start()] if path else address
    if separator in authority:
        login = authority.rpartition(separator)[0]
    elif colon in authority and separator in address and not _PORT.search(authority + "/"):
        # A password with a slash in it.
        login = address.partition(separator)[0]
    else:
        return ""
    name, found, word = login.partition(colon)
    if not found:
        secret = len(login) >= 20 and look_at(login) >= Look.NUMBERED
    else:
        named = name.lower().lstrip("[") in _EXAMPLE_NAMES and word.lower() in _EXAMPLE_WORDS
        secret = (
            bool(word)
            and not named
            and not IS_MARK.search(login)
            and not _PLACEHOLDER_LOGIN.match(f"{name}:{word}")
        )
    return login if secret else ""


def _find_addresses(lowered: str) -> Iterator[Edit]:
    for match in _SECRET_ADDRESS.finditer(lowered):
        secret = match["secret"]
        if not IS_MARK.search(secret) and any(map(str.isdigit, secret)):
            yield (*match.span("secret"), "webhook")


def _find_parameters(plain: str) -> Iterator[Edit]:
    for match in _PARAMETER.finditer(plain):
        value, name = match["value"].rstrip(".,)]}"), match["name"]
        look = look_at(value)
        least = Look.NUMBERED if _SURE_PARAMETER.search(name) else Look.MIXED
        if look >= least and len(value) >= (8 if least is Look.NUMBERED else 12):
            start = match.start("value")
            yield (start, start + len(value), "parameter")


def _find_bare_logins(plain: str) -> Iterator[Edit]:
    """Find `name:password@host` without a scheme, as drivers and proxies take it."""
    for sign in _SIGN.finditer(plain):
        at = sign.start()
        head = plain[max(0, at - 321) : at]
        begin = at - len(head) + max(map(head.rfind, " \t\n\"'`=,;(")) + 1
        login = _BARE_LOGIN.fullmatch(plain, begin, at)
        host = _HOST.match(plain, at + 1)
        if login and host and look_at(login["word"]) >= (Look.NUMBER if host["driver"] else Look.MIXED):
            yield (begin, at, "login")
