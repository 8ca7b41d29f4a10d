"""The user's `codex` program as a model: a fake program, and the real one against a scripted service."""

from __future__ import annotations

import json
import os
import sys
import textwrap
import time
from pathlib import Path

import pytest
import tomlkit

from skillopt_replay.agents.clients import Client, Credentials
from skillopt_replay.agents.codex_cli import find_codex
from skillopt_replay.errors import CeilingReached, Unavailable
from skillopt_replay.ledger import MemoryLedger
from skillopt_replay.models.codex import _MOST_REPLIES, CodexModel
from skillopt_replay.models.prices import Price
from skillopt_replay.protocols import Completion, Message
from skillopt_replay.rollouts import Fault
from tests.support.cutting import ask_once_more, cut_off
from tests.support.scripted_model_server import MockModelServer

PROGRAM = os.environ.get("SKILLOPT_TEST_CODEX", "")
real = [
    pytest.mark.real_cli,
    pytest.mark.skipif(not PROGRAM, reason="SKILLOPT_TEST_CODEX does not name the program"),
]
ASK = [Message("system", "Be brief."), Message("user", "How many?")]
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer", "maximum": 9}},
    "required": ["n"],
    "additionalProperties": False,
}


def say(text, **usage):
    spent = {"input_tokens": 100, "cached_input_tokens": 60, "output_tokens": 7, **usage}
    return [
        {"type": "thread.started", "thread_id": "t"},
        {"type": "item.completed", "item": {"type": "error", "message": "Codex is ignoring 1 setting"}},
        {"type": "error", "message": "Reconnecting... 1/2"},
        {"type": "item.completed", "item": {"type": "reasoning", "text": "I should say 4"}},
        {"type": "item.completed", "item": {"type": "agent_message", "text": text}},
        {"type": "turn.completed", "usage": spent},
    ]


def fail(message):
    return [{"type": "turn.started"}, {"type": "turn.failed", "error": {"message": message}}]


@pytest.fixture
def program(tmp_path):
    """Make a fake client that notes how it was called and writes `events`."""

    def make(events, code=0, before="", credentials=None):
        out = events if isinstance(events, str) else "\n".join(map(json.dumps, events)) + "\n"
        path = tmp_path / "codex"
        path.write_text(
            textwrap.dedent(f"""\
            #!{sys.executable}
            import json, os, pathlib, sys, time
            home = pathlib.Path(os.environ["CODEX_HOME"])
            config = (home / "config.toml").read_text()
            asked = "--output-schema" in sys.argv
            schema = sys.argv[sys.argv.index("--output-schema") + 1] if asked else None
            note = {{"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(), "config": config,
                    "stdin": sys.stdin.read(), "files": sorted(p.name for p in home.iterdir()),
                    "system": (home.parent / "system.txt").read_text(),
                    "schema": json.load(open(schema)) if schema else None}}
            pathlib.Path({str(tmp_path / "note.json")!r}).write_text(json.dumps(note))
            {before}
            sys.stdout.write({out!r})
            sys.exit({code})
            """)
        )
        path.chmod(0o755)
        signed = credentials or Credentials(source="CODEX_API_KEY", env=(("CODEX_API_KEY", "sk-fake"),))
        return Client(binary=path, version="9.9.9", credentials=signed)

    return make


def note(tmp_path):
    return json.loads((tmp_path / "note.json").read_text())


async def test_the_client_gets_the_question_and_nothing_of_the_user(program, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "user-key")
    done = await CodexModel(program(say("Three.")), model="m-5", work=tmp_path / "w").complete(ASK)
    assert (done.text, done.error, done.value, done.model) == ("Three.", None, None, "m-5")
    assert (done.usage.input_tokens, done.usage.cache_read_tokens, done.usage.output_tokens) == (40, 60, 7)
    assert done.usage.cost_usd is None
    told = note(tmp_path)
    assert (told["stdin"], told["system"]) == ("How many?", "Be brief.")
    assert told["env"]["CODEX_API_KEY"] == "sk-fake"
    assert told["env"]["CODEX_INTERNAL_ORIGINATOR_OVERRIDE"] == "skillopt-sleep-optimizer"
    assert "user-key" not in json.dumps(told)
    assert str(tmp_path / "w") in told["env"]["HOME"]
    assert str(tmp_path / "w") in told["cwd"]
    assert "--ephemeral" in told["argv"]
    assert told["argv"][told["argv"].index("--sandbox") + 1] == "read-only"
    assert told["argv"][told["argv"].index("--model") + 1] == "m-5"
    assert "--output-schema" not in told["argv"]
    assert list((tmp_path / "w").iterdir()) == []


