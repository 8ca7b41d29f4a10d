"""Validates JSON against a JSON Schema, both of which may be bad, within a time limit."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from skillopt_replay import process
from skillopt_replay.errors import ReplayError

SECONDS = 10.0

# Apart, because nothing inside a process can stop a pattern in a schema that backtracks for hours.
_VALIDATE = r"""
import json, re, sys
from skillopt_replay.models.schemas import find_mismatch

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
            return [decoder.raw_decode(text[start:].lstrip())[0]]
        except (ValueError, RecursionError):
            continue
    return []


try:
    schema = json.loads(schema_text)
    if not isinstance(schema, dict):
        raise ValueError("it is no JSON object")
    found = find(text)
    mismatch = find_mismatch(found[0] if found else None, schema)
except Exception as error:
    print(json.dumps(["invalid", f"{error}"]))
else:
    told = ["no", mismatch] if mismatch else ["yes", ""]
    print(json.dumps(told if found else ["missing", "holds no JSON"]))
"""


class SchemaFailed(ReplayError):
    """The schema is none, or takes too long on this JSON."""


async def satisfies(schema: str, text: str, name: str, *, seconds: float = SECONDS) -> tuple[bool, str]:
    """Return whether the JSON in `text` satisfies `schema`, and one line about `name` that says why.

    The JSON is the whole text, else its last fenced block that is JSON, else what starts on one of its lines.
    No reference is fetched. Raises SchemaFailed, and ReplayError when it was killed by another.
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
    if finished.returncode < 0:
        raise ReplayError(f"the validation was killed by signal {-finished.returncode}")
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
