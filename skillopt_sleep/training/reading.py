"""Read a run's configuration: YAML with `_base_`, then `section.key=value` overrides."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from skillopt_sleep.errors import UsageError
from skillopt_sleep.training.checking import check
from skillopt_sleep.training.config import Config
from skillopt_sleep.training.reference_keys import is_of_reference, translate

_BASE = "_base_"
_INT = "tag:yaml.org,2002:int"
# Keys of the reference implementation that only belong to one of its own backends, or never had an effect.
_GONE = {
    "gradient.max_analyst_rounds": "it never had an effect: leave it out",
    "optimizer.meta_learning_rate": "it never had an effect: leave it out",
    "evaluation.use_semantic_density": "it rewards words rather than results: leave it out",
    "evaluation.semantic_density_weight": "it rewards words rather than results: leave it out",
    "evaluation.leading_words": "it rewards words rather than results: leave it out",
    "env.split_output_dir": "splits are made in memory: leave it out",
}
# Keys that the reference calls otherwise where it has no sections, besides those it calls the same.
_FLAT = {
    "model_backend": ("model", "backend"),
    "optimizer_model": ("model", "optimizer"),
    "target_model": ("model", "target"),
    "edit_budget": ("optimizer", "learning_rate"),
    "min_edit_budget": ("optimizer", "min_learning_rate"),
    "env": ("env", "name"),
}


# How msgspec names what a setting takes, and how we do.
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "text",
    "array": "a list, as in [a, b]",
    "object": "a mapping, as in {a: 1}",
}


class _Loader(yaml.SafeLoader):
    """Reads 2:1:7 as the text it is, which for YAML 1.1 is a number to the base of 60.

    A key that stands twice is an error: the first of two sections would be gone without a word.
    """

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"{key.value} stands twice", problem_mark=key.start_mark)
            seen |= {key.value} if isinstance(key, yaml.ScalarNode) else set()
        return node

    def construct_whole(self, node: yaml.ScalarNode) -> int | str:
        text = str(self.construct_scalar(node))
        return text if ":" in text else self.construct_yaml_int(node)


_Loader.add_constructor(_INT, _Loader.construct_whole)


def read(path: Path | None, overrides: Sequence[str] = ()) -> Config:
    """Return the configuration of the file (None: the defaults) with the overrides applied in turn.

    Raises UsageError with a suggestion for a key that is unknown, and for a value that does not fit.
    """
    values = _load(path, ()) if path is not None else {}
    for override in overrides:
        values = _merge(values, _parse(override))
    return make(values)


def make(values: Mapping[str, Any]) -> Config:
    """Return the configuration of nested values. Raises UsageError."""
    values, faults = translate(values)
    _check_keys(values, faults)
    try:
        config = msgspec.convert(values, Config)
    except msgspec.ValidationError as error:
        raise _say_kind(str(error), values) from error
    return check(config)


def dump(config: Config) -> str:
    """Return the configuration as YAML, as `read` takes it. It holds no secret: no key of it is one."""
    return yaml.safe_dump(msgspec.to_builtins(config), sort_keys=False, allow_unicode=True)


def _load(path: Path, seen: tuple[Path, ...]) -> dict[str, Any]:
    path = path.resolve()
    if path in seen:
        raise UsageError(f"{path}: the {_BASE} files include each other in a circle")
    try:
        values = _read_yaml(path.read_text(encoding="utf-8")) or {}
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise UsageError(f"{path} cannot be read: {reason}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is not YAML: {_say_fault(error)}") from error
    if not isinstance(values, dict):
        raise UsageError(f"{path} is not a mapping of sections")
    base = values.pop(_BASE, None)
    values = _arrange(values)
    if base is None:
        return values
    if not isinstance(base, str):
        raise UsageError(f"{path}: {_BASE} is the path of one file")
    return _merge(_load(path.parent / base, (*seen, path)), values)


def _read_yaml(text: str) -> Any:
    return yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader


def _say_fault(error: yaml.YAMLError) -> str:
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return " ".join(str(error).split())
    said = error.problem or error.context or "it cannot be read"
    return f"line {error.problem_mark.line + 1}: {said}"


def _say_kind(said: str, values: Mapping[str, Any]) -> UsageError:
    """Put into words what msgspec says of a value of another kind than its key takes."""
    found = re.fullmatch(r"Expected `(\w+)[^`]*`, got `.*` - at `\$\.(\w+)\.(\w+)(.*)`", said)
    if found is None:
        return UsageError(f"configuration: {said}")
    wanted, section, key, inside = found.groups()
    it = "what is in it" if inside else "it"
    return UsageError(
        f"{section}.{key} is {values[section][key]!r}", hint=f"{it} must be {_KINDS.get(wanted, wanted)}"
    )


def _arrange(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a file in sections: a key outside of them goes where it belongs.

    One that stands in its section as well counts there. One that several sections have belongs to none.
    """
    arranged = {key: value for key, value in values.items() if _find_place(key, value) is None}
    for key, value in values.items():
        place = _find_place(key, value)
        if place is not None:
            inside = arranged.get(place[0])
            own = dict(inside) if isinstance(inside, Mapping) else {}
            arranged[place[0]] = {place[1]: value, **own}
    return arranged