@pytest.mark.parametrize(
    ("broken", "silent", "replies"),
    [(0, 0, 1), (2, 0, 3), (0, 3, 4), (1, 1, 3)],
    ids=["none", "cut", "without a word", "both"],
)
async def test_a_request_that_nobody_refused_may_have_been_paid_for(
    program, tmp_path, broken, silent, replies
):
    told = "2026-11-29T23:00:15.4Z  INFO codex_otel.trace_safe: event.name="
    log = [f'{told}"codex.api_request" error.message="error sending request"'] * silent
    log += [f'{told}"codex.sse_event" input_token_count=100 cached_token_count=60 output_token_count=7']
    retry = {"type": "error", "message": "Reconnecting... 1/5 (stream disconnected before completion)"}
    written = "\n".join([*log, ""])
    write = f"sys.stderr.write({written!r})"
    cli = program([retry] * broken + say("Three."), before=write)
    done = await CodexModel(cli, price=Price(10.0, 10.0), work=tmp_path / "w").complete(ASK)
    assert (done.text, done.usage.tokens) == ("Three.", 107 * replies)
    assert done.usage.cost_usd == pytest.approx(107 * replies * 10 / 1e6)


async def test_its_settings_switch_off_tools_network_chatter_and_history(program, tmp_path):
    await CodexModel(program(say("x")), work=tmp_path / "w").complete(ASK)
    config = tomlkit.parse(note(tmp_path)["config"]).unwrap()
    off = ("shell_tool", "unified_exec", "view_image", "apps", "plugins", "hooks", "memories")
    assert [config["features"][name] for name in off] == [False] * len(off)
    assert config["analytics"]["enabled"] is False
    assert config["history"]["persistence"] == "none"
    assert config["check_for_update_on_startup"] is False
    assert config["web_search"] == "disabled"
    assert config["model_providers"][config["model_provider"]]["requires_openai_auth"] is True


async def test_a_credential_file_is_copied_for_the_client_alone(program, tmp_path):
    signed = Credentials(source="auth.json", file=b'{"tokens": {"access_token": "t"}}')
    done = await CodexModel(program(say("x"), credentials=signed), work=tmp_path / "w").complete(ASK)
    assert done.error is None
    told = note(tmp_path)
    assert told["files"] == ["auth.json", "config.toml"]
    config = tomlkit.parse(told["config"]).unwrap()
    assert "env_key" not in config["model_providers"][config["model_provider"]]
    assert list((tmp_path / "w").iterdir()) == []


async def test_an_object_to_the_schema_is_the_value_and_the_schema_is_sent_simply(program, tmp_path):
    done = await CodexModel(program(say('{"n": 3}')), work=tmp_path / "w").complete(ASK, schema=SCHEMA)
    assert (done.value, done.error, done.fault) == ({"n": 3}, None, None)
    assert note(tmp_path)["schema"]["properties"]["n"] == {"type": "integer", "description": "at most 9"}


@pytest.mark.parametrize("text", ['{"n": 12}', "in words"])
async def test_a_reply_not_to_the_schema_is_the_models_failure(program, tmp_path, text):
    done = await CodexModel(program(say(text)), work=tmp_path / "w").complete(ASK, schema=SCHEMA)
    assert (done.value, done.error, done.fault, done.text) == (None, None, Fault.REPLY, text)


@pytest.mark.parametrize(
    ("events", "said", "fault"),
    [
        (fail("unexpected status 401 Unauthorized: bad key"), "codex login", Fault.SIGN_IN),
        (fail("unexpected status 404 Not Found: gone, url: http://h"), "404", Fault.MODEL),
        (fail("Quota exceeded. Check your plan and billing details."), "billing", Fault.MONEY),
        (fail("exceeded retry limit, last status: 429 Too Many Requests"), "429", Fault.RATE),
        (fail("We’re currently experiencing high demand, which may"), "high demand", Fault.OVERLOAD),
        (fail("stream disconnected before completion: Transport error"), "disconnected", Fault.CUT),
        (say(""), "gave no answer", Fault.REPLY),
        ("", "ended with 1 and no result", Fault.CLIENT),
        ("Segmentation fault", "Segmentation fault", Fault.CLIENT),
    ],
)
async def test_what_fails_outside_the_model_is_an_error_with_its_fault(
    program, tmp_path, events, said, fault
):
    done = await CodexModel(program(events, code=1), work=tmp_path / "w").complete(ASK)
    assert said in done.error
    assert (done.text, done.value, done.fault) == ("", None, fault)


