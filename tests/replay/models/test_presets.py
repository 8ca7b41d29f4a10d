"""What each service is sent, and what becomes of its refusals: real requests to a server on loopback."""

from __future__ import annotations

import asyncio
import json

import pytest

from skillopt_replay.errors import Unavailable
from skillopt_replay.models.openai_compatible import OpenAICompatible
from skillopt_replay.models.presets import BY_NAME, PLAIN, PRESETS, Structure
from skillopt_replay.models.prices import Price
from skillopt_replay.models.registry import check_model, list_forms, open_model
from skillopt_replay.models.retries import Patience
from skillopt_replay.models.servers import locate_server
from skillopt_replay.protocols import Message
from skillopt_replay.rollouts import Fault

QUICK = Patience(attempts=2, first_wait_s=0.01, longest_wait_s=0.1)
ASK = [Message("system", "Be brief."), Message("user", "Say hi.")]
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 1}},
    "required": ["n"],
    "additionalProperties": False,
}
NAMES = [preset.name for preset in PRESETS]


def say(text, finish="stop", message=None, **more):
    said = {"content": text, **(message or {})}
    return 200, {"model": "m-1", "choices": [{"message": said, "finish_reason": finish}], **more}, {}


def fail(status, message="no", **error):
    return status, {"error": {"message": message, **error}}, {}


def client(server, name, **options):
    return OpenAICompatible(server.url, "m", preset=BY_NAME[name], patience=QUICK, **options)


async def ask(server, name, **options):
    async with client(server, name) as model:
        done = await model.complete(ASK, **{"max_tokens": 50, "seed": 3, **options})
    return done, server.requests[0]


# --- what is sent --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
async def test_the_longest_reply_is_bounded_under_the_name_the_service_knows(chat_server, name):
    _, sent = await ask(chat_server(say("hi")), name)
    known = {"openai", "azure", "minimax"}
    limits = {key: value for key, value in sent.items() if key.startswith("max_")}
    assert limits == {"max_completion_tokens" if name in known else "max_tokens": 50}


@pytest.mark.parametrize("name", NAMES)
async def test_only_what_the_service_knows_is_sent_besides(chat_server, name):
    _, sent = await ask(chat_server(say("hi")), name)
    assert ("seed" in sent) is (name not in {"minimax", "deepseek"})
    assert sent["temperature"] == (0.01 if name == "minimax" else 0.0)
    extra = {"qwen": {"enable_thinking": False}, "minimax": {"reasoning_split": True}}.get(name, {})
    usual = {"model", "messages", "temperature", "seed", "max_tokens", "max_completion_tokens"}
    assert {key: value for key, value in sent.items() if key not in usual} == extra


@pytest.mark.parametrize("name", NAMES)
async def test_an_object_is_asked_for_in_the_way_the_service_knows(chat_server, name):
    done, sent = await ask(chat_server(say('{"n": 4}')), name, schema=SCHEMA)
    assert (done.value, done.error, done.fault) == ({"n": 4}, None, None)
    system = sent["messages"][0]["content"]
    if BY_NAME[name].structure is Structure.OBJECT:
        assert sent["response_format"] == {"type": "json_object"}
        assert "JSON" in system
        assert json.dumps(SCHEMA, separators=(",", ":")) in system
    else:
        asked = sent["response_format"]["json_schema"]
        assert asked["strict"] is True
        assert ("minimum" in json.dumps(asked["schema"])) is (name not in {"openai", "azure"})
        assert system == "Be brief."


async def test_azure_is_reached_by_deployment_version_and_a_key_of_its_own(chat_server, tmp_path):
    server = chat_server(say("hi"))
    env = {
        "AZURE_OPENAI_ENDPOINT": server.url,
        "AZURE_OPENAI_API_KEY": "az-1",
        "AZURE_OPENAI_API_VERSION": "2025-01-01-preview",
    }
    async with open_model("azure:my deployment", env=env, cache_dir=tmp_path) as model:
        assert (await model.complete(ASK)).text == "hi"
    path = "/openai/deployments/my%20deployment/chat/completions?api-version=2025-01-01-preview"
    assert server.paths == [path]
    assert server.headers[0]["api-key"] == "az-1"
    assert "authorization" not in server.headers[0]


async def test_azure_takes_a_bearer_token_instead_of_the_key(chat_server, tmp_path):
    server = chat_server(say("hi"))
    async with open_model(
        f"azure:{server.url}#d", env={"AZURE_OPENAI_AD_TOKEN": "tok"}, cache_dir=tmp_path
    ) as model:
        assert (await model.complete(ASK)).text == "hi"
    assert server.headers[0]["authorization"] == "Bearer tok"
    assert "api-key" not in server.headers[0]
    assert server.paths[0].endswith("?api-version=2024-10-21")


