"""What is secret of what a run is lent: in variables, settings, arguments and credential files."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

SHORTEST = 8  # anything shorter stands in many texts that have nothing to do with it
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
        found += _strings(msgspec.json.decode(file), 2 * SHORTEST)
    return keep_long(found)


def find_all(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the secrets of variables each of which is one, the passwords in their URLs among them."""
    return keep_long((*env.values(), *_find_logins(env), *_find_parts(env)))


def find_in_arguments(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the secrets among the arguments of a command: by the names before them, and in URLs.

    `--api-key VALUE`, `--api-key=VALUE`, `API_KEY=VALUE`, `-H "Authorization: VALUE"`, logins in addresses.
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
    kept = {value.strip() for value in values if len(value.strip()) >= SHORTEST}
    kept |= {match[1] for value in kept if (match := _SCHEME.fullmatch(value)) and len(match[1]) >= SHORTEST}
    kept |= {word for value in kept for word in _BETWEEN.split(value) if _MADE_BY_CHANCE.match(word)}
    return tuple(sorted(kept, key=len, reverse=True))


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
