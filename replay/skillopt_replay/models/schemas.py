"""JSON schemas of replies: checking a reply, putting a schema simply for a service, telling it in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

# What a service that compiles schemas refuses; a reply is checked against them here all the same.
_BOUNDS = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
}
_DROPPED = {"uniqueItems", "pattern", "format", "default", "title", "$schema", "$id", "examples"}
_NAMED = {"properties", "$defs", "definitions", "patternProperties"}
_TYPES: dict[type, str] = {
    bool: "boolean",
    str: "string",
    int: "integer",
    float: "number",
    type(None): "null",
}


def find_mismatch(value: object, schema: Mapping[str, Any]) -> str | None:
    """Return in one line where the value is not as the schema says, None when it is.

    Raises ValueError when the schema itself is none.
    """
    import jsonschema
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    try:
        validator = jsonschema.validators.validator_for(dict(schema), default=jsonschema.Draft202012Validator)
        validator.check_schema(dict(schema))
    except jsonschema.SchemaError as error:
        raise ValueError(f"not a JSON schema: {error.message}") from error
    checked: Any = value
    # Without a registry of its own it would fetch what a schema refers to.
    errors = validator(dict(schema), registry=Registry()).iter_errors(checked)
    try:
        mismatch = jsonschema.exceptions.best_match(errors)
    except Unresolvable as error:
        raise ValueError(f"the JSON schema refers to something that is not in it: {error}") from error
    if mismatch is None:
        return None
    place = "/".join(str(part) for part in mismatch.absolute_path)
    said = " ".join(mismatch.message.split())
    return f"{place or 'the reply'}: {said if len(said) <= 200 else said[:200] + '...'}"


def simplify(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema in the small dialect that services with strict output take.

    Bounds become words of the description, an enumeration gets the type of its values, and an object lists
    all its properties as required and takes no others.
    """
    simple = {
        key: _simplify_below(key, value)
        for key, value in schema.items()
        if key not in _BOUNDS and key not in _DROPPED
    }
    said = [words.format(schema[key]) for key, words in _BOUNDS.items() if key in schema]
    if said:
        simple["description"] = "; ".join(filter(None, [simple.get("description", ""), ", ".join(said)]))
    values = simple.get("enum")
    if isinstance(values, list) and values and "type" not in simple:
        types = sorted({_TYPES[type(value)] for value in values if type(value) in _TYPES})
        simple["type"] = types[0] if len(types) == 1 else types
    if simple.get("type") == "object" and "properties" in simple:
        simple["required"] = list(simple["properties"])
        simple["additionalProperties"] = False
    return simple


def _simplify_below(key: str, value: Any) -> Any:
    if key in _NAMED and isinstance(value, Mapping):
        return {name: simplify(one) if isinstance(one, Mapping) else one for name, one in value.items()}
    if key in {"enum", "const", "required"}:
        return value
    if isinstance(value, Mapping):
        return simplify(value)
    if isinstance(value, list):
        return [simplify(one) if isinstance(one, Mapping) else one for one in value]
    return value


def describe(schema: Mapping[str, Any]) -> str:
    """Return what a model is told that is not made to keep to a schema."""
    text = msgspec.json.encode(schema).decode()
    return f"Reply with one JSON object that is valid under this JSON schema, and with nothing else:\n{text}"
