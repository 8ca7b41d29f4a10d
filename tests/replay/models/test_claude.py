"""Claude Code as a chat model: a fake program for what can go wrong, the real one where it is named."""

from __future__ import annotations

import json
import os
import sys
import textwrap
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_replay.agents.claude_cli import find_claude
from skillopt_replay.agents.clients import Client, Credentials
from skillopt_replay.errors import CeilingReached, Unavailable
from skillopt_replay.ledger import MemoryLedger
from skillopt_replay.models import claude as module
from skillopt_replay.models.claude import ClaudeModel, render
from skillopt_replay.protocols import Completion, Message
from skillopt_replay.rollouts import Fault
from tests.support.cutting import ask_once_more, cut_off
from tests.support.scripted_model_server import MockModelServer

# Read at import: the tests' own environment is emptied.
PROGRAM = os.environ.get("SKILLOPT_TEST_CLAUDE", "")
real = [
    pytest.mark.real_cli,
    pytest.mark.skipif(
        not Path(PROGRAM or "/nonexistent").is_file(), reason="SKILLOPT_TEST_CLAUDE names no program"
    ),
]
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
ASK = [Message("system", "Be brief."), Message("user", "How many?")]
GOOD = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "Three.",
    "stop_reason": "end_turn",
    "total_cost_usd": 0.02,
    "modelUsage": {
        "m-5": {
            "inputTokens": 10,
            "outputTokens": 4,
            "cacheReadInputTokens": 90,
            "cacheCreationInputTokens": 1,
        }
    },
}


@pytest.fixture
def program(tmp_path):
    """Make a fake client that notes how it was called and answers with `reply` (text: as it is)."""

    def make(reply, code=0, before=""):
        out = reply if isinstance(reply, str) else json.dumps(reply)
        path = tmp_path / "claude"
        path.write_text(
            textwrap.dedent(f"""\
            #!{sys.executable}
            import json, os, pathlib, sys, time
            config = pathlib.Path(os.environ["CLAUDE_CONFIG_DIR"])
            system = sys.argv[sys.argv.index("--system-prompt-file") + 1]
            note = {{"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(),
                    "stdin": sys.stdin.read(), "system": open(system).read(),
                    "files": sorted(p.name for p in config.iterdir())}}
            pathlib.Path({str(tmp_path / "note.json")!r}).write_text(json.dumps(note))
            {before}
            sys.stdout.write({out!r})
            sys.exit({code})
            """)
        )
        path.chmod(0o755)
        credentials = Credentials(source="test", env=(("ANTHROPIC_API_KEY", "sk-fake"),))
        return Client(binary=path, version="9.9.9", credentials=credentials)

    return make


def note(tmp_path):
    return json.loads((tmp_path / "note.json").read_text())


async def test_the_client_gets_the_question_and_nothing_of_the_user(program, tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "user-token")
    done = await ClaudeModel(program(GOOD), model="m-5", work=tmp_path / "w").complete(ASK)
    assert (done.text, done.error, done.value, done.model) == ("Three.", None, None, "m-5")
    assert (done.usage.input_tokens, done.usage.cache_read_tokens, done.usage.cost_usd) == (10, 90, 0.02)
    told = note(tmp_path)
    assert (told["stdin"], told["system"]) == ("How many?", "Be brief.")
    assert told["env"]["CLAUDE_CODE_ENTRYPOINT"] == "skillopt-sleep-optimizer"
    assert told["env"]["ANTHROPIC_API_KEY"] == "sk-fake"
    assert "user-token" not in json.dumps(told)
    assert str(tmp_path / "w") in told["env"]["HOME"]
    assert str(tmp_path / "w") in told["cwd"]
    assert told["argv"][told["argv"].index("--tools") + 1] == ""
    assert told["argv"][told["argv"].index("--model") + 1] == "m-5"
    assert "--json-schema" not in told["argv"]
    assert list((tmp_path / "w").iterdir()) == []