@pytest.mark.parametrize(
    ("name", "variable"), [(p.name, p.key_names[0]) for p in PRESETS if p.name not in {"openai", "azure"}]
)
async def test_the_key_of_the_service_is_sent_where_the_user_says(chat_server, tmp_path, name, variable):
    server = chat_server(say("hi"))
    async with open_model(f"{name}:{server.url}#m", env={variable: "sk-9"}, cache_dir=tmp_path) as model:
        assert (await model.complete(ASK)).text == "hi"
        assert model.identity == f"{name}:{server.url.removeprefix('http://')}#m"
    assert server.headers[0]["authorization"] == "Bearer sk-9"
    assert server.requests[0]["model"] == "m"


@pytest.mark.parametrize("held", ["{host}", "http://{host}"])
async def test_ollama_is_looked_for_where_its_own_variable_says(chat_server, tmp_path, held):
    server = chat_server(say("hi"))
    env = {"OLLAMA_HOST": held.format(host=server.url.removeprefix("http://"))}
    async with open_model("ollama:qwen3:8b", env=env, cache_dir=tmp_path) as model:
        done = await model.complete(ASK)
    assert (done.text, done.usage.cost_usd) == ("hi", 0.0)
    assert server.requests[0]["model"] == "qwen3:8b"
    assert server.paths == ["/v1/chat/completions"]


@pytest.mark.parametrize("name", ["vllm", "ollama", "azure", "anthropic"])
async def test_a_login_in_an_address_signs_in_and_is_told_nobody(chat_server, tmp_path, name, caplog):
    """The identity goes into the notes on proposals, which are pushed; what went wrong into reports."""
    server = chat_server(fail(401))
    address = server.url.replace("http://", "http://user:hunter2secret@")
    names = {"azure": "AZURE_OPENAI_ENDPOINT", "ollama": "OLLAMA_HOST", "anthropic": "ANTHROPIC_BASE_URL"}
    env = {names[name]: address} if name in names else {}
    spec = f"{name}:m" if env else f"{name}:{address}#m"
    said = [check_model(spec, env=env)]
    async with open_model(spec, env=env, cache_dir=tmp_path) as model:
        done = await model.complete(ASK)
        said += [model.identity, done.error]
    assert server.headers[0]["authorization"] == "Basic dXNlcjpodW50ZXIyc2VjcmV0"
    broken = address.replace("http://", "ftp://")
    with pytest.raises(Unavailable) as caught:
        async with open_model(f"{name}:{broken}#m", env=env, cache_dir=tmp_path):
            pass
    said += [caught.value.message, str(locate_server(BY_NAME["vllm"], f"{address}#m", {}))]
    assert "hunter2secret" not in "\n".join([*said, caplog.text])
    assert server.url.removeprefix("http://") in said[1]


@pytest.mark.parametrize(
    ("spec", "env", "base_url", "model"),
    [
        ("openai:gpt-5", {"OPENAI_API_KEY": "k"}, "https://api.openai.com/v1", "gpt-5"),
        ("deepseek:x", {"DEEPSEEK_API_KEY": "k"}, "https://api.deepseek.com/v1", "x"),
        ("minimax:x", {"MINIMAX_API_KEY": "k"}, "https://api.minimax.io/v1", "x"),
        ("ollama:x:1b", {"OLLAMA_HOST": "0.0.0.0"}, "http://127.0.0.1:11434", "x:1b"),
        ("ollama:x", {}, "http://127.0.0.1:11434/v1", "x"),
        ("vllm:org/x", {}, "http://127.0.0.1:8000/v1", "org/x"),
        ("llamacpp:", {}, "http://127.0.0.1:8080/v1", "default"),
        ("llamacpp:http://127.0.0.1:9#x", {}, "http://127.0.0.1:9", "x"),
    ],
)
def test_a_short_spec_is_enough(spec, env, base_url, model):
    name, _, rest = spec.partition(":")
    server = locate_server(BY_NAME[name], rest, env)
    assert (server.base_url, server.model) == (base_url, model)