def _find_place(key: str, value: object) -> tuple[str, str] | None:
    """Return the section and the name of a key that stands outside of all sections."""
    if isinstance(value, Mapping):
        return None
    if key in _FLAT:
        return _FLAT[key]
    if is_of_reference(key):
        return "model", key
    kinds = {section.name: section.type for section in msgspec.structs.fields(Config)}
    having = [name for name, kind in kinds.items() if key in {f.name for f in msgspec.structs.fields(kind)}]
    return (having[0], key) if len(having) == 1 and key not in kinds else None


def _merge(base: Mapping[str, Any], child: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in child.items():
        below = merged.get(key)
        both = isinstance(below, Mapping) and isinstance(value, Mapping)
        merged[key] = _merge(below, value) if both else value  # type: ignore[arg-type]
    return merged


def _parse(override: str) -> dict[str, Any]:
    name, separator, text = override.partition("=")
    path = name.strip().split(".")
    if not separator or len(path) < 2 or not all(path):
        raise UsageError(
            f"{override!r} is no override", hint="write section.key=value, as in train.num_epochs=2"
        )
    try:
        value = _read_yaml(text) if text.strip() else ""
    except yaml.YAMLError as error:
        raise UsageError(f"the value of {name} is not YAML: {text!r}") from error
    nested: dict[str, Any] = {path[-1]: value}
    for key in reversed(path[:-1]):
        nested = {key: nested}
    return nested


def _check_keys(values: Mapping[str, Any], faults: list[tuple[str, str]]) -> None:
    """Raise UsageError for the faults and all keys that do not exist, each with what to do."""
    sections = {field.name: field.type for field in msgspec.structs.fields(Config)}
    known = {name: [f.name for f in msgspec.structs.fields(kind)] for name, kind in sections.items()}
    places = [f"{section}.{key}" for section, keys in known.items() for key in keys]
    faults = list(faults)
    for section, entries in values.items():
        if section not in sections:
            faults.append((f"no section is called {section}", _suggest(str(section), list(sections))))
        elif not isinstance(entries, Mapping):
            faults.append((f"{section} is a section", "its keys go below it"))
        else:
            names = [f"{section}.{key}" for key in entries if key not in known[section]]
            faults += [_explain(name, places) for name in names]
    if faults:
        first, hint = faults[0]
        others = "".join(f"\n  {message}: {advice}" for message, advice in faults[1:])
        raise UsageError(f"configuration: {first}{': ' + hint if others else ''}{others}", hint=hint)


def _explain(name: str, places: Sequence[str]) -> tuple[str, str]:
    if name in _GONE:
        return f"{name} is not used", _GONE[name]
    own = ", or put it below env.options if the environment takes it" if name.startswith("env.") else ""
    return f"no key is called {name}", _suggest(name, places) + own


def _suggest(name: str, known: Sequence[str]) -> str:
    section, _, last = name.rpartition(".")
    elsewhere = [one for one in known if one.rpartition(".")[2] == last]
    beside = {one.rpartition(".")[2]: one for one in known if one.rpartition(".")[0] == section}
    close = elsewhere or [beside[one] for one in difflib.get_close_matches(last, beside, n=1)]
    return (
        f"did you mean {close[0]}?" if close else f"known are {', '.join([*beside.values()] or known[:40])}"
    )
