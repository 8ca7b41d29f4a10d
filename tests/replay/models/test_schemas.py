"""Checking replies against schemas, and putting schemas simply."""

from __future__ import annotations

import json

import pytest

from skillopt_replay.models.schemas import describe, find_mismatch, simplify

EDITS = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string", "maxLength": 5},
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"op": {"enum": ["add", "delete"]}},
                "required": ["op"],
                "additionalProperties": False,
            },
            "minItems": 1,
            "maxItems": 2,
        },
    },
    "required": ["reasoning", "edits"],
    "additionalProperties": False,
}


def test_a_value_to_the_schema_has_no_mismatch():
    assert find_mismatch({"reasoning": "short", "edits": [{"op": "add"}]}, EDITS) is None


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"reasoning": "too long", "edits": [{"op": "add"}]}, "reasoning: "),
        ({"reasoning": "a", "edits": [{"op": "burn"}]}, "edits/0/op: "),
        ({"reasoning": "a", "edits": []}, "edits: "),
        ({"edits": [{"op": "add"}]}, "the reply: "),
        ("text", "the reply: "),
    ],
)
def test_a_mismatch_names_its_place_in_one_line(value, said):
    found = find_mismatch(value, EDITS)
    assert found is not None
    assert found.startswith(said)
    assert "\n" not in found


def test_what_is_no_schema_is_said():
    with pytest.raises(ValueError, match="not a JSON schema"):
        find_mismatch({}, {"type": "wish"})


def test_nothing_is_fetched_for_a_schema():
    with pytest.raises(ValueError, match="not in it"):
        find_mismatch({}, {"$ref": "http://192.0.2.1/schema.json"})


def test_the_simple_form_has_no_bounds_and_says_them_in_words():
    simple = simplify(EDITS)
    text = json.dumps(simple)
    assert not any(word in text for word in ("maxLength", "minItems", "maxItems"))
    assert simple["properties"]["reasoning"] == {"type": "string", "description": "at most 5 characters"}
    assert simple["properties"]["edits"]["description"] == "at least 1 items, at most 2 items"
    assert simple["properties"]["edits"]["items"]["properties"]["op"] == {
        "enum": ["add", "delete"],
        "type": "string",
    }


def test_the_simple_form_requires_every_property_and_takes_no_others():
    simple = simplify(
        {"type": "object", "properties": {"title": {"type": "string"}, "maxItems": {"type": "null"}}}
    )
    assert simple["required"] == ["title", "maxItems"]
    assert simple["additionalProperties"] is False
    assert set(simple["properties"]) == {"title", "maxItems"}


def test_what_a_model_is_told_is_the_whole_schema():
    assert json.loads(describe(EDITS).split("\n", 1)[1]) == EDITS
