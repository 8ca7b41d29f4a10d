"""The Messages API, against a server on loopback."""

from __future__ import annotations

import json

import pytest

from skillopt_replay.errors import Unavailable
from skillopt_replay.models.anthropic import AnthropicModel, messages_url
from skillopt_replay.models.prices import Price
from skillopt_replay.models.registry import open_model
from skillopt_replay.models.retries import Patience
from skillopt_replay.models.service import MAX_REPLY_BYTES
from skillopt_replay.protocols import Message
from skillopt_replay.rollouts import Fault

QUICK = Patience(attempts=3, first_wait_s=0.01, longest_wait_s=0.5)
ASK = [Message("system", "Be brief."), Message("user", "Say hi.")]
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}


def say(*blocks, stop="end_turn", **usage):
    content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    body = {"type": "message", "model": "c-1", "content": content, "stop_reason": stop}
    return 200, {**body, "usage": {"input_tokens": 9, "output_tokens": 2, **usage}}, {}


def hand_in(value):
    return {"type": "tool_use", "id": "t", "name": "reply", "input": value}


def fail(status, message="no", kind="invalid_request_error", headers=None):
    return status, {"type": "error", "error": {"type": kind, "message": message}}, headers or {}


def client(server, **options):
    return AnthropicModel("c", base_url=server.url, headers={"x-api-key": "sk-1"}, patience=QUICK, **options)


async def test_a_question_is_posted_with_its_system_text_and_answered(chat_server):
    server = chat_server(say("hi"))
    async with client(server) as model:
        done = await model.complete(ASK, max_tokens=50, temperature=0.5, seed=3)
    assert (done.text, done.error, done.fault, done.model) == ("hi", None, None, "c-1")
    sent = server.requests[0]
    assert sent["system"] == "Be brief."
    assert sent["messages"] == [{"role": "user", "content": "Say hi."}]
    assert (sent["model"], sent["max_tokens"], sent["temperature"]) == ("c", 50, 0.5)
    assert "seed" not in sent
    assert server.paths == ["/v1/messages"]
    assert server.headers[0]["x-api-key"] == "sk-1"
    assert server.headers[0]["anthropic-version"] == "2023-06-01"


async def test_cached_tokens_are_told_apart_and_priced(chat_server):
    server = chat_server(say("hi", cache_read_input_tokens=100, cache_creation_input_tokens=10))
    async with client(server, price=Price(1.0, 10.0, 0.1, 2.0)) as model:
        usage = (await model.complete(ASK)).usage
    assert (usage.input_tokens, usage.output_tokens) == (9, 2)
    assert (usage.cache_read_tokens, usage.cache_write_tokens) == (100, 10)
    assert usage.cost_usd == pytest.approx((9 + 20 + 10 + 20) / 1e6)


@pytest.mark.parametrize("told", [{"input_tokens": None}, {"output_tokens": None}, {"output_tokens": -5}])
async def test_a_reply_that_tells_half_of_what_it_used_counts_with_the_most_it_may_have(chat_server, told):
    async with client(chat_server(say("hi", **told)), price=Price(1.0, 2.0)) as model:
        done = await model.complete(ASK)
        most = model.bound(ASK)
    assert (done.text, done.usage.tokens, done.usage.cost_usd) == ("hi", most.tokens, most.cost_usd)


async def test_what_it_thinks_is_never_the_answer(chat_server):
    thinking = {"type": "thinking", "thinking": "maybe four"}
    async with client(chat_server(say(thinking, "three"), say(thinking))) as model:
        assert (await model.complete(ASK)).text == "three"
        empty = await model.complete(ASK)
    assert (empty.text, empty.fault) == ("", Fault.REPLY)
    assert "it only reasoned" in empty.error


async def test_a_model_that_reasons_gets_room_for_it_once_it_ran_out_before_its_answer(chat_server):
    server = chat_server(say({"type": "thinking", "thinking": "well"}, stop="max_tokens"), say("three"))
    async with client(server) as model:
        assert (await model.complete(ASK, max_tokens=50)).text == "three"
        assert (await model.complete(ASK, max_tokens=50)).text == "three"
    assert [request["max_tokens"] for request in server.requests] == [50, 8_242, 8_242]


async def test_an_object_is_asked_for_by_the_output_format_in_its_simple_dialect(chat_server):
    server = chat_server(say('{"n": 4}'))
    async with client(server) as model:
        done = await model.complete(ASK, schema=SCHEMA)
    assert done.value == {"n": 4}
    asked = server.requests[0]["output_config"]["format"]
    assert asked["type"] == "json_schema"
    assert asked["schema"]["additionalProperties"] is False
    assert "minimum" not in json.dumps(asked)


