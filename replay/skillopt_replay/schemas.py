"""Validates JSON against a JSON Schema, both of which may be bad, within a time limit."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from skillopt_replay import process
from skillopt_replay.errors import ReplayError

SECONDS = 10.0

# Apart, because a pattern in a schema can backtrack for hours; without a registry it would fetch references.
_VALIDATE = r"""
import json, re, sys
from jsonschema import exceptions, validators
from referencing import Registry

schema_text, text = json.load(sys.stdin)


def refuse(name):
    raise ValueError(f"{name} is not JSON")


def find(text):
    fences = re.findall(r"```[A-Za-z0-9_-]*[ \t]*\r?\n(.*?)```", text, re.DOTALL)
    for part in (text, *reversed(fences)):
        try:
            return [json.loads(part, parse_constant=refuse)]
        except (ValueError, RecursionError):
            pass
    decoder = json.JSONDecoder(parse_constant=refuse)
    for start in [m.start() for m in re.finditer(r"^[ \t]*[\[{]", text, re.MULTILINE)][-50:]:
        try:
            value, end = decoder.raw_decode(text[start:].lstrip())
        except (ValueError, RecursionError):
            continue
        return [value]
    return []


try:
    schema = json.loads(schema_text)
    kind = validators.validator_for(schema, default=validators.Draft202012Validator)
    kind.check_schema(schema)
except (ValueError, RecursionError, exceptions.SchemaError, AttributeError, TypeError) as error:
    print(json.dumps(["invalid", getattr(error, "message", str(error))]))
    sys.exit()
found = find(text)
if not found:
    print(json.dumps(["missing", "holds no JSON"]))
    sys.exit()
try:
    error = exceptions.best_match(kind(schema, registry=Registry()).iter_errors(found[0]))
except Exception as error:
    print(json.dumps(["invalid", f"{type(error).__name__}: {error}"]))
else:
    print(json.dumps(["no", f"{error.json_path}: {error.message}"] if error else ["yes", ""]))
"""


class SchemaFailed(ReplayError):
    """The schema is none, or takes too long on this JSON."""


async def satisfies(schema: str, text: str, name: str, *, seconds: float = SECONDS) -> tuple[bool, str]:
    """Return whether the JSON in `text` satisfies `schema`, and one line about `name` that says why.

    The JSON is the whole text, else its last fenced block that is JSON, else what starts on one of its lines.
    No reference is fetched. Raises SchemaFailed.
    """
    finished = await process.run(
        [sys.executable, "-I", "-c", _VALIDATE],
        cwd=Path("/"),
        env={"PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1"},
        seconds=seconds,
        stdin=msgspec.json.encode([schema, text]),
    )
    if finished.timed_out:
        raise SchemaFailed(f"the schema takes more than {seconds:g} s on {name}")
    try:
        word, said = msgspec.json.decode(finished.stdout, type=tuple[str, str])
    except msgspec.DecodeError as error:
        raise SchemaFailed(f"validating failed: {finished.stderr.strip()[-200:]}") from error
    said = " ".join(said.split())[:200]
    if word == "invalid":
        raise SchemaFailed(f"the schema is not one that can be used: {said}")
    if word == "yes":
        return True, f"{name} satisfies the schema"
    return False, f"{name} {said}" if word == "missing" else f"{name} does not satisfy the schema: {said}"
