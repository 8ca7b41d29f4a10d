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
from urllib.parse import quote, quote_plus, unquote

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

MASK = "[redacted:credential]"
_ESCAPED = re.compile(r"%[0-9A-F]{2}")
_URL_SAFE = str.maketrans("+/", "-_")
_SHORTEST = 8  # anything shorter stands in many texts that have nothing to do with it
_SECRET_NAME = re.compile(r"key|token|secret|password|passwd|auth|credential|headers|cookie", re.IGNORECASE)
_PLACE_NAME = re.compile(r"(?:proxy|url)\Z", re.IGNORECASE)
_USERINFO = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]*:/+)?([^/?#\s]+)@")
# With signs in the password that end it, or one slash: no service is there, but a password is.
_MISWRITTEN = re.compile(r"\s*(?:[A-Za-z][A-Za-z0-9+.-]*:?/+)?[^/?#:\s]+:(?!\d*[/?#])(\S+)@")
# A value can hold several: headers, a file of keys. Words that do not look made by chance are none.
_BETWEEN = re.compile(r"[\s\"',;:={}\[\]@]+|\\n")
_LINES = re.compile(r"\r?\n|\\n")
_SCHEME = re.compile(r"(?:bearer|basic|token)\s+(\S.*)", re.IGNORECASE | re.DOTALL)
# Of cookies, connection strings, queries and files of settings.
_PART = re.compile(r"(?<![\w.-])([A-Za-z][\w .-]{0,40}?)[ \t]*[=:](?!//)[ \t]*([^;&\n]+)")
_PART_NAME = re.compile(rf"{_SECRET_NAME.pattern}|pwd|session|\bsid\b", re.IGNORECASE)
_ARGUMENT = re.compile(r"(-{0,2}[A-Za-z][\w.-]*)(?:=(.*))?", re.DOTALL)
_HEADER = re.compile(r"([A-Za-z][\w-]*):\s*(.*)", re.DOTALL)
_MADE_BY_CHANCE = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z]).{16}", re.DOTALL)
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


def find_secrets(
    env: Mapping[str, str], route: Mapping[str, Any] | None = None, file: bytes | None = None
) -> tuple[str, ...]:
    """Return the secrets lent to a run: in variables and settings (`route`) by their names, and in a file.

    A password in the URL of a variable is one as well. Of a credential file (JSON) whatever is long counts.
    """
    found = [value for name, value in env.items() if _SECRET_NAME.search(name)]
    found += _named(route or {})
    found += [*_find_logins(env), *_find_parts(env)]
    if file is not None:
        # Names of plans and ways to sign in are shorter than any token.
        found += _strings(msgspec.json.decode(file), 2 * _SHORTEST)
    return keep_long(found)


def find_all(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the secrets of variables each of which is one, the passwords in their URLs among them."""
    return keep_long((*env.values(), *_find_logins(env), *_find_parts(env)))


def find_in_arguments(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the secrets among the arguments of a command: by the names before them, and in URLs.

    `--api-key VALUE`, `--api-key=VALUE`, `API_KEY=VALUE`, `-H "Authorization: VALUE"`, `https://ME:VALUE@HOST`.
    """
    found: list[str] = []
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=False):
        match = _ARGUMENT.fullmatch(argument)
        name, value = (match[1], match[2]) if match else ("", argument)
        if value is None:
            value = following if name.startswith("-") and not following.startswith("-") else ""
        if _SECRET_NAME.search(name) and not (value.isdecimal() or value.startswith(("/", "~/"))):
            found.append(value)  # the number and the path are a limit, or where a key is kept
        if (header := _HEADER.fullmatch(value)) and _SECRET_NAME.search(header[1]):
            found.append(header[2])
        found += _find_login("url", value)
    return keep_long(found)


