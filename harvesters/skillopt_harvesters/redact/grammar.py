"""How a name and its value are joined, in the languages people paste: the separators and the quotes.

Every repeat is bounded, so that a look at one name costs no more than a few hundred steps.
"""

from __future__ import annotations

import re
from typing import NamedTuple

QUOTE = r"(?:\\{0,63}[\"'`]|%2[27]|&quot;|&\#0?3[49];|\\{1,63}u002[27])"
_GAP = r"(?:[ \t]|\\{1,63}t|%20|&nbsp;){0,64}"
_BREAK = r"(?:\r?\n|\\{1,63}(?:r\\{1,63})?n|%0[AaDd])"
_VALUE_NAMES = "[A-Za-z]{0,20}value|val|default|content|secretString|plaintext"
_VERBS = "is|was|are|to|as|be|equals|es|est|ist|lautet|now|just|still|actually|called|set|changed|reset|updated|will|should|:"

# After the name. The group that matched says how it is joined.
_SEPARATOR = re.compile(
    rf"""
    (?P<close>(?:{QUOTE}|\*\*)?(?:\s?\])?\)?{QUOTE}?)
    (?:
      {_GAP}(?P<assign>[:?+!]?={{1,3}}>?|:{{1,2}}[=-]?|->|<-|~>|\.{{3,80}}|…|%3[ADad]|\\{{1,63}}u003[adAD]|&\#61;|\|\||\?\?)(?:\*\*)?{_GAP}
    | (?P<pair>\s{{0,8}},\s{{0,40}}{QUOTE}?(?:{_VALUE_NAMES}){QUOTE}?\s{{0,8}}[:=]\s{{0,8}})
    | (?P<option>[ \t]{{1,8}}--?(?:value|secret-string|secret-value|string|body)[ \t=]{{1,4}})
    | (?P<call>\(\s{{0,40}}(?=[rbfu]?{QUOTE}))
    | (?P<fill>\s?(?:\.\w{{2,24}}\(\s{{0,8}}|,\s{{0,8}}with:\s?)(?={QUOTE}))
    | (?P<comma>\s{{0,8}},\s{{0,40}}(?=[rbfu]?{QUOTE}))
    | (?P<attribute>\s{{1,8}}(?:[\w:-]{{1,40}}={QUOTE}[^"'\n<>]{{0,80}}{QUOTE}\s{{1,8}}){{0,4}}(?:value|content|default|defaultValue)\s?=\s?)
    | (?P<element>\s{{0,8}}</\w{{1,20}}>\s{{0,40}}<\w{{1,20}}>|(?:\s[^<>\n]{{0,80}})?(?:>|&gt;)(?:\s{{0,40}}<(?:value|val|string)>)?)
    | (?P<line>\s{{0,8}}{_BREAK}[ \t]{{0,40}}(?:value|val|default):[ \t]{{1,8}})
    | (?P<block>\s{{0,8}}\{{[^{{}}]{{0,300}}?\b(?:default|value)\s{{0,20}}=\s{{0,20}})
    | (?P<cell>[ \t]{{0,64}}\|[ \t]{{0,64}})
    | (?P<spoken>(?:'?s)?[ \t]{{1,8}}(?:(?:for|of|on|at|in|to)[ \t](?:[\w.@/-]{{1,40}}[ \t]){{1,4}}?)?
        (?:(?:{_VERBS})[ \t]{{1,8}}){{1,4}}
       |[ \t]?(?:是|为|就是|改成|改为|设为|设置为|叫|はです|は|を|는|은|이)[ \t:]{{0,4}})
    | (?P<below>[ \t]{{0,8}}:?\r?\n(?:\r?\n)?[ \t]{{0,16}}(?:[-=~]{{3,80}}\r?\n)?(?=\S{{6,512}}(?:\s|\Z)))
    | (?P<space>[ \t]{{1,64}}(?:\(|[0-9][ \t]{{1,4}})?)
    )
    """,
    re.VERBOSE | re.IGNORECASE,
)
# expect "password:"
# send "x"
_SEND = re.compile(rf":?\s{{0,4}}{QUOTE}?\s{{1,8}}send(?:line)?[ \t]{{1,4}}(?:--?[ \t]{{1,4}})?(?={QUOTE})")
# Between the separator and a value on a later line: a block scalar, a fence, the signs of a diff.
_NEXT_LINE = re.compile(
    rf"(?:[|>][+-]?[0-9]?)?[ \t]{{0,16}}(?:{_BREAK}[ \t+>-]{{0,40}}){{1,2}}(?:```\w{{0,12}}{_BREAK}|`)?"
)
# "password: str = ", "const password: string = "
_TYPE = re.compile(r"[&\w.\[\]<>|, ?]{1,40}?\s?=\s?(?=[rbfu]?[\"'`])")
_WRAPPER = re.compile(
    r"(?:new |\[\])?\(?(?P<wrapper>[A-Za-z_][\w.:-]{0,40})(?:\(\s{0,8}|!\(| -String | )(?=[rbfu]?\\{0,63}[\"'`])"
)
# A list, or an object whose value is called so.
_LIST = re.compile(r"[\[{]\s{0,40}(?=\\{0,63}[\"'\w])")
_INNER_NAME = re.compile(
    rf"{QUOTE}?(?:value|val|default|secret|plaintext){QUOTE}?\s{{0,8}}(?::|=>?)\s{{0,8}}", re.IGNORECASE
)
_NEXT_ITEM = re.compile(rf"{QUOTE}?\s{{0,40}},\s{{0,40}}")
_OPEN = re.compile(
    rf"[rbfuLRBFU@$]{{0,2}}(?P<quote>\\{{0,63}}(?:\"\"\"|'''|[\"'`])|%2[27]|&quot;|&\#0?3[49];|\\{{1,63}}u002[27])"
)
_OPAQUE = frozenset(
    (
        "secretstr secret securestring convertto-securestring string str byte bytes buffer.from some sensitive quote "
        "b64decode atob base64.b64decode std::string string::from pydantic.secretstr literal text to_string "
        "secretvalue.unsafeplaintext unsafeplaintext encode bytes.fromhex nonsensitive hash bcrypt md5 sha256 password"
    ).split()
)
_SELECTOR_END = re.compile(r"[\"']\s?\]\\{0,63}[\"']")
# 'it'\\''s' and 'it'"'"'s' are one word for a shell.
_JOINED_QUOTE = re.compile(r"'(?:\\''|\"'\"')")
_CLOSING = re.compile(rf"{QUOTE}|\*\*")
_CJK = "\u3000-\u9fff\uac00-\ud7af"
# A bare value, as far as it certainly goes.
_BARE = re.compile(rf"(?:[^\s\"'`<>\\,;&|()\[\]{{}}{_CJK}]|\\(?![nrtu\"'\\\\])){{1,1024}}")
_REST = re.compile(rf"[^\s\"'`\\<>{_CJK}]{{1,256}}")
_CLOSERS = re.compile(r"[)\]}>,;.:!?|&*]*\Z")
_NEXT_PAIR = re.compile(r"[,;&|]\s?[\w.%-]{1,64}[=:]")
_LISTS = frozenset("[{")
_BREAKS = frozenset("\r\n\\%|>")
_LONGEST = 4096