@pytest.mark.parametrize(
    ("name", "rest", "said"),
    [
        ("openai", "gpt-5", "OPENAI_API_KEY is not set"),
        ("qwen", "qwen-plus", "DASHSCOPE_API_KEY is not set"),
        ("minimax", "M", "MINIMAX_API_KEY is not set"),
        ("deepseek", "x", "DEEPSEEK_API_KEY is not set"),
        ("azure", "d", "AZURE_OPENAI_ENDPOINT is not set"),
        ("azure", "https://n.openai.azure.com#d", "AZURE_OPENAI_API_KEY is not set"),
        ("vllm", "", "does not name a server and a model"),
        ("ollama", "http://127.0.0.1:1", "does not name a server and a model"),
        ("deepseek", "http://192.0.2.1/v1#x", "unencrypted"),
    ],
)
def test_what_is_missing_is_named_before_anything_is_sent(name, rest, said):
    env = {"DEEPSEEK_API_KEY": "k"} if said == "unencrypted" else {}
    with pytest.raises(Unavailable, match=said):
        locate_server(BY_NAME[name], rest, env)


def test_any_other_server_is_asked_in_the_plainest_way():
    server = locate_server(BY_NAME["openai"], "https://192.0.2.1/v1#m", {})
    assert server.preset is PLAIN
    assert (server.key, server.price) == (None, None)


def test_every_preset_can_be_opened_and_says_how_it_is_written():
    forms = "; ".join(list_forms())
    assert all(preset.form in forms for preset in PRESETS)
    assert "anthropic:MODEL" in forms


def test_the_check_says_server_key_and_price_and_shows_no_key():
    said = check_model("openai:gpt-4.1", env={"OPENAI_API_KEY": "sk-very-secret"})
    assert said == "gpt-4.1 at api.openai.com, key from OPENAI_API_KEY, $2 in and $8 out per million tokens"
    said = check_model("deepseek:x", env={"DEEPSEEK_API_KEY": "k"})
    assert "price not known" in said
    said = check_model("deepseek:x", env={"DEEPSEEK_API_KEY": "k"}, prices={"x": Price(1.0, 2.0)})
    assert "$1 in and $2 out" in said


# --- what is refused, and what is done then ------------------------------------------------------


@pytest.mark.parametrize(
    "refusal",
    [
        fail(400, "This response_format type is unavailable now", type="invalid_request_error"),
        fail(422, "Failed to deserialize: response_format.type `json_schema` is unavailable now"),
        fail(400, "Invalid parameter", param="response_format"),
        fail(400, "Invalid schema for response_format 'reply'", param="response_format"),
        fail(501, "structured outputs are not implemented"),
    ],
)
async def test_the_way_to_ask_for_an_object_falls_back_step_by_step_where_the_server_says_so(
    chat_server, refusal
):
    server = chat_server(refusal, refusal, refusal, say('{"n": 4}'), say('{"n": 5}'))
    async with client(server, "vllm") as model:
        assert (await model.complete(ASK, schema=SCHEMA)).value == {"n": 4}
        assert (await model.complete(ASK, schema=SCHEMA)).value == {"n": 5}
    asked = [request.get("response_format", {}) for request in server.requests]
    assert [one.get("type") for one in asked] == ["json_schema", "json_schema", "json_object", None, None]
    assert [one.get("json_schema", {}).get("strict") for one in asked[:2]] == [True, False]
    assert "JSON schema" in server.requests[-1]["messages"][0]["content"]


async def test_another_refusal_changes_nothing_of_how_it_is_asked(chat_server):
    server = chat_server(fail(400, "the prompt is too long"), say('{"n": 4}'))
    async with client(server, "vllm") as model:
        failed = await model.complete(ASK, schema=SCHEMA)
        assert ("too long" in failed.error, failed.fault) == (True, Fault.REPLY)
        assert (await model.complete(ASK, schema=SCHEMA)).value == {"n": 4}
    assert server.requests[0] == server.requests[1]


async def test_a_parameter_only_some_models_take_is_left_out_once_refused(chat_server):
    server = chat_server(
        fail(400, "parameter.enable_thinking is restricted to True for this model"), say("hi"), say("hi")
    )
    async with client(server, "qwen") as model:
        assert (await model.complete(ASK)).text == "hi"
        assert (await model.complete(ASK)).text == "hi"
    assert ["enable_thinking" in request for request in server.requests] == [True, False, False]


async def test_a_server_that_knows_the_old_name_of_the_limit_only_is_asked_by_that(chat_server):
    server = chat_server(
        fail(400, "Unrecognized request argument supplied: max_completion_tokens"), say("hi")
    )
    async with client(server, "azure") as model:
        assert (await model.complete(ASK, max_tokens=7)).text == "hi"
    assert [request.get("max_tokens") for request in server.requests] == [None, 7]