def keep_long(values: Iterable[str]) -> tuple[str, ...]:
    """Return what of the values is long enough to be masked, the longest first: each, and what it holds."""
    kept = {value.strip() for value in values if len(value.strip()) >= _SHORTEST}
    kept |= {match[1] for value in kept if (match := _SCHEME.fullmatch(value)) and len(match[1]) >= _SHORTEST}
    kept |= {word for value in kept for word in _BETWEEN.split(value) if _MADE_BY_CHANCE.match(word)}
    return tuple(sorted(kept, key=len, reverse=True))


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
    return words[0][:_SHORTEST], words[-1][-_SHORTEST:], re.compile(pattern)


def strip_miswritten(url: str) -> str:
    """Return a URL without the login in it that no reader of URLs would find, as it is: see `strip_login`."""
    return _MISWRITTEN.sub("", url, count=1) if _MISWRITTEN.match(url) else url


def _find_logins(env: Mapping[str, str]) -> list[str]:
    return [part for name, value in env.items() for part in _find_login(name, value)]


def _find_parts(env: Mapping[str, str]) -> Iterator[str]:
    """Yield what each of several headers or cookies in a variable holds, and what else is named as a secret.

    None of it need look made by chance.
    """
    for name, value in env.items():
        whole = any(word in name.lower() for word in ("headers", "cookie"))
        if (settings := _read_object(value)) is not None:
            yield from _strings(settings, 0) if whole else _named(settings)
            continue
        if "headers" in name.lower():
            yield from (line.partition(":")[2] for line in _LINES.split(value))
        yield from (part[2] for part in _PART.finditer(value) if whole or _PART_NAME.search(part[1]))


def _read_object(value: str) -> dict[str, Any] | None:
    try:
        found = json.loads(value) if value.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _find_login(name: str, value: str) -> list[str]:
    """Return the password in a URL, or all of the login where it has none, as it is and as it is meant."""
    match = _USERINFO.match(value)
    if match is None and (wrong := _MISWRITTEN.match(value)):
        return [wrong[1]]
    if match is None or not (match[1] or _PLACE_NAME.search(name)):
        return []
    user, _, password = match[2].partition(":")
    return [password or user, unquote(password or user)]


def _mask_pieces(text: str, forms: list[tuple[str, str]]) -> str:
    """Mask at the edges of the text, and where it was cut, the beginning or end of a secret."""
    pieces: list[str] = []
    for form, masked in forms:
        head, tail = form[:_SHORTEST], form[-_SHORTEST:]
        if head not in text and tail not in text:
            continue
        pieces = pieces or _EDGES.split(text)
        for number in range(0, len(pieces), 2):
            if head in pieces[number] or tail in pieces[number]:
                pieces[number] = _mask_ends(pieces[number], form, masked)
    return "".join(pieces) or text


def _mask_ends(text: str, form: str, masked: str) -> str:
    at = max(len(text) - len(form), 0)
    while (at := text.find(form[:_SHORTEST], at)) >= 0:
        if form.startswith(text[at:]):
            text = text[:at] + masked
            break
        at += 1
    end = min(len(form), len(text))
    while (at := text.rfind(form[-_SHORTEST:], 0, end)) >= 0:
        if form.endswith(text[: at + _SHORTEST]):
            return masked + text[at + _SHORTEST :]
        end = at + _SHORTEST - 1
    return text


def _named(settings: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for name, value in settings.items():
        if name == "model_providers" and isinstance(value, dict):
            # The names of providers are the user's own, and tell nothing.
            found += [one for table in value.values() if isinstance(table, dict) for one in _named(table)]
            continue
        # Those name variables, which are no secret.
        if name.startswith("env_"):
            continue
        if _SECRET_NAME.search(name):
            found += _strings(value, 0)
        elif name == "query_params" and isinstance(value, dict):
            # Signatures and codes go by many names there; what is no secret is the version asked for.
            found += [one for key, one in value.items() if isinstance(one, str) and "version" not in key]
        elif isinstance(value, dict):
            found += _named(value)
        elif isinstance(value, str):
            found += _find_login(name, value)
    return found


def _strings(value: Any, shortest: int) -> list[str]:
    if isinstance(value, str):
        return [value] if len(value) >= shortest else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in _strings(one, shortest)]
