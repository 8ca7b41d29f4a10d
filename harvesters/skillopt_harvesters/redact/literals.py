"""Values as they are written: quoted, bare, wrapped in a call, on the next line, in a list."""

from __future__ import annotations

import re
from typing import NamedTuple

from skillopt_harvesters.redact.joints import BREAK, QUOTE

# Between the separator and a value on a later line: a block scalar, a fence, the signs of a diff.
_NEXT_LINE = re.compile(
    rf"(?:[|>][+-]?[0-9]?)?[ \t]{{0,16}}(?:{BREAK}[ \t+>-]{{0,40}}){{1,2}}(?:```\w{{0,12}}{BREAK}|`)?"
)
# "password: str = ", "const password: string = "
_TYPE = re.compile(r"[&\w.\[\]<>|, ?]{1,40}?\s?=\s?(?=[rbfu]?[\"'`])")
_WRAPPER = re.compile(
    r"(?:new |\[\])?\(?(?P<wrapper>[A-Za-z_][\w.:-]{0,40})(?:\(\s{0,8}|!\(| -String | )"
    r"(?=[rbfu]?\\{0,63}[\"'`])"
)
# Functions that make a secret of the string given; others look one up.
_OPAQUE = frozenset(
    """
    secretstr secret securestring convertto-securestring string str byte bytes buffer.from some sensitive
    quote b64decode atob base64.b64decode std::string string::from pydantic.secretstr literal text to_string
    secretvalue.unsafeplaintext unsafeplaintext encode bytes.fromhex nonsensitive hash bcrypt md5 sha256
    password
    """.split()
)
# A list, or an object whose value is called so.
_LIST = re.compile(r"[\[{]\s{0,40}(?=\\{0,63}[\"'\w])")
_INNER_NAME = re.compile(
    rf"{QUOTE}?(?:value|val|default|secret|plaintext){QUOTE}?\s{{0,8}}(?::|=>?)\s{{0,8}}", re.IGNORECASE
)
_NEXT_ITEM = re.compile(rf"{QUOTE}?\s{{0,40}},\s{{0,40}}")
_OPEN = re.compile(
    r"[rbfuLRBFU@$]{0,2}"
    r"(?P<quote>\\{0,63}(?:\"\"\"|'''|[\"'`])|%2[27]|&quot;|&#0?3[49];|\\{1,63}u002[27])"
)
# 'it'\''s' and 'it'"'"'s' are one word for a shell.
_JOINED_QUOTE = re.compile(r"'(?:\\''|\"'\"')")
_CJK = "\u3000-\u9fff\uac00-\ud7af"
# A bare value, as far as it certainly goes, and what may belong to it.
_BARE = re.compile(rf"(?:[^\s\"'`<>\\,;&|()\[\]{{}}{_CJK}]|\\(?![nrtu\"'\\])){{1,1024}}")
_REST = re.compile(rf"[^\s\"'`\\<>{_CJK}]{{1,256}}")
_CLOSERS = re.compile(r"[)\]}>,;.:!?|&*]*\Z")
_NEXT_PAIR = re.compile(r"[,;&|]\s?[\w.%-]{1,64}[=:]")
_LISTS = frozenset("[{")
_BREAKS = frozenset("\r\n\\%|>")
_LONGEST = 4096


class Value(NamedTuple):
    """A value and its place. `rest` is where a bare value ends when it is a password with odd signs in it."""

    text: str
    start: int
    end: int
    rest: int
    quoted: bool
    wrapped: bool = False
    next_line: bool = False
    fenced: bool = False
    listed: bool = False


def read_value(plain: str, begin: int, sign: str) -> Value | None:
    """Read the value behind a sign or other joint, which begins at `begin` or on the next line."""
    next_line = _NEXT_LINE.match(plain, begin) if plain[begin : begin + 1] in _BREAKS else None
    if next_line:
        begin = next_line.end()
    opened = _LIST.match(plain, begin) if plain[begin : begin + 1] in _LISTS else None
    if opened:
        begin = opened.end()
    if opened or next_line:
        begin = _skip(_INNER_NAME, plain, begin)
    elif sign == ":":
        begin = _skip(_TYPE, plain, begin)
    first = plain[begin : begin + 1]
    wrapper = _WRAPPER.match(plain, begin) if first.isalpha() or first in {"(", "["} else None
    value = _read_literal(plain, wrapper.end() if wrapper else begin)
    if value is None or not (wrapper or opened or next_line):
        return value
    if next_line and value.quoted and "\n" in value.text:
        # A text of several lines under a heading or a definition.
        return None
    return value._replace(
        wrapped=wrapper is not None and wrapper["wrapper"].lower() not in _OPAQUE,
        next_line=next_line is not None,
        fenced=next_line is not None and "```" in next_line[0],
        listed=opened is not None,
    )


def read_item(plain: str, before: Value) -> Value | None:
    """Read the value that follows another one in a list."""
    comma = _NEXT_ITEM.match(plain, before.end)
    value = read_value(plain, comma.end(), ",") if comma else None
    return value._replace(listed=True) if value else None


def _skip(pattern: re.Pattern[str], plain: str, begin: int) -> int:
    match = pattern.match(plain, begin)
    return match.end() if match else begin


def _read_literal(plain: str, begin: int) -> Value | None:
    opening = _OPEN.match(plain, begin)
    if opening:
        begin = opening.end()
        end = _find_close(plain, opening["quote"], begin)
        if end is not None:
            return Value(plain[begin:end], begin, end, end, quoted=True)
    bare = _BARE.match(plain, begin)
    if bare is None:
        return None
    return Value(bare[0], begin, bare.end(), _rest_of(plain, bare.end()), quoted=False)


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
