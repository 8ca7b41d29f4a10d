"""Decoding what servers send."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_replay.models.prices import FREE, Price
from skillopt_replay.models.replies import find_object, read_error, read_reply
from skillopt_replay.models.retries import Patience, is_transient, requested_wait
from skillopt_replay.rollouts import Usage

SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20)
VALUES = st.recursive(
    SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=8), v, max_size=3)
)
OBJECTS = st.dictionaries(st.text(min_size=1, max_size=8), VALUES, min_size=1, max_size=4)
PROSE = st.text(alphabet=st.characters(exclude_characters="{}`", exclude_categories=["Cs"]), max_size=60)


def body(content, finish="stop", **more):
    return json.dumps(
        {"choices": [{"message": {"content": content}, "finish_reason": finish}], **more}
    ).encode()


@given(PROSE, OBJECTS, PROSE)
def test_an_object_inside_prose_is_found_as_it_was_written(before, value, after):
    assert find_object(before + json.dumps(value) + after) == value


@given(PROSE, OBJECTS)
def test_an_object_in_a_fence_is_found(before, value):
    assert find_object(f"{before}\n```json\n{json.dumps(value, indent=1)}\n```\nDone.") == value


@given(st.text(max_size=300))
def test_any_text_gives_an_object_or_none(text):
    found = find_object(text)
    assert found is None or isinstance(found, dict)


@given(st.binary(max_size=300))
def test_any_body_gives_a_reply_or_a_value_error_and_its_error_text_is_one_line(raw):
    with suppress(ValueError):
        assert isinstance(read_reply(raw).text, str)
    assert "\n" not in read_error(raw).message


def test_the_longest_object_in_prose_wins_over_examples_before_it():
    text = 'Such as {"a": 1}. My answer: {"edits": [{"op": "add"}], "reason": "r"} and {} to end.'
    assert find_object(text) == {"edits": [{"op": "add"}], "reason": "r"}


@pytest.mark.parametrize("around", ["", "So: "])
def test_half_of_a_surrogate_pair_is_a_question_mark_that_files_can_hold(around):
    text = around + r'{"\udfff": ["a \ud800", "\ud83d\ude00"]}'
    assert find_object(text) == {"?": ["a ?", "\U0001f600"]}


def test_what_the_model_thought_aloud_is_not_its_answer():
    assert find_object('<think>maybe {"x": [1, 2, 3, 4, 5, 6]}</think>\n{"y": 2}') == {"y": 2}
    assert find_object('<think>maybe {"x": 1}</think> no object') is None


@pytest.mark.parametrize(
    "text", ["", "[1, 2]", "42", '{"a": NaN}', '{"a": 1', "{" * 5000, '{"a":' * 3000, "words only"]
)
def test_what_is_no_complete_object_is_none(text):
    assert find_object(text) is None


def test_cached_tokens_are_taken_out_of_the_input_and_priced_apart():
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 800}}
    reply = read_reply(body("hi", usage=usage), price=Price(1.0, 10.0, 0.1))
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cache_read_tokens) == (
        200,
        100,
        800,
    )
    assert reply.usage.cost_usd == pytest.approx((200 * 1.0 + 100 * 10.0 + 800 * 0.1) / 1e6)


def test_cached_input_without_a_price_of_its_own_costs_as_much_as_fresh():
    assert Price(2.0, 0.0).cost(Usage(10, 0, 90)) == pytest.approx(200 / 1e6)


def test_without_a_price_the_cost_is_unknown_and_a_local_reply_costs_nothing():
    usage = {"prompt_tokens": 10, "completion_tokens": 1}
    assert read_reply(body("hi", usage=usage)).usage.cost_usd is None
    assert read_reply(body("hi", usage=usage), price=FREE).usage.cost_usd == 0.0
    assert read_reply(body("hi"), price=FREE).usage.cost_usd == 0.0


def test_a_cost_the_server_states_is_taken_when_no_price_is_given():
    assert read_reply(body("hi", usage={"prompt_tokens": 1, "cost": 0.25})).usage.cost_usd == 0.25


def test_null_content_refusals_and_content_in_parts_are_read():
    assert read_reply(body(None)).text == ""
    assert read_reply(body([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])).text == "ab"
    refused = json.dumps({"choices": [{"message": {"content": None, "refusal": "I will not"}}]}).encode()
    assert read_reply(refused).text == "I will not"


def test_a_reply_cut_by_the_token_limit_says_so():
    assert read_reply(body("abc", finish="length")).truncated
    assert not read_reply(body("abc")).truncated


@pytest.mark.parametrize(
    ("raw", "message", "code"),
    [
        (b'{"error": {"message": "too\\nmany", "code": "slow_down"}}', "too many", "slow_down"),
        (b'{"error": {"message": "bad", "type": "invalid", "code": 400}}', "bad", "400"),
        (b'{"error": "plain"}', "plain", ""),
        (b'{"message": "detail"}', "detail", ""),
        (b"<html>Bad Gateway</html>", "<html>Bad Gateway</html>", ""),
        (b"[1]", "[1]", ""),
        (b"", "", ""),
    ],
)
def test_errors_are_read_in_every_shape_servers_give_them(raw, message, code):
    told = read_error(raw)
    assert (told.message, told.code) == (message, code)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_transient(status):
    assert is_transient(status)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 501])
def test_what_will_not_pass_is_permanent(status):
    assert not is_transient(status)


@given(st.integers(0, 30), st.randoms())
def test_waits_grow_up_to_the_longest_and_never_fall_below_half(attempt, rng):
    patience = Patience(first_wait_s=1.0, longest_wait_s=20.0)
    full = min(2.0**attempt, 20.0)
    assert full / 2 <= patience.wait(attempt, rng) <= full


def test_the_wait_a_server_asks_for_is_read_as_seconds_milliseconds_or_date():
    now = datetime(2030, 1, 1, tzinfo=timezone.utc)
    later = (now + timedelta(seconds=30)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    assert requested_wait({"retry-after": "7"}) == 7
    assert requested_wait({"retry-after-ms": "250", "retry-after": "7"}) == 0.25
    assert requested_wait({"retry-after": later}, now) == 30
    assert requested_wait({"retry-after": "Mon, 01 Jan 2001 00:00:00 GMT"}, now) == 0
    for bad in (
        {},
        {"retry-after": ""},
        {"retry-after": "soon"},
        {"retry-after": "-3"},
        {"retry-after": "inf"},
        {"retry-after": "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"},
        {"retry-after": "Mon, 01 Jan 2026 00:00:00 +99999999999999999999"},
    ):
        assert requested_wait(bad, now) is None


@pytest.mark.parametrize("total", [14_428, "14428", 14_428.0])
def test_thoughts_that_only_the_total_counts_are_paid_as_output(total):
    # As xAI and Gemini tell it: 2809 of them are in neither of the two parts.
    told = {"prompt_tokens": 10_120, "completion_tokens": 1_499, "total_tokens": total}
    details = {"completion_tokens_details": {"reasoning_tokens": 2_809}}
    usage = read_reply(body("hi", usage={**told, **details}), price=Price(1.0, 10.0)).usage
    assert (usage.input_tokens, usage.output_tokens) == (10_120, 4_308)
    assert usage.cost_usd == pytest.approx(10_120 / 1e6 + 43_080 / 1e6)


@pytest.mark.parametrize("total", [0, -1, None, 11, 3])
def test_a_total_that_is_less_than_its_parts_takes_nothing_from_them(total):
    told = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": total}
    assert read_reply(body("hi", usage=told)).usage == Usage(10, 3)


def test_what_a_router_asks_with_the_users_own_key_costs_what_the_maker_takes_as_well():
    told = {"prompt_tokens": 10, "completion_tokens": 3, "cost": 0.01}
    upstream = {"cost_details": {"upstream_inference_cost": 0.2}}
    own = read_reply(body("hi", usage={**told, **upstream, "is_byok": True})).usage
    assert own.cost_usd == pytest.approx(0.21)
    # Else the one is a part of the other.
    assert read_reply(body("hi", usage={**told, **upstream, "is_byok": False})).usage.cost_usd == 0.01
    assert read_reply(body("hi", usage={**told, **upstream})).usage.cost_usd == 0.01
