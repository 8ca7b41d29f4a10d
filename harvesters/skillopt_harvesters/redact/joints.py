"""How a name is joined to its value, in the languages people paste.

Every repeat is bounded, so that a look at one name costs no more than a few hundred steps.
"""

from __future__ import annotations

import re
from typing import NamedTuple

QUOTE = r"(?:\\{0,63}[\"'`]|%2[27]|&quot;|&#0?3[49];|\\{1,63}u002[27])"
BREAK = r"(?:\r?\n|\\{1,63}(?:r\\{1,63})?n|%0[AaDd])"
_GAP = r"(?:[ \t]|\\{1,63}[t ]|%20|&nbsp;){0,64}"
_VALUE = r"(?:[A-Za-z]{0,20}value|val|default|content|secretString|plaintext)"
_ASSIGN = (
    r"(?:[:?+!]?={1,3}>?|(?<=[ \t])--?(?=[ \t])|:{1,2}[=-]?|->|<-|~>|\.{3,80}|…"
    r"|%3[ADad]|\\{1,63}u003[adAD]|&#61;|\|\||\?\?)"
)
_VERB = (
    r"(?:is|was|are|to|as|be|equals|es|est|ist|lautet|now|just|still|actually|called"
    r"|set|changed|reset|updated|will|should|:)"
)

# What may stand between a name (and the quote that closes it) and its value, by kind; the first counts.
_KINDS: tuple[tuple[str, str], ...] = (
    ("assign", rf"{_GAP}(?P<sign>{_ASSIGN})(?:\*\*)?{_GAP}"),
    # {"name": "password", "value": "x"}
    ("pair", rf"\s{{0,8}},\s{{0,40}}{QUOTE}?{_VALUE}{QUOTE}?\s{{0,8}}[:=]\s{{0,8}}"),
    # --name password --value x
    ("option", r"[ \t]{1,8}--?(?:value|secret-string|secret-value|string|body)[ \t=]{1,4}"),
    # password("x")
    ("call", rf"\(\s{{0,40}}(?=[rbfu]?{QUOTE})"),
    # get("password").fill("x"), fill_in "Password", with: "x"
    ("fill", rf"\s?(?:\.\w{{2,24}}\(\s{{0,8}}|,\s{{0,8}}with:\s?)(?={QUOTE})"),
    # ("password", "x")
    ("comma", rf"\s{{0,8}},\s{{0,40}}(?=[rbfu]?{QUOTE})"),
    # <add key="password" value="x"/>
    (
        "attribute",
        rf"\s{{1,8}}(?:[\w:-]{{1,40}}={QUOTE}[^\"'\n<>]{{0,80}}{QUOTE}\s{{1,8}}){{0,4}}"
        r"(?:value|content|default|defaultValue)\s?=\s?",
    ),
    # <password>x, <string name="password">x, <key>password</key><string>x
    (
        "element",
        r"\s{0,8}</\w{1,20}>\s{0,40}<\w{1,20}>"
        r"|(?:>|&gt;|\s[^<>\n]{0,80}>)(?:\s{0,40}<(?:value|val|string)>)?",
    ),
    # - name: password
    #   value: x
    ("line", rf"\s{{0,8}}{BREAK}[ \t]{{0,40}}(?:value|val|default):[ \t]{{1,8}}"),
    # variable "password" { default = "x" }
    ("block", r"\s{0,8}\{[^{}]{0,300}?\b(?:default|value)\s{0,20}=\s{0,20}"),
    ("cell", r"[ \t]{0,64}\|[ \t]{0,64}"),
    # the password for the server is x
    (
        "spoken",
        r"(?:'?s)?[ \t]{1,8}(?:(?:for|of|on|at|in|to)[ \t](?:[\w.@/-]{1,40}[ \t]){1,4}?)?"
        rf"(?:{_VERB}[ \t]{{1,8}}){{1,4}}"
        r"|[ \t]{1,8}(?:for|of|on|at|in)[ \t](?:[\w.@/-]{1,40}[ \t]){0,3}"
        r"(?:[\w.@/-]{1,40}|'[\w.@/:-]{1,200}'):[ \t]{1,8}"
        r"|[ \t]?(?:是|为|就是|改成|改为|设为|设置为|叫|はです|は|を|는|은|이)[ \t:]{0,4}",
    ),
    # a heading, and the value below it
    ("below", r"[ \t]{0,8}:?\r?\n(?:\r?\n)?[ \t]{0,16}(?:[-=~]{3,80}\r?\n)?(?=\S{6,512}(?:\s|\Z))"),
    ("space", r"[ \t]{1,64}(?:\(|[0-9][ \t]{1,4})?"),
)
_JOINT = re.compile(
    rf"(?P<close>(?:{QUOTE}|\*\*)?(?:\s?\])?\)?{QUOTE}?)"
    f"(?:{'|'.join(f'(?P<{kind}>{pattern})' for kind, pattern in _KINDS)})",
    re.IGNORECASE,
)
# expect "password:"
# send "x"
_SEND = re.compile(rf":?\s{{0,4}}{QUOTE}?\s{{1,8}}send(?:line)?[ \t]{{1,4}}(?:--?[ \t]{{1,4}})?(?={QUOTE})")
_CLOSING = re.compile(rf"{QUOTE}|\*\*")
# fill('input[name="password"]', 'x')
_SELECTOR_END = re.compile(r"[\"']\s?\]\\{0,63}[\"']")


class Joint(NamedTuple):
    """How a name is joined to what follows. `kind` is the sign of an assignment, else the kind of joint."""

    kind: str
    assigns: bool
    spaced: bool
    quoted_name: bool
    begin: int  # where the value may begin


def read_joint(plain: str, end: int) -> Joint | None:
    """Read what follows a name that ends at `end`; None when nothing joins it to a value."""
    sent = _SEND.match(plain, end) if plain.find("\n", end, end + 6) >= 0 else None
    if sent:
        return Joint("send", assigns=False, spaced=True, quoted_name=False, begin=sent.end())
    match = _JOINT.match(plain, end)
    if match is None:
        return None
    close, sign = match["close"], match["sign"]
    kind = sign or match.lastgroup or ""
    spaced = plain[match.end() - 1].isspace()
    if sign == ":" and not spaced and plain[match.start("sign") - 1].isspace():
        # "pass :class:`Name`" is a role, no assignment.
        return None
    if kind == "comma" and _SELECTOR_END.search(close):
        kind = "fill"
    quoted_name = bool(close) and _CLOSING.match(close) is not None
    return Joint(kind, sign is not None, spaced, quoted_name, match.end())
