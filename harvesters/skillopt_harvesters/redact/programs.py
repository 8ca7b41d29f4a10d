"""Credentials among the arguments of programs, behind a short flag that means something else elsewhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillopt_harvesters.redact.values import Look, look_at
from skillopt_harvesters.redact.view import in_order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillopt_harvesters.redact.view import Edit, View

_Q = r"\\{0,63}[\"']?"
# A space, or what stands between two strings of a list.
_GAP = r"(?:[ =]|[\"'],\s{0,4})?"
_WORD = rf"{_GAP}{_Q}(?P<value>[^\s\"'`$<\\-][^\s\"'`\\]{{2,256}})"
_LOGIN = rf"{_GAP}{_Q}[^\s:\"'`$-][^\s:\"'`]{{0,128}}:(?P<value>[^\s\"'`$\\][^\s\"'`\\]{{1,256}})"
_PERCENT = rf"{_GAP}{_Q}[^\s%\"']{{1,128}}%(?P<value>[^\s\"']{{3,256}})"
_COOKIE = rf"{_GAP}{_Q}(?P<value>[^\s\"'`=;]{{1,128}}=[^\"'\n]{{4,4096}})"

# A search for the dash alone is the fastest; what it is a flag of is asked afterwards.
_FLAG = re.compile(
    r"-(?:hp|[a-zA-Z]{0,4}b[a-zA-Z]{0,4} |[a-zA-Z]{1,4}u (?=\S)|[uUabpwPkAXc]"
    r"|-(?:user|proxy-user|auth|cookie|body)\b)"
)

# Flag, programs, and the argument.
_Argument = tuple[tuple[str, ...], re.Pattern[str]]


def _argument(programs: str, pattern: str) -> _Argument:
    return tuple(programs.split("|")), re.compile(pattern)


_LOGIN_ARGUMENT = _argument("curl|wget|http |https |xh ", _LOGIN)
_PASSWORD_ARGUMENT = _argument(
    "mongo|sshpass|docker login|podman login|registry login|az login|oc login|cf login|snowsql|ncftp|beeline"
    "|cqlsh|keychain|altool|youtube-dl|yt-dlp|notarytool|twine",
    _WORD,
)
_GLUED_ARGUMENT = _argument(
    "mysql|mariadb|mycli|7z|rar |sshpass", rf"{_Q}(?P<value>[^\s\"'`\[-][^\s\"'`]{{3,256}})"
)
_ARGUMENTS: dict[str, tuple[_Argument, ...]] = {
    "-u": (_LOGIN_ARGUMENT, _argument("lftp", r"[ =]?[^\s,]{1,64},(?P<value>\S{3,256})")),
    "-U": (_LOGIN_ARGUMENT, _argument("smbclient|rpcclient|net rpc", _PERCENT)),
    "-a": (_LOGIN_ARGUMENT, _argument("redis-cli", _WORD)),
    "--user": (_LOGIN_ARGUMENT, _argument("smbclient|rpcclient", _PERCENT)),
    "--proxy-user": (_LOGIN_ARGUMENT,),
    "--auth": (_LOGIN_ARGUMENT,),
    "-b": (
        _argument("curl", _COOKIE),
        _argument("htpasswd", rf" ?(?:[^\s-]\S{{0,128}} ){{1,2}}{_WORD}\s{{0,8}}(?=$|[;&|\n\"'`\\])"),
    ),
    "--cookie": (_argument("curl", _COOKIE),),
    "-p": (_PASSWORD_ARGUMENT, _GLUED_ARGUMENT),
    "--body": (_argument("secret set", _WORD),),
    "-hp": (_GLUED_ARGUMENT,),
    "-w": (_argument("ldap|add-generic-password|add-internet-password", _WORD),),
    "-P": (_argument("sqlcmd|bcp |zip |ipmitool|osql|mosquitto", _WORD),),
    "-A": (
        _LOGIN_ARGUMENT,
        _argument("snmp", _WORD),
    ),
    "-X": (_argument("snmp", _WORD),),
    "-c": (_argument("snmp", _WORD),),
    "-k": (_argument("openssl", _WORD),),
}
# What one program says, another takes for a password.
_PIPED = re.compile(
    rf"(?:echo|yes|printf)(?: -[en]{{1,2}})?(?: {_Q}%s(?:\\{{1,2}}n)?{_Q})? {_Q}(?:[\w.-]{{1,64}}:)?"
    rf"(?P<value>[^\s\"'`$|:\\][^\s\"'`|:\\]{{2,256}}){_Q} ?\|[^\n|]{{0,200}}?"
    r"(?:sudo|passwd|-stdin|--with-token|cryptsetup|gpg|kinit|su |secrets? (?:create|put|set|versions))"
)
# Programs whose secret follows no flag.
_COMMANDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("/p:", re.compile(rf"rdp[^\n]{{0,200}}?[ \"']/p:{_WORD}")),
    ("pass:", re.compile(r"(?:[ \"']|-pass(?:in|out|)[ =])pass:(?P<value>[^\s\"'`$]{3,256})")),
    ("sqlplus", re.compile(r"sqlplus[^\n/]{1,64}/(?P<value>[^\s@/\"']{3,128})@")),
    ("xpdp", re.compile(r"expdp[^\n/]{1,64}/(?P<value>[^\s@/\"']{3,128})@")),
    ("vault ", re.compile(rf"vault (?:login|unseal|operator unseal) (?:-\S{{1,64}} ){{0,4}}{_WORD}")),
    (
        "net us",
        re.compile(
            r"net use?r? (?:[^\s\\]\S{0,128} (?:\\\\\S{1,256} )?|\\\\\S{1,256} (?=/user:))"
            r"(?:/user:\S{1,64} )?"
            r"(?P<value>[^\s/\"'*\\][^\s\"']{3,128})"
        ),
    ),
    (
        "rabbitmqctl",
        re.compile(
            r"rabbitmqctl \w{0,20}(?:add_user|password|authenticate_user) \S{1,64} (?P<value>\S{3,128})"
        ),
    ),
    (
        "bundle c",
        re.compile(
            r"bundle config (?:set )?(?:--\w{1,12} )?[\w.-]{1,128} (?P<value>[^\s:]{4,64}:[^\s:]{4,64})"
        ),
    ),
    ("http-basic", re.compile(r"http-basic\.\S{1,128} \S{1,64} (?P<value>\S{3,128})")),
    ("communi", re.compile(r"snmp-server community (?P<value>\S{3,64})")),
    ("|", _PIPED),
    (
        "<(",
        re.compile(
            r"(?:pass|pw|auth|secret|token|key)[^\n<]{0,40}<\((?:echo|printf)(?: -[en]{1,2})? [\"']?"
            r"(?P<value>[^\s\"')$][^\s\"')]{2,256})"
        ),
    ),
    (
        "<<<",
        re.compile(
            rf"(?:sudo|passwd|[-_]stdin|--with-token|cryptsetup|gpg|kinit)[^\n<]{{0,200}}<<< ?{_WORD}"
        ),
    ),
)
# Of needles with a space in them what stands before it; "net us" has no part that tells.
COMMAND_WORDS = tuple(needle.partition(" ")[0] for needle, _ in _COMMANDS if needle != "net us")
_REACH = 400


def find_arguments(view: View) -> Iterator[Edit]:
    """Find the credentials on command lines, from left to right."""
    if " " not in view.plain:
        return
    found = list(_find_flagged(view)) if "-" in view.plain else []
    for needle, command in _COMMANDS:
        if needle in view.lowered:
            found += (
                (*match.span("value"), "secret")
                for match in command.finditer(view.plain)
                if look_at(match["value"]) >= Look.NUMBER
            )
    if found:
        yield from in_order(found)


def _find_flagged(view: View) -> Iterator[Edit]:
    plain = view.plain
    for flag in _FLAG.finditer(plain):
        start = flag.start()
        if start and not plain[start - 1].isspace() and plain[start - 1] not in "\"',(`[":
            continue
        name = flag[0]
        if name not in _ARGUMENTS:
            name = "-u" if name.endswith("u ") else "-b"
        line = _line_before(view.lowered, start)
        for programs, pattern in _ARGUMENTS[name]:
            argument = pattern.match(plain, flag.end())
            if (
                argument
                and any(map(line.__contains__, programs))
                and look_at(argument["value"]) >= Look.NUMBER
            ):
                yield (*argument.span("value"), "secret")
                break


def _line_before(lowered: str, position: int) -> str:
    """Return what stands before on the line, which a backslash may continue."""
    before = lowered[max(0, position - _REACH) : position]
    if "\\\n" in before:
        before = before.replace("\\\n", "  ")
    return before.rpartition("\n")[2]