async def test_requests_on_their_way_while_something_is_learned_are_asked_again_too(chat_server):
    server = chat_server(
        lambda asked: fail(400, param="temperature") if "temperature" in asked else say("hi")
    )
    async with client(server, "vllm") as model:
        done = await asyncio.gather(*(model.complete(ASK) for _ in range(3)))
    assert [one.text for one in done] == ["hi"] * 3


# --- what comes back -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": "<think>maybe four</think>\n\nthree"}, "three"),
        ({"content": "maybe four\n</think>\nthree"}, "three"),
        ({"content": "<thinking>a</thinking>three"}, "three"),
        ({"content": "three", "reasoning_content": "maybe four"}, "three"),
        ({"content": "three", "reasoning_details": [{"text": "maybe four"}]}, "three"),
        ({"content": [{"type": "thinking", "text": "four"}, {"type": "text", "text": "three"}]}, "three"),
        ({"content": "the tag <think> opens"}, "the tag <think> opens"),
    ],
)
async def test_what_a_model_thinks_is_never_its_answer(chat_server, message, text):
    done, _ = await ask(chat_server(say(None, message=message)), "vllm")
    assert (done.text, done.error) == (text, None)


@pytest.mark.parametrize(
    "answer",
    [
        say("", "content_filter"),
        say(None, "stop", {"content": None, "refusal": "I will not"}),
        (400, {"error": {"code": "content_filter", "message": "The prompt was filtered"}}, {}),
    ],
    ids=["withheld", "declined", "status"],
)
async def test_a_model_that_will_not_answer_has_failed_and_nothing_broke(chat_server, answer):
    server = chat_server(answer)
    done, _ = await ask(server, "vllm")
    assert (done.value, done.error, done.fault) == (None, None, Fault.REFUSAL)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("message", "finish", "said", "fault"),
    [
        ({"content": "", "reasoning_content": "maybe"}, "stop", "it only reasoned", Fault.REPLY),
        ({"content": "<think>for ever"}, "length", "cut at 50 tokens", Fault.CUT),
        ({"content": None}, "stop", "gave no answer", Fault.REPLY),
    ],
)
async def test_a_reply_without_any_answer_is_an_error(chat_server, message, finish, said, fault):
    done, _ = await ask(chat_server(say(None, finish, message)), "vllm")
    assert said in done.error
    assert (done.text, done.fault) == ("", fault)


@pytest.mark.parametrize(
    ("text", "finish", "fault"),
    [
        ('{"n": 0}', "stop", Fault.REPLY),
        ('{"m": 4}', "stop", Fault.REPLY),
        ("in words", "stop", Fault.REPLY),
        ('{"n": 4}', "length", Fault.CUT),
        ('{"n": 4}', "content_filter", Fault.REFUSAL),
    ],
)
async def test_an_object_that_is_not_to_the_schema_is_kept_as_text_and_is_no_value(
    chat_server, text, finish, fault
):
    done, _ = await ask(chat_server(say(text, finish)), "vllm", schema=SCHEMA)
    assert (done.value, done.error, done.fault, done.text) == (None, None, fault, text)


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 4}}, (6, 4, 0)),
        ({"prompt_tokens": 10, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 6}, (6, 4, 0)),
        (
            {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 5}},
            (1, 4, 5),
        ),
    ],
)
async def test_cached_tokens_are_told_apart_however_they_are_called(chat_server, usage, counted):
    done, _ = await ask(chat_server(say("hi", usage={"completion_tokens": 2, **usage})), "deepseek")
    found = done.usage
    assert (found.input_tokens, found.cache_read_tokens, found.cache_write_tokens) == counted


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("answer", "fault", "asked"),
    [
        (fail(401, "bad key"), Fault.SIGN_IN, 1),
        (fail(403), Fault.SIGN_IN, 1),
        (fail(404, "no such thing"), Fault.MODEL, 1),
        (fail(400, "Model Not Exist"), Fault.MODEL, 1),
        (fail(402, "Insufficient Balance"), Fault.MONEY, 1),
        (fail(429, "no quota", code="insufficient_quota"), Fault.MONEY, 1),
        (fail(429, "slow down"), Fault.RATE, 2),
        (fail(500), Fault.OVERLOAD, 2),
        (fail(503, "loading"), Fault.OVERLOAD, 2),
        ((0, None, {}), Fault.NETWORK, 2),
        ((200, b'{"choices": [{"message"', {}), Fault.CUT, 2),
        ((200, b"<html>", {}), Fault.REPLY, 1),
        ((200, {"error": {"message": "overloaded", "code": "overloaded_error"}}, {}), Fault.OVERLOAD, 2),
    ],
)
async def test_every_failure_has_its_fault_and_only_what_may_pass_is_tried_again(
    chat_server, name, answer, fault, asked
):
    server = chat_server(answer)
    done, _ = await ask(server, name)
    assert (done.fault, done.text) == (fault, "")
    assert done.error
    assert len(server.requests) == asked