async def test_a_credential_file_is_copied_for_the_client_alone(program, tmp_path):
    cli = program(GOOD)
    signed = Credentials(source="file", file=b'{"claudeAiOauth": {"accessToken": "t"}}')
    cli = Client(binary=cli.binary, version="9", credentials=signed)
    assert (await ClaudeModel(cli, work=tmp_path / "w").complete(ASK)).error is None
    assert note(tmp_path)["files"] == [".credentials.json"]
    assert list((tmp_path / "w").iterdir()) == []


async def test_an_object_the_client_hands_over_is_the_value(program, tmp_path):
    reply = {**GOOD, "result": '{"n":3}', "structured_output": {"n": 3}, "stop_reason": "tool_use"}
    done = await ClaudeModel(program(reply), work=tmp_path / "w").complete(ASK, schema=SCHEMA)
    assert done.value == {"n": 3}
    argv = note(tmp_path)["argv"]
    assert json.loads(argv[argv.index("--json-schema") + 1]) == SCHEMA


@pytest.mark.parametrize(
    "reply", [GOOD, {**GOOD, "subtype": "error_max_turns", "is_error": True, "result": None}]
)
async def test_a_model_that_hands_in_no_object_failed_and_the_infrastructure_did_not(
    program, tmp_path, reply
):
    done = await ClaudeModel(program(reply, code=1), work=tmp_path / "w").complete(ASK, schema=SCHEMA)
    assert (done.value, done.error) == (None, None)
    assert done.usage.cost_usd == 0.02


@pytest.mark.parametrize(
    ("reply", "said", "fault"),
    [
        (
            {**GOOD, "is_error": True, "result": "API Error", "api_error_status": 529},
            "API Error (status 529)",
            Fault.OVERLOAD,
        ),
        ({**GOOD, "is_error": True, "result": "no", "api_error_status": 404}, "status 404", Fault.MODEL),
        ({**GOOD, "is_error": True, "result": "Credit balance is too low"}, "Credit", Fault.MONEY),
        ({**GOOD, "is_error": True, "result": "Please run /login"}, "sign in with", Fault.SIGN_IN),
        ({**GOOD, "result": ""}, "gave no answer", Fault.REPLY),
        (
            {**GOOD, "subtype": "error_max_budget_usd", "result": None, "errors": ["over budget"]},
            "over budget",
            Fault.CLIENT,
        ),
        ({**GOOD, "stop_reason": None, "result": "half a"}, "did not come to its end", Fault.CUT),
        ("", "ended with 1 and no result", Fault.CLIENT),
        ("Segmentation fault", "Segmentation fault", Fault.CLIENT),
        ("[1]", "no result", Fault.CLIENT),
    ],
)
async def test_what_fails_outside_the_model_is_an_error(program, tmp_path, reply, said, fault):
    done = await ClaudeModel(program(reply, code=1), work=tmp_path / "w").complete(ASK, schema=SCHEMA)
    assert said in done.error
    assert (done.text, done.value, done.fault) == ("", None, fault)


RETRY = {"type": "system", "subtype": "api_retry", "error_status": None, "error": "unknown"}
ANSWER = {"type": "assistant", "message": {"id": "m1", "model": "m-5"}}
BROKEN = {**GOOD, "is_error": True, "total_cost_usd": 0, "modelUsage": {}}


async def test_the_model_that_answered_is_named_and_not_one_that_was_asked_besides(program, tmp_path):
    used = {"m-title": {"inputTokens": 300, "outputTokens": 5}, **GOOD["modelUsage"]}
    lines = "".join(json.dumps(line) + "\n" for line in (ANSWER, {**GOOD, "modelUsage": used}))
    done = await ClaudeModel(program(lines), work=tmp_path / "w").complete(ASK)
    assert (done.model, done.usage.tokens) == ("m-5", 305 + 105)


