"""The settings file: read, checked, explained and written."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import msgspec
from msgspec import Meta

from skillopt_sleep.agents import CHAT
from skillopt_sleep.errors import NothingToDo, UsageError
from skillopt_sleep.files import write_atomically
from skillopt_sleep.settings import Settings

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

_PRICES = "prices"
_OF_PRICES = "US dollars per million tokens of a model: [input, output, cache read, cache write]"
_KINDS = {int: "a whole number", float: "a number", bool: "true or false", tuple: "a list", str: "text"}
_NO_CEILING = "for none write a number that no night reaches, such as 1000000 (for ceilings.usd_month: 0)"
_BOUNDS = {"<=": "of at most", ">=": "of at least", "<": "below", ">": "above"}


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """One setting as shown: `origin` is default or file."""

    key: str
    value: Any
    origin: str
    description: str


def load(path: Path) -> Settings:
    """Read the settings; a missing file means defaults. Raises UsageError for anything it cannot take."""
    return _convert(_read(path), path)


def list_values(path: Path) -> list[Value]:
    """Return every setting with its value, origin and description."""
    raw = _read(path)
    settings = _convert(raw, path)
    values = [
        Value(
            key=key,
            value=getattr(getattr(settings, section), name),
            origin="file" if name in raw.get(section, {}) else "default",
            description=description,
        )
        for key, section, name, description in _keys()
    ]
    return values + [
        Value(key=f"{_PRICES}.{model}", value=prices, origin="file", description=_OF_PRICES)
        for model, prices in settings.prices.items()
    ]


def set_value(path: Path, key: str, text: str) -> Value:
    """Write one setting, keeping comments and order. Raises UsageError, having written nothing, if bad."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    section, name = _split(key)
    if section == _PRICES and not name:
        raise UsageError(
            "prices are set by model", hint="prices.MODEL, for example prices.gpt-x '[1.0, 2.0]'"
        )
    document = _parse(path)
    if not isinstance(document.get(section, {}), dict):
        _convert(document.unwrap(), path)
    current = _kind(section, name)
    try:
        if section == _PRICES:
            value: Any = _read_numbers(text)
        elif current is tuple and not text.lstrip().startswith("["):
            value = [part.strip() for part in text.split(",") if part.strip()]
        else:
            # As a value in a line of its own, so that no second setting can come with it.
            value = text if current is str else tomlkit.value(text.strip()).unwrap()
    except TOMLKitError as error:
        raise UsageError(f"{key}: {text!r} is not {_KINDS[current]}") from error
    if section not in document:
        document[section] = tomlkit.table()
    document[section][name] = value
    settings = _convert(document.unwrap(), path)
    if key == "review.keys":
        # Here, as the review itself would only tell in the morning; its library is loaded for this key alone.
        from skillopt_sleep.review.keys import read_keys

        read_keys(settings.review.keys)
    _check_model(key, settings)
    # A file that is a link, as people keep their dotfiles, stays one.
    write_atomically(path.resolve(), tomlkit.dumps(document))
    return next(v for v in list_values(path) if v.key == key)


def unset_value(path: Path, key: str) -> Value | None:
    """Take one setting out of the file, and return its default (None: a price has none).

    Raises UsageError for an unknown key, NothingToDo when the file does not set it.
    """
    import tomlkit

    section, name = _split(key)
    document = _parse(path)
    table = document.get(section, {})
    if not isinstance(table, dict) or name not in table:
        raise NothingToDo(f"{key} is not set in {path}")
    del table[name]
    _convert(document.unwrap(), path)
    write_atomically(path.resolve(), tomlkit.dumps(document))
    return next((value for value in list_values(path) if value.key == key), None)


def _check_model(key: str, settings: Settings) -> None:
    """Raise UsageError when a setting names a model that no night could open, whatever is set up here."""
    optimizer = settings.optimizer.model
    # What else runs the tasks has models of its own names.
    target = settings.target.model if settings.target.agent == CHAT else ""
    named = {
        "optimizer.model": "" if optimizer == "auto" else optimizer or " ",
        "judge.model": settings.judge.model,
        "target.model": target,
        "target.agent": target,
    }
    if not named.get(key):
        return
    from skillopt_replay.errors import Unavailable
    from skillopt_replay.models.registry import check_spelling

    try:
        check_spelling(named[key])
    except Unavailable as error:
        raise UsageError(f"{key}: {error.message}", hint=error.hint) from error


def write_settings(path: Path, settings: Settings) -> None:
    """Write a settings file of our own: what differs from the defaults, without the prices."""
    import tomlkit

    plain, given = msgspec.to_builtins(Settings()), msgspec.to_builtins(settings)
    sections = {section: given[section] for section in given if section != _PRICES}
    changed = {
        section: {name: value for name, value in values.items() if value != plain[section][name]}
        for section, values in sections.items()
    }
    write_atomically(path, tomlkit.dumps({section: values for section, values in changed.items() if values}))


