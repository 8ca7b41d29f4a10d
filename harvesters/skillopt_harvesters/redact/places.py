"""Secrets known by where they stand: in SQL, netrc, pgpass, JWK, a login, a sentence, a password hash."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from skillopt_harvesters.redact.headers import is_basic
from skillopt_harvesters.redact.values import Look, look_at
from skillopt_harvesters.redact.view import in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from skillopt_harvesters.redact.view import Edit, View

_QUOTED = r"\\{0,63}[\"'](?P<value>[^\"'\n\\]{3,256})"
_STRING = r"\\{0,63}[\"'][^\"'\n]{1,128}[\"']"
_TYPED = r"(?P<value>(?:(?![\"'`,;<>])[!-~]){4,128})"
_JSON = r"\\{0,63}\"\s{0,8}:\s{0,8}\\{0,63}\""
_SAID = r"(?:(?<=with )|(?<=as )|(?<=use )|(?<=the )|(?<=my )|(?<=our ))"
_CRYPT = re.compile(
    r"\$(?:2[abxy]|[1567y]|apr1|sha1|gy|argon2(?:id|i|d)|scrypt|s0|pbkdf2[\w-]{0,16})"
    r"\$[./A-Za-z0-9][./A-Za-z0-9$=,+-]{8,512}"
)
# somebody@company.io / x
_ACCOUNT = re.compile(
    r"@(?:[\w-]{1,63}\.){1,4}[A-Za-z]{2,24}(?: [/|] |: {1,4}|, pw:? |, password:? )"
    r"(?P<value>[^\s\"'`,;()]{6,128})"
)
_JWK = re.compile(rf"\"(?:d|p|q|dp|dq|qi|k){_JSON}(?P<value>[\w-]{{40,4096}})")


class _Place(NamedTuple):
    """Words at which the pattern begins, the pattern with its value, and what the value must be."""

    words: tuple[str, ...]
    pattern: re.Pattern[str]
    accepts: Callable[[str], bool]
    kind: str
    before: re.Pattern[str] | None  # what stands before the word on its line


def _place(
    words: str,
    pattern: str,
    least: Look | Callable[[str], bool],
    kind: str = "secret",
    *,
    before: str | None = None,
) -> _Place:
    accepts = (lambda value: look_at(value) >= least) if isinstance(least, Look) else least
    line = re.compile(before) if before else None
    return _Place(tuple(words.split("|")), re.compile(pattern, re.IGNORECASE), accepts, kind, line)


_PLACES = (
    _place(
        "identified ",
        rf"IDENTIFIED(?: WITH \S{{1,64}})? (?:BY|USING|AS) ?(?:PASSWORD )?{_QUOTED}",
        Look.NUMBER,
    ),
    _place(
        "password ",
        rf"PASSWORD(?: FOR [^\s=]{{1,64}})?(?: = ?| )(?:PASSWORD ?\()?{_QUOTED}",
        Look.NUMBER,
    ),
    _place(
        "password |passphrase ",
        rf"{_SAID}pass(?:word|phrase) {{1,2}}(?P<value>[^\s`\"',;:.()]{{5,128}})",
        Look.NUMBERED,
    ),
    _place("convertto-securestring", rf"ConvertTo-SecureString (?:-String )?{_QUOTED}", Look.NUMBER),
    _place(
        "machine ",
        r"machine\s{1,8}\S{1,256}\s{1,8}login\s{1,8}\S{1,256}\s{1,8}password\s{1,8}(?P<value>\S{1,256})",
        Look.CODE,
    ),
    _place(
        ":5432:|:*:|:5433:|:6432:",
        r":(?:[0-9]{2,5}|\*):[\w*-]{1,128}:[\w*-]{1,128}:(?P<value>[^\s:]\S{2,256})",
        Look.CODE,
        before=r"(?:[^\n]*[\s\"'`])?[\w.*-]{1,253}",
    ),
    _place(
        "credential|creds|log in|login|sign in",
        r"(?:credentials?|creds|log ?in|sign ?in)(?: (?:is|are|as|with|using|for|of))?:? {1,4}\(?"
        r"`?[\w.@+-]{2,64}`? ?[/:] ?`?(?P<value>[^\s`\"',;]{5,128})",
        Look.NUMBERED,
    ),
    _place(
        "auth(|_auth(|auth=|login(|credentials(|auth (",
        r"(?:_?auth|login|credentials)(?: ?= ?[\w.]{0,40})? ?"
        rf"\(\s{{0,8}}{_STRING}\s{{0,4}},\s{{0,8}}{_QUOTED}",
        Look.NUMBERED,
    ),
    _place(
        "密码|密碼|口令",
        r"(?:密码|密碼|口令)(?:\s|[(:=（「『【《“：＝\"'`]|都是|就是|是|(?:改|设|設|换|換|重置)[为為成]了?|为|為){1,6}"
        rf"{_TYPED}",
        Look.NUMBERED,
    ),
    _place(
        "密码|密碼|口令|/password|/pass|/pw",
        r"(?:密码|密碼|口令|/pass(?:word)?|/pw)\s?[:=：是为為]?\s?(?:[\w.@-]{1,64}|\[redacted:[a-z-]{1,40}\])"
        rf"\s?/\s?{_TYPED}",
        Look.NUMBERED,
    ),
    _place(
        "credential(|credentials(",
        rf"credentials?\(\s{{0,8}}(?:{_STRING}\s{{0,4}},\s{{0,8}}){{1,3}}{_QUOTED}",
        Look.NUMBERED,
    ),
    _place(
        "sessid=|sessionid=|connect.sid=|samlresponse=",
        r"[a-z.]{5,16}=(?P<value>[\w%+/=.-]{16,8192})",
        bool,
        "cookie",
    ),
    _place(
        "connect(",
        rf"connect\(\s{{0,8}}{_STRING}\s{{0,4}},\s{{0,8}}{_STRING}\s{{0,4}},\s{{0,8}}{_QUOTED}",
        Look.NUMBERED,
    ),
    _place(
        "password(",
        rf"password\((?:\s{{0,8}}(?:[\w.]{{1,40}}|{_STRING})\s{{0,4}},){{1,4}}\s{{0,8}}[bru]?{_QUOTED}",
        Look.NUMBERED,
    ),
    _place(
        "password from ",
        r"password from [\"'`]?(?P<value>[^\s\"'`]{4,128})",
        Look.NUMBERED,
    ),
    _place(
        "password from ",
        r"password from \S{1,128} to [\"'`]?(?P<value>[^\s\"'`]{4,128})",
        Look.NUMBERED,
    ),
    _place(
        "app password|app-specific password",
        r"app(?:-specific)? password(?: is|:)? {1,4}[\"'`]?(?P<value>[a-z]{4}(?:[ -][a-z]{4}){3})\b",
        bool,
    ),
    _place("secretkeyspec(", rf"SecretKeySpec\({_QUOTED}", Look.NUMBERED),
    _place(
        "btoa(|b64encode(|buffer.from(|base64_encode(",
        r"[\w.]{4,16}\(b?\\{0,63}[\"'][\w.@+-]{1,64}:(?P<value>[^\"'\n\\]{3,128})[\\\"']",
        Look.NUMBERED,
    ),
    _place(
        "jwt.",
        rf"jwt\.(?:encode|decode|sign|verify)\([^\"'\n]{{1,80}},\s{{0,8}}{_QUOTED}",
        Look.NUMBERED,
    ),
    _place("jdbc:oracle", r"jdbc:oracle:\w{1,8}:[\w$#]{1,64}/(?P<value>[^\s@\"']{3,128})@", Look.NUMBER),
    _place("wifi:", r"WIFI:[^\n]{0,200}?;P:(?P<value>[^\s;]{4,64});", Look.CODE),
    _place(
        "requirepass|masterauth|wpa_passphrase",
        r"(?:requirepass|masterauth|wpa_passphrase[ \t]{1,16}\S{1,64})[ \t]{1,16}"
        r"[\"']?(?P<value>[^\s\"']{4,256})",
        Look.NUMBER,
    ),
    _place(
        '"auth|"_auth|_auth',
        rf"(?:\"_?auth{_JSON}|_auth ?= ?[\"']?)(?P<value>[A-Za-z0-9+/]{{6,512}}={{0,2}})",
        is_basic,
        "authorization",
    ),
    _place(
        "pbkdf2_|pbkdf2:|{ssha|{sha|scrypt:",
        r"(?P<value>(?:pbkdf2_\w{3,12}\$[0-9]{1,9}\$|\{s?sha[0-9]{0,3}\}|(?:scrypt|pbkdf2):[\w:]{1,40}\$)"
        r"[^\s\"'`,<>]{8,512})",
        bool,
        "password-hash",
    ),
)
_BY_WORD: dict[str, list[_Place]] = {}
for _each in _PLACES:
    for _word in _each.words:
        _BY_WORD.setdefault(_word, []).append(_each)
_ANY_WORD = re.compile("|".join(re.escape(word) for word in sorted(_BY_WORD, key=len, reverse=True)))

# Of words with a space in them the part that has none; "log in" and "sign in" have no part that tells.
_PARTS = {max(word.split(), key=len) for word in _BY_WORD if word not in {"log in", "sign in"}}
PLACE_WORDS = tuple(sorted(part for part in _PARTS if not any(one in part for one in _PARTS - {part})))

# Parts of the words, as few as may be, and a sign that is with each: most texts have none of them.
_NAME_NEEDLES = (
    "pass",
    "securestr",
    "secretkeyspec(",
    "cred",
    "login",
    "auth",
    "jwt.",
    "密码",
    "密碼",
    "口令",
    "/pw",
)
_NEEDLES = (
    (" ", ("identified", "machine", "log in", "sign in")),
    (":", (":543", ":*:", ":6432:", "jdbc:o", "wifi:", "scrypt:", "pbkdf2:")),
    ("(", ("connect(", "btoa(", "b64encode(", "buffer.from(", "base64_encode(")),
    ("{", ("{s",)),
    ("_", ("pbkdf2_",)),
    ("=", ("sessid=", "sessionid=", "connect.sid=", "samlresponse=")),
)


def _begins(plain: str, place: _Place, position: int) -> bool:
    if place.before is None:
        return True
    line = plain[max(0, position - 300) : position].rpartition("\n")[2]
    return place.before.fullmatch(line) is not None


def _has_word(view: View) -> bool:
    within = view.lowered.__contains__
    needles = [needle for sign, needles in _NEEDLES if within(sign) for needle in needles if within(needle)]
    if view.names:
        needles += filter(within, _NAME_NEEDLES)
    return any(any(map(within, _words_with(needle))) for needle in needles)


@cache
def _words_with(needle: str) -> tuple[str, ...]:
    return tuple(word for word in _BY_WORD if needle in word)


def find_in_places(view: View) -> Iterator[Edit]:
    """Find what the places of secrets hold, from left to right."""
    plain, lowered = view.plain, view.lowered
    found: list[Edit] = []
    if _has_word(view):
        for hit in _ANY_WORD.finditer(lowered):
            for place in _BY_WORD[hit[0]]:
                match = place.pattern.match(plain, hit.start())
                if match and place.accepts(match["value"]) and _begins(plain, place, hit.start()):
                    found.append((*match.span("value"), place.kind))
    if "$" in plain:
        found += ((*match.span(), "password-hash") for match in _CRYPT.finditer(plain))
    if "kty" in lowered:
        found += ((*match.span("value"), "private-key") for match in _JWK.finditer(plain))
    if "@" in plain:
        found += (
            (*match.span("value"), "secret")
            for match in _ACCOUNT.finditer(plain)
            if look_at(match["value"]) >= Look.NUMBERED
        )
    if found:
        yield from in_order(found)
