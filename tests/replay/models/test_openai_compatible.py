"""The client against a server on loopback."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from functools import partial

import pytest

from skillopt_replay.errors import KeyMissing, Unavailable
from skillopt_replay.ledger import MemoryLedger
from skillopt_replay.models.openai_compatible import OpenAICompatible, completions_url
from skillopt_replay.models.prices import Price
from skillopt_replay.models.registry import open_model
from skillopt_replay.models.replies import ServerError
from skillopt_replay.models.retries import Patience
from skillopt_replay.protocols import Completion, Message
from skillopt_replay.reserves import bound_call
from skillopt_replay.rollouts import Fault

QUICK = Patience(attempts=3, first_wait_s=0.01, longest_wait_s=0.5)
ASK = [Message("system", "Be brief."), Message("user", "Say hi.")]
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def say(text, finish="stop", **usage):
    body = {"model": "m-1", "choices": [{"message": {"content": text}, "finish_reason": finish}]}
    if usage:
        body["usage"] = usage
    return 200, body, {}


def fail(status, message="no", headers=None, **error):
    return status, {"error": {"message": message, **error}}, headers or {}


def client(server, **options):
    return OpenAICompatible(server.url, "m", patience=QUICK, **options)


def find_free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


async def test_a_server_here_that_was_never_there_is_not_waited_for():
    patience = Patience(attempts=3, first_wait_s=30.0, longest_wait_s=30.0)
    async with OpenAICompatible(f"http://127.0.0.1:{find_free_port()}", "m", patience=patience) as model:
        done = await asyncio.wait_for(model.complete(ASK), 10)
    assert done.fault is Fault.ABSENT
    assert done.usage.tokens == 0


async def test_a_server_here_that_answered_before_is_waited_for():
    port = find_free_port()
    tries = []

    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        tries.append(1)
        body = json.dumps(say("hi")[1]).encode()
        writer.write(
            b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
        )
        await writer.drain()
        writer.close()

    async with OpenAICompatible(
        f"http://127.0.0.1:{port}", "m", patience=Patience(attempts=8, first_wait_s=0.1)
    ) as model:
        server = await asyncio.start_server(answer, "127.0.0.1", port)
        assert (await model.complete(ASK)).text == "hi"
        server.close()
        await server.wait_closed()
        waiting = asyncio.create_task(model.complete(ASK))
        await asyncio.sleep(0.2)
        async with await asyncio.start_server(answer, "127.0.0.1", port):
            assert (await waiting).text == "hi"
    assert len(tries) == 2


async def test_a_plain_question_is_posted_with_its_settings_and_answered(chat_server):
    server = chat_server(say("hi", prompt_tokens=9, completion_tokens=2))
    async with client(server, api_key="sk-1", price=Price(1.0, 2.0), extra={"top_k": 1}) as model:
        done = await model.complete(ASK, max_tokens=50, temperature=0.5, seed=3)
    assert (done.text, done.error, done.value, done.model) == ("hi", None, None, "m-1")
    assert done.usage.cost_usd == pytest.approx(13 / 1e6)
    sent = server.requests[0]
    assert sent["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Say hi."},
    ]
    assert (sent["model"], sent["max_tokens"], sent["temperature"], sent["seed"], sent["top_k"]) == (
        "m",
        50,
        0.5,
        3,
        1,
    )
    assert "response_format" not in sent
    assert server.headers[0]["authorization"] == "Bearer sk-1"
    assert server.paths == ["/v1/chat/completions"]


async def test_a_schema_is_sent_as_a_strict_format_and_its_object_comes_back_decoded(chat_server):
    server = chat_server(say('Sure:\n```json\n{"n": 4}\n```'))
    async with client(server) as model:
        done = await model.complete(ASK, schema=SCHEMA)
    assert done.value == {"n": 4}
    asked = server.requests[0]["response_format"]
    assert asked["type"] == "json_schema"
    assert asked["json_schema"]["strict"] is True
    assert asked["json_schema"]["schema"] == SCHEMA


@pytest.mark.parametrize(("text", "finish"), [("no object here", "stop"), ('{"n": 4}', "length")])
async def test_a_reply_without_a_whole_object_is_the_models_failure_and_no_error(chat_server, text, finish):
    async with client(chat_server(say(text, finish))) as model:
        done = await model.complete(ASK, schema=SCHEMA)
    assert (done.value, done.error, done.text) == (None, None, text)


async def test_rate_limits_server_errors_and_broken_connections_are_tried_again(chat_server):
    server = chat_server(fail(429, headers={"retry-after": "0"}), (0, None, {}), say("at last"))
    async with client(server) as model:
        done = await model.complete(ASK)
    assert (done.text, done.error) == ("at last", None)
    assert len(server.requests) == 3


async def ask_through(ledger, model):
    return await ledger.once("optimizer", "k", model.bound(ASK), lambda: model.complete(ASK), Completion)


async def test_each_try_that_may_have_been_paid_for_is_in_the_ledger_before_the_next(chat_server):
    dropped, slow = (0, None, {}), fail(429, headers={"retry-after": "0"})
    server = chat_server(dropped, slow, dropped, say("at last", prompt_tokens=9, completion_tokens=2))
    ledger = MemoryLedger()
    seen = []

    def note(answer, _asked):
        seen.append([entry.state for entry in ledger.entries])
        return answer

    server.answers = [partial(note, answer) for answer in server.answers]
    model = OpenAICompatible(
        server.url, "m", patience=Patience(attempts=4, first_wait_s=0.01), price=Price(1.0, 2.0)
    )
    async with model:
        done = await ask_through(ledger, model)
    assert done.text == "at last"
    assert seen == [
        ["started"],
        ["failed", "started"],
        ["failed", "started"],
        ["failed", "failed", "started"],
    ]
    lost, again, last = ledger.entries
    assert lost.usage == again.usage == model.bound(ASK)
    assert last.usage == done.usage, "what is in the ledger already is not told once more"


async def test_where_a_ceiling_allows_no_other_try_the_lost_one_stands(chat_server):
    server = chat_server((0, None, {}), say("at last"))
    async with client(server, price=Price(1.0, 2.0)) as model:
        ledger = MemoryLedger(max_usd=1.5 * model.bound(ASK).cost_usd)
        done = await ask_through(ledger, model)
    assert (done.fault, len(server.requests)) == (Fault.NETWORK, 1)
    assert ledger.spent.cost_usd == pytest.approx(model.bound(ASK).cost_usd)


async def test_a_model_that_needs_room_to_think_is_paid_for_twice_and_noted_twice(chat_server):
    thought = say("<think>hm", "length", prompt_tokens=10, completion_tokens=50)
    server = chat_server(thought, say("hi", prompt_tokens=10, completion_tokens=5))
    ledger = MemoryLedger()
    async with client(server, price=Price(1.0, 1.0)) as model:
        done = await ask_through(ledger, model)
    assert (done.text, done.usage.tokens) == ("hi", 15)
    assert [(entry.state, entry.usage.tokens) for entry in ledger.entries] == [("failed", 60), ("done", 15)]


async def test_calls_that_were_admitted_before_a_model_showed_that_it_thinks_reserve_what_that_takes(
    chat_server,
):
    thought = say("<think>hm", "length", prompt_tokens=10, completion_tokens=100)
    late = asyncio.Event()
    server = chat_server(thought, *(say("hi", prompt_tokens=10, completion_tokens=8_000) for _ in range(20)))
    async with client(server, price=Price(1.0, 1.0)) as model:
        ledger = MemoryLedger(max_tokens=60_000)

        async def ask(number: int) -> Completion:
            async def make() -> Completion:
                if number:
                    await late.wait()  # for a slot, as runs do
                return await model.complete(ASK, max_tokens=100)

            most = bound_call(model, ASK, max_tokens=100)
            return await ledger.once("rollout", f"{number}", most, make, Completion)

        waiting = [asyncio.ensure_future(ask(number)) for number in range(10)]
        assert (await waiting[0]).text == "hi"
        late.set()
        done = await asyncio.gather(*waiting, return_exceptions=True)
    longest = [request["max_tokens"] for request in server.requests]
    assert sum(longest) <= 60_000, longest
    assert longest.count(8_292) >= 2, "where the ceiling allows they get the room"
    assert [one for one in done if isinstance(one, Completion) and one.error is None] == done


async def test_trying_again_ends_and_names_the_reason(chat_server):
    server = chat_server(fail(503, "Loading\nmodel"))
    async with client(server) as model:
        done = await model.complete(ASK)
    assert len(server.requests) == 3
    assert done.text == ""
    assert "HTTP 503" in done.error
    assert "Loading model" in done.error


@pytest.mark.parametrize("status", [400, 401, 403, 404])
async def test_a_refusal_is_not_tried_again(chat_server, status):
    server = chat_server(fail(status), say("never"))
    async with client(server) as model:
        done = await model.complete(ASK)
    assert f"HTTP {status}" in done.error
    assert len(server.requests) == 1


async def test_the_wait_a_server_asks_for_is_kept(chat_server):
    server = chat_server(fail(429, headers={"retry-after-ms": "300"}), say("ok"))
    started = time.monotonic()
    async with client(server) as model:
        assert (await model.complete(ASK)).text == "ok"
    assert time.monotonic() - started >= 0.3


async def test_a_wait_longer_than_our_patience_ends_the_call_at_once(chat_server):
    server = chat_server(fail(429, headers={"retry-after": "3600"}), say("never"))
    async with client(server) as model:
        done = await model.complete(ASK)
    assert "3600 s" in done.error
    assert len(server.requests) == 1


async def test_the_key_never_shows_in_an_error(chat_server):
    server = chat_server(fail(401, "the key sk-very-secret is not known"))
    async with client(server, api_key="sk-very-secret") as model:
        done = await model.complete(ASK)
    assert "sk-very-secret" not in done.error
    assert "[redacted:credential]" in done.error


KEY = "sk-a1b2c3d4e5f6g7h8"


@pytest.mark.parametrize(
    "answer",
    [
        fail(401, f"{'x' * 280} the key {KEY} is not known"),
        (200, {"error": {"message": f"the key {KEY} is not known"}}, {}),
        say(f"you sent {KEY}"),
        say(json.dumps({"n": 1, "said": [KEY, {KEY: KEY}]})),
    ],
    ids=["cut", "in-a-reply", "as-the-answer", "in-an-object"],
)
async def test_a_key_that_a_server_repeats_is_in_nothing_that_is_kept(chat_server, answer):
    server = chat_server(answer)
    async with client(server, api_key=KEY) as model:
        done = await model.complete(ASK, schema=SCHEMA)
    assert KEY[:12] not in repr(done)
    assert "[redacted:credential]" in repr(done)


async def test_of_a_proxy_that_cannot_be_used_no_password_is_told(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", f"http://me:{KEY}/x@proxy.invalid:80")
    async with OpenAICompatible("http://model.invalid", "m", patience=QUICK) as model:
        done = await model.complete(ASK)
    assert done.fault is Fault.NETWORK
    assert done.usage.tokens == 0
    assert KEY[:4] not in repr(done)


@pytest.mark.parametrize("more", ["\n", "\r", "\t", " "])
async def test_a_key_is_read_without_the_white_space_that_a_file_leaves_around_it(
    chat_server, tmp_path, more
):
    server = chat_server(say("ok"))
    env = {"A_KEY": f"{KEY}{more}"}
    async with open_model(f"openai:{server.url}#m", env=env, key_name="A_KEY", cache_dir=tmp_path) as model:
        assert (await model.complete(ASK)).text == "ok"
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("broken", [f"{KEY}\n{KEY}", f"{KEY}é", f"{KEY}\udce9", f"{KEY}\x7f"])
async def test_what_no_key_can_be_is_refused_without_telling_it(tmp_path, broken):
    with pytest.raises(KeyMissing, match="A_KEY") as refused:
        async with open_model(
            "openai:http://127.0.0.1:9#m", env={"A_KEY": broken}, key_name="A_KEY", cache_dir=tmp_path
        ):
            pass
    assert KEY[:4] not in repr(refused.value)


async def test_a_silent_server_is_given_up_after_the_time_limit(chat_server):
    server = chat_server((200, "hang", {}))
    quick = Patience(attempts=1)
    async with OpenAICompatible(server.url, "m", timeout_s=0.2, patience=quick) as model:
        done = await model.complete(ASK)
    server.delay.set()
    assert "no reply within" in done.error


async def test_no_server_at_all_is_an_error_and_no_exception():
    async with OpenAICompatible("http://127.0.0.1:9", "m", patience=QUICK) as model:
        done = await model.complete(ASK)
    assert "127.0.0.1:9" in done.error


@pytest.mark.parametrize("raw", [b"<html>", b"{}", b'{"choices": []}', b'{"choices": 3}', b"\xff\xfe"])
async def test_a_body_that_is_no_completion_is_an_error(chat_server, raw):
    async with client(chat_server((200, raw, {}))) as model:
        done = await model.complete(ASK)
    assert done.error
    assert done.text == ""


async def test_a_flood_is_cut_off(chat_server, monkeypatch):
    monkeypatch.setattr("skillopt_replay.models.service.MAX_REPLY_BYTES", 1000)
    async with client(chat_server((200, b"x" * 100_000, {}))) as model:
        done = await model.complete(ASK)
    assert "larger than" in done.error


@pytest.mark.parametrize("status", [302, 400])
async def test_of_what_is_no_reply_only_the_beginning_is_read(chat_server, monkeypatch, status):
    sizes: list[int] = []

    def read(body: bytes) -> ServerError:
        sizes.append(len(body))
        return ServerError()

    monkeypatch.setattr("skillopt_replay.models.service._MAX_ERROR_BYTES", 100)
    monkeypatch.setattr("skillopt_replay.models.service.read_error", read)
    async with client(chat_server((status, b"x" * 5_000_000, {}))) as model:
        done = await model.complete(ASK)
    assert str(status) in (done.error or "")
    assert 100 < sizes[0] < 1_000_000


async def test_a_model_with_another_name_for_the_token_limit_is_asked_by_that_name_from_then_on(chat_server):
    server = chat_server(fail(400, param="max_tokens"), say("one"))
    async with client(server) as model:
        assert (await model.complete(ASK, max_tokens=7)).text == "one"
        assert (await model.complete(ASK, max_tokens=7)).text == "one"
    assert [r.get("max_completion_tokens") for r in server.requests] == [None, 7, 7]
    assert ["max_tokens" in r for r in server.requests] == [True, False, False]


async def test_how_hard_to_think_is_asked_for_where_the_server_knows_it(chat_server):
    refusal = fail(400, "Unsupported parameter: reasoning_effort", param="reasoning_effort")
    server = chat_server(say("hi"), refusal, say("hi"), say("hi"))
    async with client(server, effort="high") as model:
        for _ in range(3):
            done = await model.complete(ASK)
            assert done.text == "hi"
    assert [sent.get("reasoning_effort") for sent in server.requests] == ["high", "high", None, None]
    assert model.identity.endswith("#m at high effort")


async def test_a_refused_parameter_is_left_out_only_when_the_server_names_it(chat_server):
    server = chat_server(fail(400, param="temperature"), say("one"), fail(400, param="messages"))
    async with client(server) as model:
        assert (await model.complete(ASK, seed=1)).text == "one"
        assert "HTTP 400" in (await model.complete(ASK, seed=1)).error
    assert ["temperature" in r for r in server.requests] == [True, False, False]
    assert all("seed" in r for r in server.requests)


async def test_text_that_is_no_unicode_is_sent_all_the_same(chat_server):
    server = chat_server(say("ok"))
    async with client(server) as model:
        assert (await model.complete([Message("user", "half \ud83d pair")])).text == "ok"
    assert server.requests[0]["messages"][0]["content"] == "half ? pair"


async def test_a_cancelled_call_ends_at_once(chat_server):
    server = chat_server((200, "hang", {}))
    async with client(server) as model:
        task = asyncio.create_task(model.complete(ASK))
        await asyncio.sleep(0.1)
        task.cancel()
        started = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
    server.delay.set()
    assert time.monotonic() - started < 1


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("http://h:1", "http://h:1/v1/chat/completions"),
        ("http://h:1/", "http://h:1/v1/chat/completions"),
        ("https://h/v1", "https://h/v1/chat/completions"),
        ("https://h/v1/", "https://h/v1/chat/completions"),
        ("https://h/api/v1", "https://h/api/v1/chat/completions"),
        ("https://h/v1/chat/completions", "https://h/v1/chat/completions"),
    ],
)
def test_the_address_is_made_from_a_base_with_or_without_v1(base, url):
    assert completions_url(base) == url


@pytest.mark.parametrize("base", ["", "h:1", "ftp://h", "file:///etc/passwd", "http://", "http://h?x=1"])
def test_what_is_no_address_is_refused(base):
    with pytest.raises(Unavailable, match="not the address"):
        completions_url(base)


def test_the_estimate_is_priced_when_the_price_is_known():
    assert OpenAICompatible("http://h", "m").estimate.cost_usd is None
    assert OpenAICompatible("http://h", "m", price=Price(1.0, 1.0)).estimate.cost_usd > 0
    assert OpenAICompatible("http://h:8", "m").identity == "openai:h:8#m"


async def test_what_goes_with_each_request_is_part_of_who_answers(chat_server, tmp_path):
    server = chat_server(say("hi"))
    extra = {"chat_template_kwargs": {"enable_thinking": False}}
    spec = f"openai:{server.url}#m"
    async with open_model(spec, env={}, cache_dir=tmp_path, effort="low", extra=extra, timeout_s=9) as model:
        assert (await model.complete(ASK)).text == "hi"
    assert server.requests[0]["reasoning_effort"] == "low"
    assert server.requests[0]["chat_template_kwargs"] == {"enable_thinking": False}
    assert model.identity.endswith('#m at low effort with {"chat_template_kwargs":{"enable_thinking":false}}')


@pytest.mark.parametrize(
    ("spec", "options", "said"),
    [
        ("local", {"effort": "low"}, "no reasoning effort"),
        ("claude", {"extra": {"top_k": 1}}, "takes no top_k"),
    ],
    ids=["effort", "extra"],
)
async def test_what_a_model_does_not_know_is_told_before_it_is_opened(tmp_path, spec, options, said):
    with pytest.raises(Unavailable, match=said):
        async with open_model(spec, env={}, cache_dir=tmp_path, **options):
            pass


async def test_what_is_reserved_for_a_call_grows_with_its_prompt_and_its_longest_reply(chat_server):
    async with client(chat_server(say("hi")), price=Price(1.0, 2.0, 0.1, 1.25)) as model:
        short, long = (model.bound([Message("user", "é" * size)], max_tokens=100) for size in (10, 50_000))
        told = model.bound(ASK, schema=SCHEMA)
        with_room = model.bound(ASK, max_tokens=8_192)
    assert short.input_tokens + 2 * 49_990 == long.input_tokens, "no token is shorter than a byte"
    assert long.cost_usd == pytest.approx((long.input_tokens * 1.25 + 100 * 2.0) / 1e6)
    assert (told.input_tokens > model.bound(ASK).input_tokens, with_room.output_tokens) == (True, 8_192)


@pytest.mark.parametrize("together", [1, 4, 12])
async def test_long_prompts_at_once_pass_no_ceiling(chat_server, together):
    prompt = [Message("user", "word " * 20_000)]
    server = chat_server(*[say("hi", prompt_tokens=25_000, completion_tokens=2_000)] * (2 * together))
    ledger = MemoryLedger(max_usd=0.2, max_tokens=400_000)
    async with client(server, price=Price(1.0, 2.0)) as model:
        most = model.bound(prompt)
        asked = [
            ledger.once("optimizer", f"{n}", most, lambda: model.complete(prompt), Completion)
            for n in range(2 * together)
        ]
        await asyncio.gather(*asked, return_exceptions=True)
    assert 0 < ledger.spent.cost_usd <= 0.2
    assert ledger.spent.tokens <= 400_000


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": -7, "completion_tokens": -7},
        {"prompt_tokens": "many"},
        {"prompt_tokens": 12.5, "completion_tokens": 1},
        [1, 2],
        {"completion_tokens": 5},
        {"prompt_tokens": 12},
        {"prompt_tokens": 12, "completion_tokens": -5},
    ],
    ids=["none", "zero", "negative", "words", "half", "a-list", "no-prompt", "no-reply", "negative-reply"],
)
@pytest.mark.parametrize("price", [Price(1.0, 2.0), None], ids=["priced", "unpriced"])
async def test_a_reply_that_does_not_tell_what_it_used_counts_with_the_most_it_may_have(
    chat_server, usage, price
):
    status, body, headers = say("hi")
    async with client(chat_server((status, {**body, "usage": usage}, headers)), price=price) as model:
        done = await model.complete(ASK)
        most = model.bound(ASK)
    assert (done.text, done.error) == ("hi", None)
    assert (done.usage.tokens, done.usage.cost_usd) == (most.tokens, most.cost_usd)


async def test_usage_told_in_whole_floats_is_taken(chat_server):
    answer = say("hi", prompt_tokens=12.0, completion_tokens=3.0)
    async with client(chat_server(answer), price=Price(1.0, 2.0)) as model:
        done = await model.complete(ASK)
    assert (done.usage.input_tokens, done.usage.output_tokens) == (12, 3)


async def test_usage_that_no_call_can_have_ends_no_night(chat_server):
    ledger = MemoryLedger(max_usd=5.0)
    async with client(
        chat_server(say("hi", prompt_tokens=1 << 60, completion_tokens=1)), price=Price(1.0, 2.0)
    ) as model:
        await ask_through(ledger, model)
        assert ledger.spent.cost_usd == pytest.approx(model.bound(ASK).cost_usd)