async def test_it_falls_back_step_by_step_and_only_where_the_service_names_the_step(chat_server):
    server = chat_server(
        fail(400, "output_config.format: this model does not support structured outputs"),
        fail(400, "tool_choice: forced tool use is not supported with this model"),
        fail(400, "tools: not supported by this endpoint"),
        say('{"n": 4}'),
        say('{"n": 5}'),
        fail(400, "messages: text is too long"),
    )
    async with client(server) as model:
        assert (await model.complete(ASK, schema=SCHEMA)).value == {"n": 4}
        assert (await model.complete(ASK, schema=SCHEMA)).value == {"n": 5}
        assert "too long" in (await model.complete(ASK, schema=SCHEMA)).error
    formats, forced, offered, words, kept, _ = server.requests
    assert "output_config" in formats
    assert forced["tool_choice"] == {"type": "tool", "name": "reply"}
    assert forced["tools"][0]["input_schema"] == SCHEMA
    assert "tool_choice" not in offered
    assert "by calling the tool reply" in offered["system"]
    assert "tools" not in words
    assert json.dumps(SCHEMA, separators=(",", ":")) in words["system"]
    assert words["system"].startswith("Be brief.")
    assert kept == words


async def test_an_object_handed_in_by_the_tool_is_the_value_and_the_text(chat_server):
    server = chat_server(
        fail(400, "output_format: Extra inputs are not permitted"),
        say("here", hand_in({"n": 4}), stop="tool_use"),
        say(hand_in({"n": 0}), stop="tool_use"),
    )
    async with client(server) as model:
        done = await model.complete(ASK, schema=SCHEMA)
        assert (done.value, json.loads(done.text)) == ({"n": 4}, {"n": 4})
        bad = await model.complete(ASK, schema=SCHEMA)
    assert (bad.value, bad.error, bad.fault) == (None, None, Fault.REPLY)


async def test_a_model_that_takes_no_temperature_is_asked_without_from_then_on(chat_server):
    server = chat_server(fail(400, "`temperature` is deprecated for this model."), say("one"))
    async with client(server) as model:
        assert (await model.complete(ASK)).text == "one"
        assert (await model.complete(ASK)).text == "one"
    assert ["temperature" in request for request in server.requests] == [True, False, False]


async def test_overload_is_tried_again_after_the_wait_it_asks_for(chat_server):
    server = chat_server(
        fail(529, "Overloaded", "overloaded_error", {"retry-after": "0"}),
        fail(429, "slow", "rate_limit_error", {"retry-after-ms": "20"}),
        say("at last"),
    )
    async with client(server) as model:
        assert (await model.complete(ASK)).text == "at last"
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("answer", "fault", "asked"),
    [
        (fail(401, "invalid x-api-key", "authentication_error"), Fault.SIGN_IN, 1),
        (fail(403, "no", "permission_error"), Fault.SIGN_IN, 1),
        (fail(404, "model: c", "not_found_error"), Fault.MODEL, 1),
        (fail(400, "Your credit balance is too low to access the Anthropic API"), Fault.MONEY, 1),
        (fail(429, "slow", "rate_limit_error"), Fault.RATE, 3),
        (fail(529, "Overloaded", "overloaded_error"), Fault.OVERLOAD, 3),
        (fail(500, "oops", "api_error"), Fault.OVERLOAD, 3),
        ((0, None, {}), Fault.NETWORK, 3),
        ((200, b'{"type": "message", "content": [', {}), Fault.CUT, 3),
        ((200, {"content": 3}, {}), Fault.REPLY, 1),
        ((200, {"error": {"type": "overloaded_error", "message": "busy"}}, {}), Fault.OVERLOAD, 3),
        ((200, {"error": {"message": "Your credit balance is too low"}}, {}), Fault.MONEY, 1),
        (fail(500, "x" * (MAX_REPLY_BYTES + 1)), Fault.OVERLOAD, 3),
        (say(stop="max_tokens"), Fault.CUT, 2),
        (say("  "), Fault.REPLY, 1),
    ],
)
async def test_every_failure_has_its_fault_and_only_what_may_pass_is_tried_again(
    chat_server, answer, fault, asked
):
    server = chat_server(answer)
    async with client(server) as model:
        done = await model.complete(ASK)
    assert (done.fault, done.text) == (fault, "")
    assert done.error
    assert len(server.requests) == asked


