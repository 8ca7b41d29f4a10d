"""JSON in an answer against a schema, both possibly bad."""

from __future__ import annotations

import json

import pytest

from skillopt_replay.checks import evaluate, needs_files
from skillopt_replay.sandbox.none import NoSandbox
from skillopt_replay.schemas import SchemaFailed, satisfies
from skillopt_replay.tasks import JsonSchema

SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
)


@pytest.mark.parametrize(
    ("answer", "holds", "said"),
    [
        ('{"n": 1}', True, "satisfies"),
        ('Here it is:\n```json\n{"n": 1}\n```\nDone.', True, "satisfies"),
        ('First ```json\n{"n": "x"}\n``` then ```\n{"n": 2}\n```', True, "satisfies"),
        ('Result:\n{"n": 1}', True, "satisfies"),
        ('{"n": "one"}', False, "'one' is not of type 'integer'"),
        ('{"n": 1, "m": 2}', False, "Additional properties"),
        ("no data at all", False, "holds no JSON"),
        ('{"n": NaN}', False, "holds no JSON"),
        ("[" * 100_000, False, "holds no JSON"),
        ("", False, "holds no JSON"),
    ],
)
async def test_the_json_of_an_answer_is_held_against_the_schema(answer, holds, said):
    found, detail = await satisfies(SCHEMA, answer, "the answer")
    assert found is holds
    assert said in detail


@pytest.mark.parametrize(
    "schema", ["", "{", '{"type": "nonsense"}', '"text"', "[1]", '{"$ref": "#/nowhere"}']
)
async def test_a_schema_that_is_none_is_said_to_be_none(schema):
    with pytest.raises(SchemaFailed, match="not one that can be used"):
        await satisfies(schema, "{}", "the answer")


async def test_no_reference_is_fetched():
    with pytest.raises(SchemaFailed, match="not one that can be used"):
        await satisfies('{"$ref": "http://127.0.0.1:9/schema.json"}', "{}", "the answer")


async def test_a_pattern_that_backtracks_for_hours_ends_in_time():
    schema = json.dumps({"type": "string", "pattern": "^(a+)+$"})
    with pytest.raises(SchemaFailed, match="takes more than"):
        await satisfies(schema, json.dumps("a" * 60 + "!"), "the answer", seconds=1.0)


async def test_a_file_of_the_workspace_can_be_held_against_a_schema(tmp_path, make_rollout):
    workspace = tmp_path / "runs" / "skillopt-replay-x"
    workspace.mkdir(parents=True)
    (workspace / "out.json").write_text('{"n": 3}')
    checks = [
        JsonSchema(schema=SCHEMA, path="out.json"),
        JsonSchema(schema=SCHEMA, path="none.json"),
        JsonSchema(schema=SCHEMA, path="../../secret.json"),
        JsonSchema(schema="{", path="out.json", negate=True),
    ]
    assert needs_files(checks)
    assert not needs_files([JsonSchema(schema=SCHEMA)])
    score = await evaluate(checks, make_rollout("nothing"), workspace, NoSandbox())
    assert [result.passed for result in score.results] == [True, False, False, False]
    assert "leads out of the workspace" in score.results[2].detail