@pytest.mark.parametrize(
    ("lines", "tokens", "usd"),
    [
        ([ANSWER, GOOD], 105, 0.02),
        ([RETRY, RETRY, ANSWER, GOOD], 315, 0.06),
        ([{**RETRY, "error_status": 529}, ANSWER, GOOD], 105, 0.02),
        ([{**RETRY, "error_status": 504}, ANSWER, GOOD], 210, 0.04),
        ([RETRY, ANSWER, {**ANSWER, "message": {"id": "m2"}}, GOOD], 157, 0.03),
        ([RETRY, {**BROKEN, "result": "Connection was lost (ECONNRESET)"}], 0, None),
        ([RETRY, {**BROKEN, "result": "Connection refused (ECONNREFUSED)"}], 0, 0.0),
    ],
    ids=[
        "none",
        "broken off",
        "refused",
        "given up by a gateway",
        "two replies",
        "nothing came",
        "not reached",
    ],
)
async def test_a_request_that_nobody_refused_may_have_been_paid_for(program, tmp_path, lines, tokens, usd):
    said = "".join(f"{json.dumps(line)}\n" for line in lines)
    done = await ClaudeModel(program(said), work=tmp_path / "w").complete(ASK)
    assert (done.usage.tokens, done.usage.cost_usd) == (tokens, pytest.approx(usd) if usd else usd)


@pytest.mark.parametrize(
    "reply",
    [
        {**GOOD, "is_error": True, "result": "API Error: safeguards flagged this", "stop_reason": "refusal"},
        {**GOOD, "result": "", "stop_reason": "refusal"},
        {**GOOD, "is_error": True, "result": "content filtering policy", "api_error_status": 400},
    ],
    ids=["told", "silent", "status"],
)
async def test_a_refusal_is_the_models_failure(program, tmp_path, reply):
    done = await ClaudeModel(program(reply, code=1), work=tmp_path / "w").complete(ASK, schema=SCHEMA)
    assert (done.value, done.error, done.fault) == (None, None, Fault.REFUSAL)


async def test_a_reply_whose_service_tells_no_tokens_counts_with_the_most_it_may_have_taken(
    program, tmp_path
):
    reply = {"type": "assistant", "message": {"id": "m", "model": "m-5", "content": []}}
    silent = {**GOOD, "total_cost_usd": 0, "modelUsage": {}}
    lines = "\n".join(map(json.dumps, (reply, silent)))
    model = ClaudeModel(program(lines), work=tmp_path / "w")
    done = await model.complete(ASK)
    assert (done.text, done.error) == ("Three.", None)
    most = model.bound(ASK)
    assert (done.usage.tokens, done.usage.cost_usd) == (most.tokens, most.cost_usd)


async def test_a_client_that_hangs_is_ended(program, tmp_path):
    model = ClaudeModel(program(GOOD, before="time.sleep(60)"), seconds=1.0, work=tmp_path / "w")
    started = time.monotonic()
    done = await model.complete(ASK)
    assert "no reply within 1 s" in done.error
    assert time.monotonic() - started < 10