@pytest.mark.parametrize(
    ("code", "fault", "asked"),
    [(1004, Fault.SIGN_IN, 1), (1008, Fault.MONEY, 1), (1002, Fault.RATE, 2), (2013, Fault.REPLY, 1)],
)
async def test_errors_that_minimax_tells_with_status_200_are_found(chat_server, code, fault, asked):
    server = chat_server(
        (200, {"choices": None, "base_resp": {"status_code": code, "status_msg": "said so"}}, {})
    )
    done, _ = await ask(server, "minimax")
    assert (done.fault, "said so" in done.error) == (fault, True)
    assert len(server.requests) == asked


@pytest.mark.parametrize(
    ("spec", "env", "answer", "said"),
    [
        ("deepseek:{url}#m", {"DEEPSEEK_API_KEY": "sk-x"}, fail(401), "check DEEPSEEK_API_KEY"),
        ("vllm:{url}#m", {}, fail(401), "set VLLM_API_KEY"),
        ("ollama:{url}#qwen9", {}, fail(404, "model not found"), "`ollama pull qwen9`"),
        ("qwen:{url}#m", {"DASHSCOPE_API_KEY": "k"}, fail(404), "optimizer.model or target.model"),
        ("deepseek:{url}#m", {"DEEPSEEK_API_KEY": "k"}, fail(402), "the account of DEEPSEEK_API_KEY"),
    ],
)
async def test_a_lasting_fault_names_what_to_mend(chat_server, tmp_path, spec, env, answer, said):
    server = chat_server(answer)
    async with open_model(spec.format(url=server.url), env=env, cache_dir=tmp_path) as model:
        done = await model.complete(ASK)
    assert said in done.error
    assert done.fault.permanent


async def test_one_request_told_to_wait_holds_the_others_back(chat_server, monkeypatch):
    waits = []
    sleep = asyncio.sleep

    async def note(seconds):
        waits.append(seconds)
        await sleep(0)

    monkeypatch.setattr("skillopt_replay.models.service.asyncio.sleep", note)
    server = chat_server((429, {"error": {"message": "slow"}}, {"retry-after": "30"}), say("hi"))
    async with client(server, "vllm") as model:
        told = await model.complete(ASK)
        assert (told.fault, waits) == (Fault.RATE, [0.0]), "longer than its patience, so it gives up at once"
        model._service._patience = Patience(attempts=2, longest_wait_s=60)
        server.answers.insert(0, (429, {"error": {"message": "slow"}}, {"retry-after": "30"}))
        await model.complete(ASK)
        assert (await model.complete(ASK)).text == "hi"
    assert waits[-1] > 20


async def test_a_model_that_reasons_gets_room_for_it_once_it_ran_out_before_its_answer(chat_server):
    thoughts = {"prompt_tokens": 10, "completion_tokens": 50}
    server = chat_server(
        say("", "length", {"reasoning_content": "well"}, usage=thoughts),
        say("three", usage={"prompt_tokens": 10, "completion_tokens": 60}),
    )
    async with client(server, "openai", price=Price(1.0, 1.0)) as model:
        before = model.estimate
        done = await model.complete(ASK, max_tokens=50)
        assert (done.text, done.error) == ("three", None)
        assert (done.usage.output_tokens, done.usage.cost_usd) == (110, pytest.approx(130 / 1e6))
        assert model.estimate.output_tokens == before.output_tokens + 8_192
        assert (await model.complete(ASK, max_tokens=50)).text == "three"
    assert [request["max_completion_tokens"] for request in server.requests] == [50, 8_242, 8_242]


async def test_a_known_price_binds_the_estimate_and_the_cost(chat_server, tmp_path):
    server = chat_server(say("hi", usage={"prompt_tokens": 1_000_000, "completion_tokens": 0}))
    prices = {"my-model": Price(2.0, 8.0)}
    async with open_model(
        f"openai:{server.url}#my-model", env={}, cache_dir=tmp_path, prices=prices
    ) as model:
        assert model.estimate.cost_usd == pytest.approx((6_000 * 2 + 2_048 * 8) / 1e6)
        assert (await model.complete(ASK)).usage.cost_usd == pytest.approx(2.0)
