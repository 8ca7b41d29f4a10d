"""The client's stream and its log are read line by line, whatever is in them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_replay.agents.codex_stream import StreamReader
from skillopt_replay.agents.codex_words import unwrap
from skillopt_replay.protocols import Limits
from skillopt_replay.rollouts import Called, Fault, Outcome, RolloutCall, Said, Usage
from skillopt_replay.skills import new_skill

SKILL = new_skill("heron-greet", "Use when greeting somebody.", "# Herons\n\nSay HERON.")

START = [{"type": "thread.started", "thread_id": "t"}, {"type": "turn.started"}]
DONE = {
    "type": "turn.completed",
    "usage": {"input_tokens": 3600, "cached_input_tokens": 600, "output_tokens": 120},
}


def say(text: str) -> dict:
    return {"type": "item.completed", "item": {"id": f"m-{text}", "type": "agent_message", "text": text}}


def command(line: str, code: int | None = 0, output: str = "", status: str = "completed") -> list[dict]:
    item = {"id": f"c-{line}", "type": "command_execution", "command": f"/bin/bash -lc '{line}'"}
    ended = {**item, "aggregated_output": output, "exit_code": code, "status": status}
    return [
        {"type": "item.started", "item": {**item, "aggregated_output": "", "exit_code": None}},
        {"type": "item.completed", "item": ended},
    ]


def retry(words: str, number: int = 1) -> dict:
    return {"type": "error", "message": f"Reconnecting... {number}/5 ({words})"}


def fail(words: str) -> list[dict]:
    return [{"type": "error", "message": words}, {"type": "turn.failed", "error": {"message": words}}]


def event(name: str, **fields: object) -> str:
    told = " ".join(f"{key}={value}" for key, value in fields.items())
    return f'2026-11-29T23:00:15.4Z  INFO codex_otel.trace_safe: event.name="codex.{name}" {told}'


def answered(read: int = 1200, written: int = 40, model: str = "gpt-5.5") -> str:
    counts = {"input_token_count": read, "output_token_count": written, "cached_token_count": 200}
    return event("sse_event", **{"event.kind": "response.completed", **counts, "model": model})


def asked(name: str, key: str = "k") -> str:
    return event("tool_call_received", call_id=f'"{key}"', tool_name=f'"{name}"')


def failed(words: str) -> str:
    return f"2026-11-29T23:00:15.4Z ERROR codex_core::tools::router: error={words}"


def feed(*events: dict, log: tuple[str, ...] = (), piece: int = 0, **options) -> StreamReader:
    reader = StreamReader(**options)
    data = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    for start in range(0, len(data), piece or len(data) or 1):
        reader.feed(data[start : start + (piece or len(data))])
    reader.log.feed("".join(f"{line}\n" for line in log).encode())
    return reader


def read(*events: dict, **options):
    return feed(*events, **options).finish()


@pytest.mark.parametrize("piece", [0, 1, 7, 4096])
def test_a_good_run_is_told_in_full_however_it_is_cut_into_pieces(piece):
    change = {"id": "f", "type": "file_change", "changes": [{"path": "a", "kind": "add"}]}
    reading = read(
        *START,
        say("I look."),
        *command("npm test", 3, "boom"),
        {"type": "item.completed", "item": {**change, "status": "completed"}},
        say("Done."),
        DONE,
        piece=piece,
        log=(event("api_request"), answered()),
    )
    assert (reading.outcome, reading.answer, reading.error) == (Outcome.FINISHED, "Done.", None)
    assert reading.calls == (
        RolloutCall("exec_command", "npm test", "Exit code 3\nboom", exit_code=3, output="boom"),
        RolloutCall("apply_patch", arguments='[{"path":"a","kind":"add"}]'),
    )
    assert reading.steps == (Said("I look."), Called(0), Called(1), Said("Done."))
    assert reading.usage == Usage(3000, 120, 600, 0, None)
    assert (reading.model, reading.skipped) == ("gpt-5.5", 0)


def test_other_tools_have_their_names_and_their_errors():
    items = [
        {"id": "1", "type": "mcp_tool_call", "server": "s", "tool": "look", "arguments": {"a": 1}},
        {"id": "2", "type": "web_search", "query": "herons"},
        {"id": "3", "type": "todo_list", "items": [{"text": "a", "completed": False}]},
        {"id": "4", "type": "collab_tool_call", "tool": "spawn_agent", "prompt": "greet"},
        {"id": "5", "type": "of_tomorrow"},
        {"id": "6", "type": "reasoning", "text": "hm"},
    ]
    items[0] |= {"status": "failed", "error": {"message": "no such thing"}}
    items[3] |= {"status": "completed", "result": {"content": [{"type": "text", "text": "hello"}]}}
    reading = read(*START, *({"type": "item.completed", "item": item} for item in items), DONE)
    assert [(call.name, call.error) for call in reading.calls] == [
        ("look", "no such thing"),
        ("web_search", None),
        ("update_plan", None),
        ("spawn_agent", None),
    ]
    assert (reading.calls[0].arguments, reading.calls[3].output) == ('{"a":1}', "hello")


@pytest.mark.parametrize(
    ("words", "outcome", "fault"),
    [
        (
            "unexpected status 401 Unauthorized: Incorrect API key provided: x",
            "infrastructure",
            Fault.SIGN_IN,
        ),
        ("The model `x` does not exist or you do not have access to it.", "infrastructure", Fault.MODEL),
        (
            json.dumps({"error": {"message": "The 'x' model is not supported when using Codex"}}),
            "infrastructure",
            Fault.MODEL,
        ),
        ("exceeded retry limit, last status: 429 Too Many Requests", "infrastructure", Fault.RATE),
        ("Quota exceeded. Check your plan and billing details.", "infrastructure", Fault.MONEY),
        ("You've hit your usage limit. Try again later.", "infrastructure", Fault.MONEY),
        ("We’re currently experiencing high demand, which may", "infrastructure", Fault.OVERLOAD),
        ("Selected model is at capacity. Please try a different model.", "infrastructure", Fault.OVERLOAD),
        ("stream disconnected before completion: Transport error", "infrastructure", Fault.CUT),
        (
            "stream disconnected before completion: failed to lookup address information",
            "infrastructure",
            Fault.NETWORK,
        ),
        ("Codex ran out of room in the model's context window. Start a new thread", "limit", None),
        ("something else", "infrastructure", Fault.CLIENT),
    ],
)
def test_failures_are_told_apart(words, outcome, fault):
    reading = read(*START, say("half"), *fail(words))
    assert (reading.outcome, reading.fault) == (Outcome(outcome), fault)
    assert reading.error
    assert not reading.error.startswith("{")


def test_an_error_the_client_got_over_is_no_failure():
    overcome = [retry("stream disconnected"), *command("ls"), say("Done."), DONE]
    assert read(*START, *overcome).outcome is Outcome.FINISHED
    remark = {"type": "item.completed", "item": {"id": "e", "type": "error", "message": "Model metadata"}}
    reading = read(*START, remark, say("Done."), DONE)
    assert (reading.outcome, reading.calls) == (Outcome.FINISHED, ())


def test_waiting_for_the_service_is_seen():
    assert read(*START).waiting_for_service
    waiting = read(*START, say("a"), retry("We’re currently experiencing high demand"))
    assert (waiting.waiting_for_service, waiting.fault) == (True, Fault.OVERLOAD)
    assert waiting.error == "We’re currently experiencing high demand"
    assert not read(*START, retry("stream closed"), say("a")).waiting_for_service


def test_what_waiting_does_not_help_stops_the_run():
    reader = feed(*START, retry("unexpected status 401 Unauthorized: bad key, url: http://127.0.0.1/v1"))
    assert reader.over(Limits())
    reading = reader.finish()
    assert (reading.outcome, reading.fault) == (Outcome.INFRASTRUCTURE, Fault.SIGN_IN)
    assert "401" in (reading.error or "")
    assert not feed(*START, retry("We’re currently experiencing high demand")).over(Limits())


def test_a_route_without_web_sockets_is_no_unknown_model():
    reader = feed(*START, retry("unexpected status 404 Not Found: x, url: ws://127.0.0.1:1/v1/responses"))
    assert not reader.over(Limits())


@pytest.mark.parametrize(
    ("line", "code", "output", "loaded"),
    [
        ("cat /h/.codex/skills/heron-greet/SKILL.md", 0, SKILL.text, True),
        ("sed -n 1,200p skills/heron-greet/SKILL.md", 0, SKILL.text[:-3], True),
        ("head -3 /h/skills/heron-greet/SKILL.md", 0, "---\nname: heron-greet", False),
        ("cat /h/skills/heron-greet/SKILL.md", 1, SKILL.text, False),
        ("cat /h/skills/other/SKILL.md", 0, SKILL.text, False),
        ("grep -r Herons .", 0, SKILL.text, False),
    ],
)
def test_a_skill_counts_as_loaded_when_its_text_was_shown(line, code, output, loaded):
    status = "failed" if code else "completed"
    reading = read(*START, *command(line, code, output, status), DONE, skill=SKILL)
    assert reading.skill_loaded is loaded


def test_a_skill_named_in_the_prompt_is_loaded_from_the_start():
    assert read(*START, DONE, skill=SKILL, named=True).skill_loaded


def test_refused_calls_are_told_by_the_log_and_kept_in_the_trace():
    log = (
        answered(),
        asked("apply_patch", "k1"),
        failed("patch rejected: writing outside of the project; rejected by user approval settings"),
        asked("exec_command", "k2"),
        event("sandbox_outcome", tool_name="exec_command", call_id="k2", outcome="denied"),
        asked("nosuch", "k3"),
        failed("unsupported call: nosuch"),
        asked("apply_patch", "k4"),
        failed("Exit code: 1"),
        "Wall time: 0 seconds",
    )
    reading = read(*START, say("I could not."), DONE, log=log)
    assert reading.denied == ("apply_patch", "exec_command")
    assert [(call.name, call.error) for call in reading.calls] == [
        ("apply_patch", "patch rejected: writing outside of the project; rejected by user approval settings"),
        ("exec_command", "denied by its sandbox"),
        ("nosuch", "unsupported call: nosuch"),
    ]
    declined = command("rm -rf /", None, "", "declined")
    assert read(*START, *declined, DONE).denied == ("exec_command",)


@pytest.mark.parametrize("first", [True, False], ids=["tools first", "count first"])
def test_a_run_is_stopped_where_the_next_call_would_pass_its_limits(first):
    told = (asked("exec_command"), answered()) if first else (answered(), asked("exec_command"))
    reader = feed(*START, log=(event("api_request"), *told))
    assert not reader.over(Limits(turns=2, tokens=1241))
    assert reader.over(Limits(turns=1))
    reading = reader.finish()
    assert (reading.outcome, reading.error) == (Outcome.LIMIT, "stopped after 1 turns")
    assert reading.usage == Usage(1000, 40, 200)
    assert feed(*START, log=told).over(Limits(tokens=1240))
    priced = feed(*START, log=told, price=lambda model, usage: 1.0 if model == "gpt-5.5" else None)
    assert priced.over(Limits(usd=1.0))


def test_what_a_helper_with_a_model_of_unknown_price_asks_for_is_not_free():
    log = (event("api_request"), answered(), event("api_request"), answered(model="gpt-dear"))
    for told in (log, log[::-1]):
        reader = feed(*START, DONE, log=told, price=lambda model, _: 1.0 if model == "gpt-5.5" else None)
        assert reader.tally().usage.cost_usd == 1.0
        usage = reader.finish().usage
        assert (usage.tokens, usage.cost_usd) == (3720, None)


def test_a_request_that_nobody_refused_is_not_told_of():
    refused = {"error.message": '"http 500"', "http.response.status_code": "500"}
    silent = {"error.message": '"error sending request"'}
    late = {"error.message": '"http 504"', "http.response.status_code": "504"}
    log = (
        event("api_request", **refused),
        event("api_request", **silent),
        event("api_request", **late),
        event("websocket_request", **silent),
    )
    tally = feed(*START, log=log).tally()
    assert (tally.told, tally.unheard) == (2, 2)


def test_a_last_answer_over_the_limit_is_not_taken_away():
    log = (event("api_request"), answered(), asked("x"), event("api_request"), answered())
    reader = feed(*START, say("Done."), log=log)
    assert not reader.over(Limits(turns=2, tokens=1000))
    reader.feed(json.dumps(DONE).encode())
    reading = reader.finish()
    assert reading.outcome is Outcome.FINISHED
    assert reading.usage.tokens == 3720


def test_a_stopped_run_stays_stopped_whatever_the_client_says_on_its_way_out():
    reader = feed(*START, log=(answered(), asked("x")))
    assert reader.over(Limits(turns=1))
    reader.feed(json.dumps(DONE).encode() + b"\n")
    assert reader.over(Limits(turns=1))
    assert reader.finish().outcome is Outcome.LIMIT


def test_without_a_result_the_last_words_of_the_log_are_the_error():
    reading = read(*START, log=("Error: no space left on device",))
    assert (reading.outcome, reading.error) == (None, "Error: no space left on device")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("/bin/bash -lc 'cat a && exit 3'", "cat a && exit 3"),
        ("bash -c ls", "ls"),
        ('/usr/bin/zsh -lc "echo \\"x\\""', 'echo "x"'),
        ("ls -l", "ls -l"),
        ("/bin/bash -lc 'torn", "/bin/bash -lc 'torn"),
    ],
)
def test_a_command_is_told_as_the_model_gave_it(given, meant):
    assert unwrap(given) == meant


def test_a_line_nested_beyond_measure_costs_only_itself():
    reader = StreamReader()
    reader.feed(b'{"type":"x","item":{"arguments":' + b"[" * 200_000 + b"\n")
    reader.feed(json.dumps(DONE).encode())
    reading = reader.finish()
    assert (reading.outcome, reading.skipped) == (Outcome.FINISHED, 1)


def test_lines_too_long_or_not_json_cost_only_themselves():
    reader = StreamReader(max_line=2000)
    reader.feed(b"garbage\n{}\n[1]\n\xff\xfe\n" + b"x" * 100_000)
    reader.feed(b"x" * 100_000 + b"\n")
    reader.feed(json.dumps(DONE).encode())
    reading = reader.finish()
    assert (reading.outcome, reading.skipped) == (Outcome.FINISHED, 4)


def test_memory_does_not_grow_with_a_log_without_an_end():
    reader = StreamReader()
    for _ in range(1000):
        reader.log.feed(b"x" * 1000)
    reader.log.feed(b"\n")
    for _ in range(1000):
        reader.log.feed(b"y" * 999 + b"\n")
    assert len(reader.log.said) <= 2000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "item", "id", "command", "error", "message", "usage", "result", "status"]
            ),
            inner,
        )
    ),
    max_leaves=12,
)
KNOWN = st.sampled_from([*START, DONE, say("x"), *command("ls"), retry("x"), *fail("x")])
ITEMS = st.builds(
    lambda kind, item: {"type": kind, "item": item},
    st.sampled_from(["item.started", "item.updated", "item.completed"]),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["command_execution", "file_change", "mcp_tool_call", "error", "new"])},
        optional=dict.fromkeys(("id", "command", "result", "changes", "status", "error", "tool"), JSON),
    ),
)
LOG = st.lists(
    st.text(max_size=40)
    | st.sampled_from(
        [answered(), asked("x"), failed("rejected"), event("sandbox_outcome", outcome="denied")]
    )
    | st.builds(lambda text: event("sse_event", input_token_count=text), st.text(max_size=20)),
    max_size=6,
)


@given(st.lists(JSON | KNOWN | ITEMS, max_size=8), LOG, st.integers(1, 50))
def test_no_stream_is_too_strange_to_read(events, log, piece):
    reader = feed(*events, log=tuple(log), piece=piece, skill=SKILL)
    reader.over(Limits(turns=1))
    reading = reader.finish()
    assert reading.outcome is None or isinstance(reading.outcome, Outcome)
    assert reading.skipped <= len(events)
    assert reading.usage.tokens >= 0


@pytest.mark.parametrize(
    ("events", "log", "lost"),
    [
        ((say("Done."), DONE), (answered(),), 0),
        ((say("I look."),), (answered(),), 1),
        (command("npm test")[:1], (answered(), asked("exec_command")), 0),
        ((retry("stream disconnected before completion: gone"), say("Done."), DONE), (answered(),), 1),
        (fail("stream disconnected before completion: Transport error"), (answered(),), 1),
        (fail("exceeded retry limit, last status: 429 Too Many Requests"), (), 0),
        ((retry("unexpected status 503 Service Unavailable"), say("Done."), DONE), (answered(),), 0),
        ((say("Done."), DONE), (answered(), answered(0, 0)), 1),
    ],
    ids=[
        "none",
        "asking at the end",
        "a tool at work",
        "cut once",
        "cut for good",
        "refused",
        "overload",
        "silent",
    ],
)
def test_requests_that_may_have_been_paid_for_without_a_reply_are_counted(events, log, lost):
    reading = read(*START, *events, log=log, price=lambda model, usage: usage.tokens / 1e6)
    assert reading.lost + reading.asking == lost
    assert reading.largest.cost_usd == (pytest.approx(0.00124) if log else None)


@pytest.mark.parametrize(
    ("log", "unread"),
    [
        ((answered(), asked("exec_command")), 500),
        ((answered(), asked("exec_command"), event("api_request")), 500),
        ((answered(), asked("exec_command"), event("api_request"), answered()), 0),
    ],
    ids=["before it is asked", "asked", "told"],
)
def test_what_a_tool_gave_is_unread_until_the_reply_to_it_has_told(log, unread):
    reader = StreamReader()
    for line in (*START, *command("npm test", output="x" * 500)):
        reader.feed(json.dumps(line).encode() + b"\n")
    for entry in log:
        reader.log.feed(entry.encode() + b"\n")
    assert reader.finish().unread == unread


@pytest.mark.parametrize(
    ("told", "unread"),
    [
        ({"tool_name": "exec_command", "output_length": 9117}, 9117),
        ({"tool_name": "exec_command", "output_length": 300}, 500),
        ({"tool_name": "view_image", "output_length": 35}, 10_035),
        ({"tool_name": "exec_command", "output_length": 10**12}, 1 << 20),
        ({"tool_name": "exec_command", "output_length": "-5"}, 500),
        ({"tool_name": "exec_command"}, 500),
    ],
    ids=["goes on", "told by both", "an image", "made up", "no number", "an older version"],
)
def test_what_a_command_gave_that_goes_on_is_unread_as_the_log_tells(told, unread):
    reader = StreamReader()
    for line in (*START, *command("npm test", output="x" * 500)):
        reader.feed(json.dumps(line).encode() + b"\n")
    log = [answered(), event("tool_result", **told), event("api_request")]
    for entry in log:
        reader.log.feed(entry.encode() + b"\n")
    assert reader.log.unread == unread
    reader.log.feed(answered().encode() + b"\n")
    assert reader.finish().unread == 0


def test_a_reply_that_declines_is_told_by_the_log_alone():
    declined = '2026-11-29T23:00:15.4Z DEBUG codex_api::sse::responses: unhandled responses event: "{}"'
    refused = declined.format("response.refusal.done")
    assert read(*START, DONE, log=(event("api_request"), refused, answered())).fault is Fault.REFUSAL
    other = declined.format("response.other.done")
    assert read(*START, say("Done."), DONE, log=(event("api_request"), other)).outcome is Outcome.FINISHED
    again = (event("api_request"), refused, event("api_request"), answered())
    assert read(*START, say("Done."), DONE, log=again).outcome is Outcome.FINISHED