async def test_a_prompt_over_the_clients_limit_is_not_sent(program, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_PROMPT_BYTES", 100)
    done = await ClaudeModel(program(GOOD), work=tmp_path / "w").complete([Message("user", "x" * 101)])
    assert "101 bytes" in done.error
    assert not (tmp_path / "note.json").exists()


async def test_a_client_that_does_not_start_is_an_error(program, tmp_path):
    cli = program(GOOD)
    cli.binary.unlink()
    assert "does not start" in (await ClaudeModel(cli, work=tmp_path / "w").complete(ASK)).error


def test_nobody_signed_in_is_said_at_once(tmp_path):
    cli = Client(binary=tmp_path, version="1", credentials=None, hint="sign in")
    with pytest.raises(Unavailable, match="not signed in"):
        ClaudeModel(cli)


@given(st.lists(st.sampled_from(["user", "assistant"]), min_size=1, max_size=4), st.text(max_size=20))
def test_no_prompt_starts_with_a_slash(roles, text):
    _, prompt = render([Message(role, "/" + text) for role in roles])
    assert not prompt.lstrip().startswith("/")
    assert prompt.count("/" + text) >= len(roles)


def test_a_conversation_becomes_one_prompt_with_headings():
    system, prompt = render(
        [Message("system", "S1"), Message("user", "a"), Message("assistant", "b"), Message("user", "c")]
    )
    assert system == "S1"
    assert prompt == "Request:\na\n\nYour earlier reply:\nb\n\nRequest:\nc"


SCRIPT = {
    "plays": [
        {
            "name": "object",
            "when": {"user_contains": "count them", "tool_available": "StructuredOutput"},
            "steps": [{"do": [{"structured": {"n": 3}}]}, {"do": [{"say": "done"}]}],
        },
        {
            "name": "refuse",
            "when": {"user_contains": "be refused"},
            "steps": [{"status": 401, "error": {"type": "authentication_error", "message": "bad key"}}],
        },
        {"name": "plain", "when": {}, "steps": [{"do": [{"say": "Plain words."}]}]},
    ]
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
        env = {"ANTHROPIC_API_KEY": "sk-fake", "ANTHROPIC_BASE_URL": server.base_url}
        cli = find_claude(env, Path(PROGRAM))
        assert cli is not None
        return ClaudeModel(cli, seconds=60, work=tmp_path / "w")

    async def test_it_answers_in_words_and_to_a_schema(self, model):
        plain = await model.complete(ASK)
        assert (plain.text, plain.error) == ("Plain words.", None)
        done = await model.complete([Message("user", "count them")], schema=SCHEMA)
        assert (done.value, done.error) == ({"n": 3}, None)
        assert done.usage.output_tokens > 0
        without = await model.complete([Message("user", "in words")], schema=SCHEMA)
        assert (without.value, without.error, without.text) == (None, None, "Plain words.")

    async def test_a_refused_key_is_an_error(self, model):
        done = await model.complete([Message("user", "be refused")])
        assert (done.fault, done.text) == (Fault.SIGN_IN, "")
        assert "ANTHROPIC_API_KEY" in done.error

    async def test_a_path_or_command_quoted_in_a_prompt_stays_words(self, model, tmp_path):
        (tmp_path / "secret.txt").write_text("HERON-SECRET-77")
        for text in (f"see @{tmp_path}/secret.txt please", "/compact and go on"):
            assert (await model.complete([Message("user", text)])).text == "Plain words."
        log = (tmp_path / "requests.jsonl").read_text()
        assert "secret.txt please" in log
        assert "/compact and go on" in log
        assert "HERON-SECRET-77" not in log
        assert "Be brief." not in log

    async def test_it_leaves_nothing_behind(self, model, tmp_path):
        await model.complete(ASK)
        assert list((tmp_path / "w").iterdir()) == []
        assert "Be brief." in (tmp_path / "requests.jsonl").read_text()


@pytest.mark.parametrize("has_replied", [False, True])
async def test_a_call_cut_off_before_any_reply_made_one_request_which_does_not_pass_its_bound(
    program, tmp_path, has_replied
):
    waiting = tmp_path / "waiting"
    wait = f"pathlib.Path({str(waiting)!r}).touch(); time.sleep(60)"
    tell = f"print({json.dumps(ANSWER)!r}, flush=True); "
    model = ClaudeModel(program([], before=tell * has_replied + wait), work=tmp_path / "w")
    most = model.bound(ASK)
    ledger = MemoryLedger(max_tokens=2 * most.tokens)
    await cut_off(ledger.once("optimizer", "1", most, lambda: model.complete(ASK), Completion), waiting)
    assert ledger.spent == most
    assert list((tmp_path / "w").iterdir()) == []
    if has_replied:
        with pytest.raises(CeilingReached):
            await ask_once_more(ledger, most)
    else:
        await ask_once_more(ledger, most)