async def test_a_refusal_is_the_models_failure(program, tmp_path):
    told = fail("stream disconnected: Incomplete response returned, reason: content_filter")
    done = await CodexModel(program(told, code=1), work=tmp_path / "w").complete(ASK)
    assert (done.value, done.error, done.fault) == (None, None, Fault.REFUSAL)


async def test_a_key_with_a_known_price_makes_costs_known(program, tmp_path):
    model = CodexModel(program(say("x")), price=Price(1.0, 10.0, 0.1), work=tmp_path / "w")
    assert model.estimate.cost_usd > 0
    assert (await model.complete(ASK)).usage.cost_usd == pytest.approx((40 + 70 + 6) / 1e6)
    plan = Credentials(source="auth.json", file=b"{}")
    model = CodexModel(program(say("x"), credentials=plan), price=Price(1.0, 1.0), work=tmp_path / "w")
    assert model.estimate.cost_usd is None
    assert (await model.complete(ASK)).usage.cost_usd is None


async def test_a_reply_whose_service_tells_no_tokens_counts_with_the_most_it_may_have_taken(
    program, tmp_path
):
    silent = say("Three.", input_tokens=0, cached_input_tokens=0, output_tokens=0)
    model = CodexModel(program(silent), price=Price(1.0, 10.0), work=tmp_path / "w")
    done = await model.complete(ASK)
    assert (done.text, done.error) == ("Three.", None)
    most = model.bound(ASK)
    assert (done.usage.tokens, done.usage.cost_usd) == (most.tokens, most.cost_usd)


async def test_a_client_that_hangs_is_ended(program, tmp_path):
    model = CodexModel(program(say("x"), before="time.sleep(60)"), seconds=1.0, work=tmp_path / "w")
    started = time.monotonic()
    done = await model.complete(ASK)
    assert ("no reply within 1 s" in done.error, done.fault) == (True, Fault.NETWORK)
    assert time.monotonic() - started < 10


async def test_a_client_that_does_not_start_is_an_error(program, tmp_path):
    cli = program(say("x"))
    cli.binary.unlink()
    done = await CodexModel(cli, work=tmp_path / "w").complete(ASK)
    assert ("does not start" in done.error, done.fault) == (True, Fault.CLIENT)


def test_nobody_signed_in_is_said_at_once(tmp_path):
    with pytest.raises(Unavailable, match="not signed in"):
        CodexModel(Client(binary=tmp_path, version="1", credentials=None))


async def test_the_users_own_route_to_the_model_is_kept(program, tmp_path):
    key = (("CODEX_API_KEY", "sk-fake"),)
    route = {"openai_base_url": "http://127.0.0.1:9/v1"}
    signed = Credentials(source="CODEX_API_KEY", env=key, route=route)
    await CodexModel(program(say("x"), credentials=signed), work=tmp_path / "w").complete(ASK)
    config = tomlkit.parse(note(tmp_path)["config"]).unwrap()
    service = config["model_providers"][config["model_provider"]]
    assert (service["base_url"], service["env_key"]) == ("http://127.0.0.1:9/v1", "CODEX_API_KEY")


SPENT = 1_050  # tokens of any reply to these
SCRIPT = {
    "usage": {"input": 1_000, "output": 50},
    "plays": [
        {"name": "object", "when": {"user_contains": "count"}, "steps": [{"do": [{"say": '{"n": 3}'}]}]},
        {
            "name": "refuse",
            "when": {"user_contains": "be refused"},
            "steps": [{"status": 401, "error": {"type": "authentication_error", "message": "bad key"}}],
        },
        {
            "name": "insist",
            "when": {"user_contains": "insist"},
            "steps": [{"do": [{"tool": "exec_command", "input": {"cmd": "touch insisted"}}]}],
        },
        {"name": "plain", "when": {}, "steps": [{"do": [{"think": "hm"}, {"say": "Plain words."}]}]},
    ],
}