class Joint(NamedTuple):
    """How a name is joined to what follows: the sign or the kind of separator, and where the value may begin."""

    kind: str
    assigns: bool
    spaced: bool
    quoted_name: bool
    begin: int


class Value(NamedTuple):
    """A value and its place. `rest` is where a bare value ends when it is a password with odd signs in it."""

    text: str
    start: int
    end: int
    quoted: bool
    rest: int
    wrapped: bool = False
    next_line: bool = False
    fenced: bool = False
    listed: bool = False


def read_joint(plain: str, end: int) -> Joint | None:
    """Read the separator after a name that ends at `end`."""
    sent = _SEND.match(plain, end) if plain.find("\n", end, end + 6) >= 0 else None
    if sent:
        return Joint("send", assigns=False, spaced=True, quoted_name=False, begin=sent.end())
    match = _SEPARATOR.match(plain, end)
    if match is None or match.lastgroup is None:
        return None
    kind = match.lastgroup
    if kind == "close":
        return None
    if kind == "comma" and _SELECTOR_END.search(match["close"]):
        # page.fill('input[name="password"]', 'x')
        kind = "fill"
    sign = match["assign"]
    spaced = plain[match.end() - 1].isspace()
    if sign == ":" and not spaced and plain[match.start("assign") - 1].isspace():
        # "pass :class:`Name`" is a role, no assignment.
        return None
    return Joint(
        sign or kind, kind == "assign", spaced, _CLOSING.match(match["close"]) is not None, match.end()
    )


