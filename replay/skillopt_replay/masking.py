"""Takes the credentials a run was lent out of everything it left behind.

Patterns know the keys of known services. What a run prints of any other is known here to the letter.
"""

from __future__ import annotations

import base64
import functools
import json
import os
import re
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import quote, quote_plus

import msgspec

from skillopt_replay.lent import SHORTEST

if TYPE_CHECKING:
    from collections.abc import Iterator

MASK = "[redacted:credential]"
_ESCAPED = re.compile(r"%[0-9A-F]{2}")
_URL_SAFE = str.maketrans("+/", "-_")
# Where programs break lines, which in mails and shells end with a sign, in a diff begin with one, and in JSON
# end with two characters; and where they colour what they looked for.
_BREAK = r"(?:[=\\]?\r?\n[ +-]?|\\n|(?:\x1b\[[0-9;]*[mK]){1,4})?"
_SPACE = r"(?:\s|\\n)[\s+-]*"
# Where texts are cut: around a mark, or before and after what is told besides.
_EDGES = re.compile(r"( \[\.\.\.\] |…|\n\[cut: |: | \()")
_ENTITIES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}
# What is written as it is in every kind of text.
_PLAIN = re.compile(r"[A-Za-z0-9]+")
_SIGNS = re.compile(r"[A-Za-z0-9]+|\\+|.", re.DOTALL)
T = TypeVar("T")
_Escaped = tuple[str, re.Pattern[str]]


def mask(value: T, secrets: tuple[str, ...]) -> T:
    """Return the record with every secret masked in all of its texts.

    Also as JSON, HTML, a URL, a shell, hex or base64 would write it, the last one wherever in a text it
    begins, where lines were broken or a part coloured, and what is left of one where the text was cut.
    """
    if not secrets:
        return value
    forms = [(form, MASK) for secret in secrets for form in dict.fromkeys(_write(secret))]
    escaped = [_find_escaped(secret) for secret in secrets if not _PLAIN.fullmatch(secret)]
    return cast("T", _mask(value, forms, escaped))


def _write(secret: str) -> Iterator[str]:
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    raw = _encode(secret)
    yield raw.decode("utf-8", "replace")
    for written in (quote(raw, safe=""), quote(raw), quote(raw, safe="!'()*"), quote_plus(raw)):
        yield written
        yield _ESCAPED.sub(lambda match: match[0].lower(), written)
    yield raw.hex()
    yield raw.hex().upper()
    for before in range(3):
        # Without the characters that what stands before and after takes part in.
        encoded = base64.b64encode(bytes(before) + raw).decode()
        whole = encoded[(before * 8 + 5) // 6 : (before + len(raw)) * 8 // 6]
        yield whole
        yield whole.translate(_URL_SAFE)


def _encode(secret: str) -> bytes:
    try:
        return os.fsencode(secret)  # what is no UTF-8 in a variable
    except UnicodeEncodeError:
        return secret.encode("utf-8", "surrogatepass")


def _mask(value: Any, forms: list[tuple[str, str]], escaped: list[_Escaped]) -> Any:
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        for form, masked in forms:
            value = value.replace(form, masked)
            head, tail, broken = _find_broken(form)
            if head in value or tail in value:
                value = broken.sub(masked, value)
        for piece, pattern in escaped:
            if piece in value:
                value = pattern.sub(MASK, value)
        return _mask_pieces(value, forms)
    if isinstance(value, tuple | list):
        return type(value)(_mask(one, forms, escaped) for one in value)
    if isinstance(value, dict):
        return {_mask(name, forms, escaped): _mask(one, forms, escaped) for name, one in value.items()}
    if isinstance(value, msgspec.Struct):
        old = {name: getattr(value, name) for name in value.__struct_fields__}
        new = {name: _mask(one, forms, escaped) for name, one in old.items()}
        changed = {name: one for name, one in new.items() if one != old[name]}
        return msgspec.structs.replace(value, **changed) if changed else value
    return value


@functools.lru_cache(maxsize=64)
def _find_escaped(secret: str) -> _Escaped:
    """Return a piece of a secret that is written as it is anywhere, and what finds all of it escaped."""
    signs = "".join(map(_escape, _SIGNS.findall(secret)))
    return max(_PLAIN.findall(secret), key=len, default=""), re.compile(signs)


def _escape(sign: str) -> str:
    """Return what finds a sign, or several backslashes, however languages, pages and mails write it."""
    if _PLAIN.fullmatch(sign):
        return sign
    one, many = sign[0], len(sign)
    raw = _encode(one)
    units = one.encode("utf-16-be", "surrogatepass").hex()
    ways = [
        "".join(rf"\\{{1,2}}u{units[at : at + 4]}" for at in range(0, len(units), 4)),
        "".join(rf"(?:%|=|\\{{1,2}}x){byte:02x}" for byte in raw),
        "".join(rf"\\{{1,2}}{byte:03o}" for byte in raw),
        rf"&(?:#x0*{ord(one):x}|#0*{ord(one)}|{_ENTITIES.get(one, '#')});",
    ]
    if one == "\\":
        # Counted together: apart, there are many ways to share out those of a text.
        return rf"(?:\\{{{many},{4 * many}}}|(?i:{'|'.join(ways)}){{{many}}})"
    if one in "\"'":
        # Doubled, or after the end of what is quoted, which begins anew.
        ways += [one * 2, rf"{one}\\{one}{one}", "'\"'\"'"]
    # The shorter ones last: with a part of a longer one the rest of the secret does not go on.
    return rf"(?i:{'|'.join(ways)}|\\x{ord(one):02x}|\\{{0,3}}{re.escape(one)})"


@functools.lru_cache(maxsize=1024)
def _find_broken(form: str) -> tuple[str, str, re.Pattern[str]]:
    """Return two pieces of a secret, of which most texts hold none, and what finds it in broken lines."""
    words = form.split()
    pattern = _SPACE.join(_BREAK.join(map(re.escape, word)) for word in words)
    return words[0][:SHORTEST], words[-1][-SHORTEST:], re.compile(pattern)


def _mask_pieces(text: str, forms: list[tuple[str, str]]) -> str:
    """Mask at the edges of the text, and where it was cut, the beginning or end of a secret."""
    pieces: list[str] = []
    for form, masked in forms:
        head, tail = form[:SHORTEST], form[-SHORTEST:]
        if head not in text and tail not in text:
            continue
        pieces = pieces or _EDGES.split(text)
        for number in range(0, len(pieces), 2):
            if head in pieces[number] or tail in pieces[number]:
                pieces[number] = _mask_ends(pieces[number], form, masked)
    return "".join(pieces) or text


def _mask_ends(text: str, form: str, masked: str) -> str:
    at = max(len(text) - len(form), 0)
    while (at := text.find(form[:SHORTEST], at)) >= 0:
        if form.startswith(text[at:]):
            text = text[:at] + masked
            break
        at += 1
    end = min(len(form), len(text))
    while (at := text.rfind(form[-SHORTEST:], 0, end)) >= 0:
        if form.endswith(text[: at + SHORTEST]):
            return masked + text[at + SHORTEST :]
        end = at + SHORTEST - 1
    return text