@pytest.mark.parametrize(
    ("answer", "tries"),
    [
        (fail(401, "invalid x-api-key", "authentication_error"), 0),
        (fail(429, "slow", "rate_limit_error"), 0),
        (fail(500, "oops", "api_error"), 0),
        ((0, None, {}), 3),
        ((200, b'{"type": "message", "content": [', {}), 3),
        ((200, {"content": 3}, {}), 1),
        ((200, {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, {}), 0),
        # Answers all the same, and who may have written one.
        ((201, {"content": [{"type": "text", "text": "hi"}]}, {}), 1),
        ((200, b"no gzip", {"content-encoding": "gzip"}), 1),
        ((200, b"x" * (MAX_REPLY_BYTES + 1), {}), 1),
        (fail(504, "the model took too long"), 3),
        (fail(520, "the model's reply was lost"), 3),
        (fail(500, "x" * (MAX_REPLY_BYTES + 1)), 0),
    ],
)
async def test_a_refusal_costs_nothing_and_a_reply_that_was_lost_as_much_as_it_may_have(
    chat_server, answer, tries
):
    for price in (Price(1.0, 2.0), None):
        async with client(chat_server(answer), price=price) as model:
            most = model.bound(ASK)
            done = await model.complete(ASK)
        assert done.error
        assert done.usage.tokens == tries * most.tokens
        if price is not None or not tries:
            assert done.usage.cost_usd == pytest.approx(tries * (most.cost_usd or 0.0))
        else:
            assert done.usage.cost_usd is None, "not known is not nothing"


async def test_a_reply_that_came_at_the_second_try_costs_both(chat_server):
    async with client(chat_server((0, None, {}), say("hi"))) as model:
        most = model.bound(ASK)
        done = await model.complete(ASK)
    async with client(chat_server(fail(429, "slow", "rate_limit_error"), say("hi"))) as model:
        once = await model.complete(ASK)
    assert (done.text, once.text) == ("hi", "hi")
    assert done.usage.tokens == most.tokens + once.usage.tokens


@pytest.mark.parametrize(("stop", "fault"), [("max_tokens", Fault.CUT), ("refusal", Fault.REFUSAL)])
async def test_a_cut_or_declined_reply_keeps_its_text_and_is_no_value(chat_server, stop, fault):
    async with client(chat_server(say('{"n": 4}', stop=stop))) as model:
        done = await model.complete(ASK, schema=SCHEMA)
    assert (done.text, done.value, done.error, done.fault) == ('{"n": 4}', None, None, fault)


async def test_what_one_side_says_in_a_row_becomes_one_turn(chat_server):
    server = chat_server(say("ok"))
    talk = [Message("user", "a"), Message("user", "b"), Message("assistant", "c"), Message("user", "d")]
    async with client(server) as model:
        await model.complete(talk)
    assert server.requests[0]["messages"] == [
        {"role": "user", "content": "a\n\nb"},
        {"role": "assistant", "content": "c"},
        {"role": "user", "content": "d"},
    ]
    assert "system" not in server.requests[0]


async def test_it_is_opened_with_the_key_or_the_token_of_the_environment(chat_server, tmp_path):
    server = chat_server(say("ok"))
    for env, header in (
        ({"ANTHROPIC_API_KEY": "sk-2"}, ("x-api-key", "sk-2")),
        ({"ANTHROPIC_AUTH_TOKEN": "tok"}, ("authorization", "Bearer tok")),
    ):
        given = {**env, "ANTHROPIC_BASE_URL": server.url}
        async with open_model("anthropic:claude-sonnet-4-5", env=given, cache_dir=tmp_path) as model:
            assert (await model.complete(ASK)).text == "ok"
        assert server.headers[-1][header[0]] == header[1]


async def test_a_refused_key_is_named_by_its_variable_and_never_shown(chat_server, tmp_path):
    server = chat_server(fail(401, "the key sk-secret-1 is unknown", "authentication_error"))
    env = {"ANTHROPIC_API_KEY": "sk-secret-1", "ANTHROPIC_BASE_URL": server.url}
    async with open_model("anthropic:c", env=env, cache_dir=tmp_path) as model:
        done = await model.complete(ASK)
    assert "ANTHROPIC_API_KEY" in done.error
    assert "sk-secret-1" not in done.error


async def test_without_a_key_it_is_not_opened_and_the_list_price_counts_at_the_makers_own_service(tmp_path):
    with pytest.raises(Unavailable, match="ANTHROPIC_API_KEY is not set"):
        async with open_model("anthropic:c", env={}, cache_dir=tmp_path):
            pass
    env = {"ANTHROPIC_API_KEY": "sk"}
    async with open_model("anthropic:claude-haiku-4-5-20251001", env=env, cache_dir=tmp_path) as model:
        assert model.estimate.cost_usd == pytest.approx((6_000 * 1.0 + 2_048 * 5.0) / 1e6)


@pytest.mark.parametrize("base", ["https://h", "https://h/", "https://h/v1", "https://h/v1/messages"])
def test_the_address_is_made_from_a_base_with_or_without_v1(base):
    assert messages_url(base) == "https://h/v1/messages"


def test_what_is_no_address_is_refused():
    with pytest.raises(Unavailable, match="not the address"):
        messages_url("h:1")