def read_value(plain: str, begin: int, sign: str) -> Value | None:
    """Read the value behind a sign or other joint, which begins at `begin` or on the next line."""
    first = plain[begin : begin + 1]
    next_line = _NEXT_LINE.match(plain, begin) if first in _BREAKS else None
    fenced = False
    if next_line:
        fenced = "```" in next_line[0]
        begin = next_line.end()
        first = plain[begin : begin + 1]
    opened = _LIST.match(plain, begin) if first in _LISTS else None
    if opened:
        begin = opened.end()
    inner = _INNER_NAME.match(plain, begin) if opened or next_line else None
    if inner:
        begin = inner.end()
    wrapped = False
    typed = _TYPE.match(plain, begin) if sign == ":" and not next_line else None
    if typed:
        begin = typed.end()
    first = plain[begin : begin + 1]
    wrapper = _WRAPPER.match(plain, begin) if first.isalpha() or first in {"(", "["} else None
    if wrapper:
        wrapped = wrapper["wrapper"].lower() not in _OPAQUE
        begin = wrapper.end()
    opening = _OPEN.match(plain, begin)
    if opening:
        start = opening.end()
        end = _find_close(plain, opening["quote"], start)
        if end is not None and next_line and "\n" in plain[start:end]:
            # A text of several lines under a heading or a definition.
            return None
        if end is not None:
            return Value(
                plain[start:end], start, end, True, end, wrapped, bool(next_line), fenced, bool(opened)
            )
        begin = start
    bare = _BARE.match(plain, begin)
    if bare is None:
        return None
    return Value(
        bare[0],
        begin,
        bare.end(),
        False,
        _rest_of(plain, bare.end()),
        wrapped,
        bool(next_line),
        fenced,
        bool(opened),
    )


def read_item(plain: str, before: Value) -> Value | None:
    """Read the value that follows another one in a list."""
    comma = _NEXT_ITEM.match(plain, before.end)
    value = read_value(plain, comma.end(), ",") if comma else None
    return value._replace(listed=True) if value else None


def _find_close(plain: str, quote: str, start: int) -> int | None:
    """Return where the quote closes: on the same line, unless it is one that may span lines."""
    limit = min(len(plain), start + _LONGEST)
    if quote[-1] != "`" and quote[-3:] not in {'"""', "'''"}:
        line = plain.find("\n", start, limit)
        limit = limit if line < 0 else line
    at = start
    while (at := plain.find(quote, at, limit)) >= 0:
        escapes = _count_escapes(plain, start, at)
        if not escapes or (not quote.startswith("\\") and escapes % 2 == 0):
            joined = _JOINED_QUOTE.match(plain, at) if quote == "'" else None
            if joined is None:
                return at
            at = joined.end()
            continue
        at += len(quote)
    return None


def _count_escapes(plain: str, start: int, at: int) -> int:
    first = at
    while first > start and at - first < 64 and plain[first - 1] == "\\":
        first -= 1
    return at - first


def _rest_of(plain: str, end: int) -> int:
    """Return where a bare value ends if what follows without a space belongs to it."""
    rest = _REST.match(plain, end)
    if rest is None or _CLOSERS.match(rest[0]) or _NEXT_PAIR.match(rest[0]):
        return end
    return rest.end()