def get_value(path: Path, key: str) -> Value:
    """Return one setting. Raises UsageError for an unknown key."""
    _split(key)
    value = next((v for v in list_values(path) if v.key == key), None)
    if value is None:
        raise UsageError(f"there is no price for {key.partition('.')[2]!r} in the settings", hint=_OF_PRICES)
    return value


def _read_numbers(text: str) -> list[float]:
    parts = [part.strip() for part in text.strip().removeprefix("[").removesuffix("]").split(",")]
    try:
        return [float(part) for part in parts if part]
    except ValueError as error:
        raise UsageError(f"{text!r} is no list of numbers", hint=_OF_PRICES) from error


def _keys() -> Iterator[tuple[str, str, str, str]]:
    for section in msgspec.structs.fields(Settings):
        if section.name == _PRICES:
            continue
        hints = get_type_hints(section.type, include_extras=True)
        for field in msgspec.structs.fields(section.type):
            yield f"{section.name}.{field.name}", section.name, field.name, _describe(hints[field.name])


def _describe(annotation: object) -> str:
    for argument in reversed(get_args(annotation)):
        if isinstance(argument, Meta) and argument.description:
            return argument.description
    return ""


def _kind(section: str, name: str) -> type:
    if section == _PRICES:
        return tuple
    return type(getattr(getattr(Settings(), section), name))


def _split(key: str) -> tuple[str, str]:
    known = [k for k, *_ in _keys()]
    if key not in known and not key.startswith(f"{_PRICES}."):
        raise UsageError(f"there is no setting {key!r}", hint=_suggest(key, known))
    section, _, name = key.partition(".")
    return section, name


def _suggest(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean {near[0]}?" if near else "skillopt-sleep config show lists them all"


def _text(path: Path) -> str:
    try:
        # Some editors begin a file with a byte order mark.
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise UsageError(f"cannot read {path}: it is not UTF-8", hint="save it as UTF-8") from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error


def _read(path: Path) -> dict[str, Any]:
    # The parser is not loaded by the commands of somebody who has set nothing.
    return _parse(path).unwrap() if _text(path) else {}


def _parse(path: Path) -> TOMLDocument:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(_text(path))
    except TOMLKitError as error:
        # Behind the end of the text, the parser sees a character that is not there.
        said = "it ends within a setting" if r"'\x00'" in str(error) else str(error)
        raise UsageError(f"{path} is not TOML: {said}", hint="mend the line or remove the file") from error


def _convert(raw: dict[str, Any], path: Path) -> Settings:
    try:
        settings = msgspec.convert(raw, Settings, strict=True)
    except msgspec.ValidationError as error:
        raise _explain(str(error), raw, path) from error
    for section, values in raw.items():
        for name, value in values.items():
            # What TOML writes as inf and nan is compared with in vain.
            if any(isinstance(one, float) and not isfinite(one) for one in _list(value)):
                hint = _NO_CEILING if section == "ceilings" else ""
                what = f"{section}.{name} cannot be {value!r}: it has to be finite"
                raise UsageError(f"{path}: {what}", hint=hint)
    return settings


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _explain(said: str, raw: dict[str, Any], path: Path) -> UsageError:
    """Put into words what msgspec says, which for a list of choices is a pattern."""
    said, _, place = said.partition(" - at `$.")
    place = place.rstrip("`")
    unknown = re.fullmatch(r"Object contains unknown field `(.*)`", said)
    if unknown:
        known = [key for key, *_ in _keys()] if place else Settings.__struct_fields__
        what, word = ("setting", f"{place}.{unknown[1]}") if place else ("section", unknown[1])
        return UsageError(f"{path}: there is no {what} {word!r}", hint=_suggest(word, known))
    wanted = re.fullmatch(r"Expected (.*)", said, re.DOTALL)
    if wanted and place.startswith(_PRICES):
        return UsageError(
            f"{path}: a price under [{_PRICES}] is no list of two to four numbers", hint=_OF_PRICES
        )
    section, _, name = re.sub(r"\[.*", "", place).partition(".")
    if wanted and section in Settings.__struct_fields__ and not name:
        return UsageError(f"{path}: {section} is a section", hint=f"its settings go below [{section}]")
    takes = {(section, name): text for _, section, name, text in _keys()}
    if wanted is None or (section, name) not in takes:
        return UsageError(f"{path}: {said}", hint="skillopt-sleep config show lists the settings")
    key, value = f"{section}.{name}", raw[section][name]
    why = "" if "matching regex" in wanted[1] else f": it takes {_name_kind(wanted[1], _kind(section, name))}"
    return UsageError(f"{path}: {key} cannot be {value!r}{why}", hint=f"{key}: {takes[section, name]}")


def _name_kind(wanted: str, kind: type) -> str:
    """Return in words what msgspec says that it wants, for example "`float` >= 0.0" or "`str`, got `int`"."""
    bounds = re.search(r"(<=|>=|<|>) (\S+)", wanted)
    return _KINDS[kind] + (f" {_BOUNDS[bounds[1]]} {bounds[2].removesuffix('.0')}" if bounds else "")