class TestWithTheRealClient:
    pytestmark = real

    @pytest.fixture
    def server(self, tmp_path):
        running = MockModelServer(SCRIPT, str(tmp_path / "requests.jsonl")).start()
        yield running
        running.stop()

    @pytest.fixture
    def model(self, server, tmp_path):
        home = tmp_path / "users"
        home.mkdir()
        (home / "config.toml").write_text(f'openai_base_url = "{server.base_url}/v1"\n')
        cli = find_codex({"CODEX_API_KEY": "sk-fake", "CODEX_HOME": str(home)}, Path(PROGRAM))
        assert cli is not None
        return CodexModel(cli, model="gpt-5.5", seconds=60, work=tmp_path / "w")

    async def test_it_answers_in_words_and_to_a_schema_without_tools_that_read_or_run(self, model, tmp_path):
        plain = await model.complete(ASK)
        assert (plain.text, plain.error) == ("Plain words.", None)
        done = await model.complete([Message("user", "count them")], schema=SCHEMA)
        assert (done.value, done.error) == ({"n": 3}, None)
        assert done.usage.output_tokens > 0
        assert list((tmp_path / "w").iterdir()) == []
        log = [json.loads(line) for line in (tmp_path / "requests.jsonl").read_text().splitlines()]
        assert {entry["path"] for entry in log} == {"/v1/responses"}
        body = log[0]["body"]
        offered = {tool.get("name") or tool["type"] for tool in body["tools"]}
        assert offered <= {"apply_patch", "request_user_input"}, (
            "the sandbox refuses the one, nobody hears the other"
        )
        texts = [part["text"] for item in body["input"] for part in item["content"]]
        assert texts == ["Be brief.", "How many?"]
        assert log[1]["body"]["text"]["format"]["type"] == "json_schema"

    async def test_a_refused_key_is_a_lasting_fault(self, model):
        done = await model.complete([Message("user", "be refused")])
        assert (done.fault, done.text) == (Fault.SIGN_IN, "")
        assert "CODEX_API_KEY" in done.error

    async def test_a_model_that_insists_on_tools_it_was_not_given_is_stopped(self, model, tmp_path):
        done = await model.complete([Message("user", "please insist")])
        assert (done.fault, done.text) == (Fault.REPLY, "")
        assert "tools it does not have" in done.error
        # However late a busy machine reads the fourth reply, each request counts.
        asked = len((tmp_path / "requests.jsonl").read_text().splitlines())
        assert _MOST_REPLIES <= asked <= 5 * _MOST_REPLIES
        assert asked * SPENT <= done.usage.tokens <= (asked + 1) * SPENT
        assert list((tmp_path / "w").iterdir()) == []


async def test_replies_that_broke_off_before_it_was_out_of_time_count_as_one_that_came(program, tmp_path):
    told = '2026-11-29T23:00:15.4Z  INFO codex_otel.trace_safe: event.name="codex.sse_event"'
    log = f"{told} input_token_count=100 cached_token_count=60 output_token_count=7"
    again = {"type": "error", "message": "Reconnecting... 1/5 (stream disconnected before completion: gone)"}
    tell = f"print({log!r}, file=sys.stderr, flush=True); print({json.dumps(again)!r}, flush=True); "
    client = program([], before=tell + "time.sleep(60)")
    done = await CodexModel(client, seconds=2.0, work=tmp_path / "w").complete(ASK)
    assert (done.fault, done.usage.tokens) == (Fault.NETWORK, 3 * 107)


@pytest.mark.parametrize("is_cut", [False, True], ids=["asked once", "asked again"])
async def test_a_call_cut_off_before_any_reply_made_one_request_which_does_not_pass_its_bound(
    program, tmp_path, is_cut
):
    waiting = tmp_path / "waiting"
    wait = f"pathlib.Path({str(waiting)!r}).touch(); time.sleep(60)"
    again = {"type": "error", "message": "Reconnecting... 1/5 (stream disconnected before completion: gone)"}
    tell = f"print({json.dumps(again)!r}, flush=True); "
    model = CodexModel(program([], before=tell * is_cut + wait), work=tmp_path / "w")
    most = model.bound(ASK)
    ledger = MemoryLedger(max_tokens=2 * most.tokens)
    await cut_off(ledger.once("optimizer", "1", most, lambda: model.complete(ASK), Completion), waiting)
    assert ledger.spent == most
    assert list((tmp_path / "w").iterdir()) == []
    if is_cut:
        with pytest.raises(CeilingReached):
            await ask_once_more(ledger, most)
    else:
        await ask_once_more(ledger, most)
