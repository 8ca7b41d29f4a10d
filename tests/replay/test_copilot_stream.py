"""The client's stream is read as far as it goes, and believed only where it can be."""

from __future__ import annotations

import json
import os
import socket
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_replay.admission import take_told
from skillopt_replay.agents import copilot_usage
from skillopt_replay.agents.copilot_stream import StreamReader
from skillopt_replay.agents.copilot_usage import UsageFile
from skillopt_replay.protocols import Limits
from skillopt_replay.rollouts import Called, Fault, Outcome, Said, Usage

DONE = {"type": "result", "sessionId": "s", "exitCode": 0, "usage": {"premiumRequests": 0}}
FAILED = {**DONE, "exitCode": 1}


def event(kind: str, agent: str | None = None, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "id": "x", **({"agentId": agent} if agent else {})}


def reply(text: str = "", *calls: str, agent: str | None = None, **more: Any) -> dict[str, Any]:
    requests = [{"toolCallId": call, "name": "bash", "arguments": {}} for call in calls]
    return event("assistant.message", agent, content=text, toolRequests=requests, model="gpt-5.4", **more)


def start(call: str, name: str, agent: str | None = None, **arguments: Any) -> dict[str, Any]:
    return event("tool.execution_start", agent, toolCallId=call, toolName=name, arguments=arguments)


def end(call: str, text: str = "", *, success: bool = True, **more: Any) -> dict[str, Any]:
    return event(
        "tool.execution_complete", toolCallId=call, success=success, result={"content": text}, **more
    )


def denial(call: str) -> dict[str, Any]:
    error = {"message": "Permission denied", "code": "denied"}
    return event("tool.execution_complete", toolCallId=call, success=False, error=error)


def refusal(status: int | None = None, **more: Any) -> dict[str, Any]:
    return event("model.call_failure", **({"statusCode": status} if status else {}), **more)


def span(tokens: int, output: int = 0, **attributes: Any) -> str:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.input_tokens": tokens,
        "gen_ai.usage.output_tokens": output,
        **attributes,
    }
    return json.dumps({"type": "span", "name": "chat gpt-5.4", "attributes": attributes}) + "\n"


def feed(reader: StreamReader, *events: dict[str, Any]) -> StreamReader:
    reader.feed(b"".join(json.dumps(e).encode() + b"\n" for e in events))
    return reader


def read(*events: dict[str, Any], skill: str | None = None, spent: UsageFile | None = None):
    return feed(StreamReader(skill, spent), *events).finish()


@pytest.fixture
def spent(tmp_path):
    file = UsageFile()
    file.watch(tmp_path / "telemetry.jsonl")
    return file


def test_calls_words_and_the_answer_are_kept_in_their_order():
    reading = read(
        reply("I write.", "1"),
        start("1", "create", path="a.txt", file_text="hi"),
        end("1", "Created"),
        reply("", "2"),
        start("2", "bash", command="npm test", description="Test"),
        end("2", "1 failed\n<shellId: 0 completed with exit code 3>", shellExecution={"exitCode": 3}),
        reply("Done."),
        DONE,
    )
    assert (reading.outcome, reading.answer, reading.error) == (Outcome.FINISHED, "Done.", None)
    assert reading.steps == (Said("I write."), Called(0), Called(1), Said("Done."))
    written, tested = reading.calls
    assert (written.name, written.command, written.error) == ("create", None, None)
    assert json.loads(written.arguments) == {"path": "a.txt", "file_text": "hi"}
    assert (tested.command, tested.exit_code, tested.arguments) == ("npm test", 3, "")
    assert "1 failed" in (tested.error or "")
    assert reading.model == "gpt-5.4"


def test_older_versions_tell_the_exit_status_in_the_output():
    told = end("1", "x\n<exited with exit code 2>")
    assert read(start("1", "bash", command="false"), told).calls[0].exit_code == 2
    quoted = end("1", "it said <exited with exit code 2> and went on")
    assert read(start("1", "bash", command="cat log"), quoted).calls[0].exit_code is None


@pytest.mark.parametrize("digits", [10, 30, 5000])
def test_an_exit_status_that_no_system_has_is_the_commands_own_words(digits):
    code = "9" * digits
    told = [start("1", "bash", command="x"), end("1", f"<exited with exit code {code}>"), reply("Done.")]
    reading = read(*told)
    assert [call.exit_code for call in reading.calls] == [None]
    assert reading.answer == "Done."


def test_a_reply_in_chunks_is_one_answer():
    reading = read(reply("One, ", chunkIndex=0), reply("two.", chunkIndex=1), DONE)
    assert reading.answer == "One, two."


def test_what_helpers_of_the_client_say_is_no_answer_but_their_calls_count():
    reading = read(
        reply("", "1"),
        start("1", "task"),
        start("2", "bash", "helper", command="ls"),
        reply("from the helper", agent="helper"),
        end("2"),
        end("1", "from the helper"),
        reply("All done."),
        DONE,
    )
    assert reading.answer == "All done."
    assert [call.name for call in reading.calls] == ["task", "bash"]


@pytest.mark.parametrize(
    ("events", "loaded"),
    [
        ([start("1", "skill", skill="heron-greet"), end("1", "loaded")], True),
        ([start("1", "skill", skill="heron-greet")], False),
        ([start("1", "skill", skill="heron-greet"), end("1", success=False)], False),
        ([start("1", "skill", skill="customize-cloud-agent"), end("1", "loaded")], False),
        ([start("1", "bash", skill="heron-greet"), end("1", "x")], False),
        ([event("skill.invoked", name="heron-greet")], True),
    ],
    ids=["loaded", "never came", "failed", "another", "another tool", "told as an event"],
)
def test_the_skill_counts_as_loaded_once_its_tool_gave_it(events, loaded):
    assert read(*events, skill="heron-greet").skill_loaded is loaded


def test_refused_tools_are_named():
    reading = read(start("1", "create"), denial("1"), start("2", "bash"), denial("2"), reply("No."), DONE)
    assert reading.denied == ("create", "bash")
    assert reading.calls[0].error == "Permission denied"
    assert reading.outcome is Outcome.FINISHED


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        ({"errorType": "authentication", "message": "failed (HTTP 401)", "statusCode": 401}, Fault.SIGN_IN),
        ({"errorType": "policy", "message": "Copilot is disabled"}, Fault.SIGN_IN),
        ({"errorType": "quota", "message": "You have no quota", "errorCode": "quota_exceeded"}, Fault.MONEY),
        ({"errorType": "rate_limit", "message": "429 Rate limit", "statusCode": 429}, Fault.RATE),
        (
            {"errorType": "query", "message": "Model 'x' not found on provider", "statusCode": 404},
            Fault.MODEL,
        ),
        ({"errorType": "query", "message": "Last error: 500 internal", "statusCode": 500}, Fault.OVERLOAD),
        ({"errorType": "query", "message": "unexpected EOF during chunk size line"}, Fault.CUT),
        ({"errorType": "query", "message": "No response was returned. Send it again."}, Fault.REPLY),
        ({"errorType": "query", "message": "error sending request for url (http://x/)"}, Fault.NETWORK),
        ({"errorType": "new", "message": "something else"}, Fault.CLIENT),
    ],
)
def test_each_error_of_the_session_has_its_fault(error, fault):
    reading = read(event("session.error", **error), FAILED)
    assert (reading.outcome, reading.fault) == (Outcome.INFRASTRUCTURE, fault)
    assert error["message"] in (reading.error or "")


def test_a_conversation_grown_too_long_is_a_failed_run():
    reading = read(reply("x"), event("session.error", errorType="context_limit", message="too long"), FAILED)
    assert (reading.outcome, reading.fault) == (Outcome.LIMIT, None)


def test_a_failure_without_a_reason_is_one_all_the_same():
    reading = read(reply("x"), FAILED)
    assert (reading.outcome, reading.fault) == (Outcome.INFRASTRUCTURE, Fault.CLIENT)
    assert "ended with 1" in (reading.error or "")


def test_broken_off_it_reports_success_and_is_not_believed():
    reading = read(reply("half"), event("abort", reason="user_initiated"), DONE)
    assert reading.outcome is None
    assert reading.answer == "half"


def test_a_helper_that_is_broken_off_ends_no_run():
    assert read(event("abort", "helper", reason="x"), reply("Done."), DONE).outcome is Outcome.FINISHED


@pytest.mark.parametrize(
    ("events", "waiting", "fault"),
    [
        ([], True, None),
        ([event("model.call_start", turnId="0")], True, None),
        ([reply("x")], False, None),
        ([reply("x"), refusal(429)], True, Fault.RATE),
        ([refusal(500), event("model.call_finished", outcome="success")], False, None),
        ([refusal(500), event("model.call_finished", outcome="error")], True, Fault.OVERLOAD),
    ],
)
def test_what_ended_while_it_waited_for_the_service_is_told(events, waiting, fault):
    reading = read(*events)
    assert reading.outcome is None
    assert (reading.waiting_for_service, reading.fault) == (waiting, fault)


def test_a_connection_lost_before_the_reply_is_the_networks_and_within_it_a_cut():
    begun = event("assistant.message_start", messageId="m")
    lost = refusal(failureKind="transport", errorMessage="connection reset")
    assert read(event("model.call_start"), begun, lost).fault is Fault.CUT
    assert read(event("model.call_start"), lost).fault is Fault.NETWORK


def test_an_empty_account_is_not_asked_again():
    reader = feed(StreamReader(), refusal(429, errorCode="insufficient_quota", errorMessage="no quota"))
    assert reader.over(Limits())
    reading = feed(reader, event("abort", reason="user_initiated"), DONE).finish()
    assert (reading.outcome, reading.fault) == (Outcome.INFRASTRUCTURE, Fault.MONEY)
    assert "no quota" in (reading.error or "")


def test_a_refused_key_is_tried_once_more_and_no_more():
    reader = feed(StreamReader(), refusal(401))
    assert not reader.over(Limits())
    assert feed(reader, refusal(401)).over(Limits())
    assert reader.finish().fault is Fault.SIGN_IN


def test_rate_limits_and_overload_are_left_to_the_client():
    reader = feed(StreamReader(), *[refusal(429), refusal(503)] * 5)
    assert not reader.over(Limits())


def test_turns_end_before_the_model_is_called_once_more():
    reader = StreamReader()
    for turn in range(3):
        assert not reader.over(Limits(turns=3))
        feed(reader, reply("", str(turn)), start(str(turn), "bash"), end(str(turn)))
        feed(reader, event("assistant.turn_end", turnId=str(turn)))
    assert reader.over(Limits(turns=3))
    reading = feed(reader, event("abort", reason="user_initiated"), DONE).finish()
    assert reading.outcome is Outcome.LIMIT
    assert "3 turns" in (reading.error or "")


def test_the_turns_of_a_helper_call_the_model_as_well():
    reader = feed(StreamReader(), reply("", "0"), start("0", "task"))
    for turn in range(3):
        assert not reader.over(Limits(turns=3))
        feed(reader, event("assistant.turn_end", "helper", turnId=str(turn)))
    assert reader.over(Limits(turns=3))


def test_the_last_turn_may_end_by_itself():
    reader = feed(StreamReader(), reply("Done."), event("assistant.turn_end", turnId="0"))
    assert not reader.over(Limits(turns=1))
    assert feed(reader, DONE).finish().outcome is Outcome.FINISHED


def test_tokens_and_money_are_watched_while_they_are_spent(spent, tmp_path):
    file = tmp_path / "telemetry.jsonl"
    reader = feed(StreamReader(None, spent), reply("", "1"))
    limits = Limits(tokens=3000, usd=0.5)
    assert not reader.over(limits)
    file.write_text(span(1900, 100))
    assert not reader.over(limits)
    with file.open("a") as more:
        more.write(span(1900, 100)[:50])
        more.flush()
        assert not reader.over(limits)
        more.write(span(1900, 100)[50:])
    assert reader.over(limits)
    reading = reader.finish()
    assert (reading.outcome, reading.usage.tokens) == (Outcome.LIMIT, 4000)
    dear = UsageFile()
    dear.watch(file)
    file.write_text(span(10, **{"github.copilot.nano_aiu": 60e9}))
    reader = feed(StreamReader(None, dear), reply("", "1"))
    assert reader.over(limits)
    assert reader.finish().usage.cost_usd == pytest.approx(0.6)


def test_cached_tokens_are_counted_apart_and_an_unknown_price_is_none(spent, tmp_path):
    (tmp_path / "telemetry.jsonl").write_text(
        span(
            2000,
            40,
            **{"gen_ai.usage.cache_read.input_tokens": 700, "gen_ai.usage.cache_write.input_tokens": 100},
        )
        + json.dumps({"type": "span", "attributes": {"gen_ai.operation.name": "invoke_agent", "x": "chat"}})
        + "\nchat: no json\n"
    )
    assert read(reply("x"), DONE, spent=spent).usage == Usage(1200, 40, 700, 100, None)


@pytest.mark.parametrize(
    ("output", "thought", "counted"),
    [(9, 940, 949), (0, 940, 940), (950, 940, 950), (940, 940, 940), (9, -1, 9), (9, 0, 9)],
    ids=["beside", "alone", "within", "all", "nonsense", "none"],
)
def test_thoughts_that_a_provider_counts_beside_the_answer_are_output_as_well(
    spent, tmp_path, output, thought, counted
):
    told = span(1000, output, **{"gen_ai.usage.reasoning.output_tokens": thought})
    (tmp_path / "telemetry.jsonl").write_text(told)
    assert read(reply("x"), DONE, spent=spent).usage == Usage(1000, counted)


@pytest.mark.parametrize(("other", "cost"), [("qwen", 2.01), ("unknown", None)])
def test_a_providers_price_counts_where_the_client_tells_no_cost_and_without_one_nothing_is_known(
    tmp_path, other, cost
):
    (tmp_path / "telemetry.jsonl").write_text(
        span(1000, **{"gen_ai.response.model": "qwen"})
        + span(1000, **{"gen_ai.response.model": other})
        + span(1000, **{"gen_ai.response.model": "qwen", "github.copilot.nano_aiu": 1e9})
    )
    spent = UsageFile(lambda model, usage: usage.input_tokens / 1000 if model == "qwen" else None)
    spent.watch(tmp_path / "telemetry.jsonl")
    usage = read(reply("x"), DONE, spent=spent).usage
    assert usage.cost_usd == (cost and pytest.approx(cost))


@pytest.mark.parametrize("count", [10**30, 10**400, -(10**30)], ids=["large", "larger", "negative"])
def test_tokens_beyond_all_bounds_can_be_priced_and_stored_and_are_not_believed(tmp_path, count):
    file = UsageFile(lambda _, usage: usage.tokens * 1e-6)
    file.watch(tmp_path / "telemetry.jsonl")
    attributes = {f"gen_ai.usage.{kind}_tokens": count for kind in ("output", "cache_read.input")}
    (tmp_path / "telemetry.jsonl").write_text(2 * span(count, **attributes))
    usage = read(reply("Done."), DONE, spent=file).usage
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(usage), type=Usage) == usage
    assert msgspec.json.decode(msgspec.json.encode(usage), type=Usage) == usage
    assert count < 0 or take_told(usage) == (None, None)


def summary(nano: float | None = None, **used: Any) -> str:
    told = {"requestCount": 1, "model": "qwen", "inputTokens": 900, "outputTokens": 100, **used}
    if nano is not None:
        told["copilotUsage"] = {"totalNanoAiu": nano}
    data = {"success": True, "summaryContent": "It grew.", "compactionTokensUsed": told}
    return json.dumps({"type": "session.compaction_complete", "data": data}) + "\n"


@pytest.fixture
def log(tmp_path, spent):
    """The client's own log of events, beside its telemetry."""
    spent.watch(tmp_path / "telemetry.jsonl", tmp_path / "session-state")
    spent.read()
    (tmp_path / "session-state/.session-operation-locks").mkdir(parents=True)
    spent.read()
    path = tmp_path / "session-state/0-1/events.jsonl"
    path.parent.mkdir()
    return path


def test_a_summary_is_told_once_the_clients_own_log_tells_of_it(spent, log, tmp_path):
    reader = StreamReader(None, spent)
    (tmp_path / "telemetry.jsonl").write_text(span(2000))
    assert reader.tally().told == 1
    quoted = {"type": "tool.execution_complete", "data": {"result": {"content": summary()}}}
    log.write_text(json.dumps(quoted) + "\n" + summary(cacheReadTokens=300)[:-9])
    assert reader.tally().told == 1
    log.write_text(log.read_text() + summary(cacheReadTokens=300)[-9:] + summary(requestCount=3))
    tally = reader.tally()
    assert tally.told == 5
    assert tally.usage == Usage(2000 + 600 + 900, 200, 300)
    assert reader.finish().usage == tally.usage


@pytest.mark.parametrize(
    ("told", "count"),
    [
        (summary(), 1),  # without a price, where the others have one
        (summary(inputTokens=0, outputTokens=0, nano=1e9), 1),
        (summary(requestCount=0, nano=1e9), 1),
        (summary(requestCount=10**9, nano=1e9), 1),
        (summary(inputTokens="many", nano=1e9), 1),
        ('{"type": "session.compaction_complete", "data": {"success": false}}\n', 1),
        ("session.compaction_complete\n", 1),
        (summary(nano=60e9), 2),
    ],
)
def test_a_summary_that_does_not_tell_all_that_it_took_counts_as_nothing_told(
    spent, log, tmp_path, told, count
):
    (tmp_path / "telemetry.jsonl").write_text(span(10, **{"github.copilot.nano_aiu": 60e9}))
    log.write_text(told)
    tally = StreamReader(None, spent).tally()
    assert tally.told == count
    assert tally.usage.cost_usd == pytest.approx(0.6 * count)


def test_a_log_in_a_folder_that_the_run_has_made_later_is_not_the_clients(spent, log):
    log.write_text(summary())
    spent.read()
    (log.parents[1] / "0-0").mkdir()
    (log.parents[1] / "0-0/events.jsonl").write_text(summary())
    spent.read()
    assert spent.meter.replies == 1


def test_a_command_that_fills_the_usage_file_keeps_nobody_busy(spent, tmp_path, monkeypatch):
    monkeypatch.setattr(copilot_usage, "_MAX_BYTES", 3 * len(span(7)))
    with (tmp_path / "telemetry.jsonl").open("w") as file:
        for _ in range(10):
            file.write(span(7))
            file.flush()
            spent.read()
    assert spent.meter.replies == 3
    assert read(reply("Done."), DONE, spent=spent).usage.tokens == 21


def test_a_reply_that_the_service_withheld_is_a_refusal(spent, tmp_path):
    (tmp_path / "telemetry.jsonl").write_text(
        span(10, **{"gen_ai.response.finish_reasons": ["content_filter"]})
    )
    reading = read(reply("The response was blocked by content filtering."), DONE, spent=spent)
    assert (reading.outcome, reading.fault) == (Outcome.INFRASTRUCTURE, Fault.REFUSAL)


def test_a_usage_file_that_is_a_link_a_pipe_or_a_socket_is_not_read(tmp_path, monkeypatch):
    (tmp_path / "real").write_text(span(10))
    (tmp_path / "link").symlink_to(tmp_path / "real")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(tmp_path)  # the name of a socket must be short
        listener.bind("socket")
        for name in ("link", "pipe", "folder", "socket", "absent"):
            file = UsageFile()
            file.watch(tmp_path / name)
            file.read()
            assert file.meter.usage == Usage()


def test_lines_that_are_no_events_are_counted_and_cost_only_themselves():
    reader = StreamReader(max_line=200)
    reader.feed(b'garbage\n[1]\n{"type": 3}\n{"type":"assistant.message","data":[]}\n')
    reader.feed(b'{"type":"assistant.message","data":{"content":"' + b"x" * 300 + b'"}}\n')
    reader.feed(b'{"type":"brand.new","data":{"a":1}}\n\n')
    reading = feed(reader, reply("Done."), DONE).finish()
    assert (reading.outcome, reading.answer, reading.skipped) == (Outcome.FINISHED, "Done.", 5)


KINDS = [
    "assistant.message", "assistant.turn_end", "assistant.message_start", "model.call_start",
    "model.call_failure", "model.call_finished", "tool.execution_start", "tool.execution_complete",
    "skill.invoked", "session.error", "abort", "result", "other",
]  # fmt: skip
NAMES = [
    "content", "toolRequests", "model", "chunkIndex", "toolCallId", "toolName", "arguments", "success",
    "error", "result", "shellExecution", "exitCode", "statusCode", "message", "errorType", "outcome", "name",
]  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=20),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.sampled_from(NAMES), children, max_size=4)
    ),
    max_leaves=8,
)
EVENTS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(KINDS) | VALUES,
        "data": st.dictionaries(st.sampled_from(NAMES), VALUES) | VALUES,
    },
    optional={"agentId": VALUES, "exitCode": VALUES},
)


@given(st.lists(EVENTS | VALUES, max_size=12), st.lists(st.integers(1, 40), max_size=20))
def test_no_stream_breaks_the_reader_and_its_pieces_do_not_matter(events, sizes):
    data = "".join(json.dumps(e) + "\n" for e in events).encode()
    whole = StreamReader("heron-greet")
    whole.feed(data)
    pieces = StreamReader("heron-greet")
    at = 0
    for size in sizes:
        pieces.feed(data[at : at + size])
        pieces.over(Limits(turns=2))
        at += size
    pieces.feed(data[at:])
    whole.over(Limits(turns=2))
    first, second = whole.finish(), pieces.finish()
    assert first.calls == second.calls
    assert first.answer == second.answer
    assert first.skipped == second.skipped <= len(events)


@given(st.binary(max_size=400))
def test_no_bytes_break_the_reader(data):
    reader = StreamReader("heron-greet", max_line=100)
    reader.feed(data)
    reader.over(Limits())
    assert reader.finish().outcome in (None, *Outcome)


def test_replies_whose_service_tells_no_tokens_are_not_free(spent, tmp_path):
    refused = refusal(429, errorMessage="Slow down")
    for count, lost in ((1, 0), (3, 2)):  # the refused one has a line as well
        file = UsageFile(lambda _, usage: usage.tokens * 1e-6)
        file.watch(tmp_path / "telemetry.jsonl")
        (tmp_path / "telemetry.jsonl").write_text(count * span(0, 0))
        reading = read(event("model.call_start"), refused, reply("Done."), spent=file)
        assert (reading.lost, reading.largest.tokens) == (lost, 0)


def test_what_a_tool_or_a_skill_gave_is_unread_until_a_reply_after_the_next_has_come():
    loaded = end("c2", "Loaded.", toolTelemetry={"metrics": {"skillContentLength": 70}})
    events = [reply("I look."), end("c1", "a" * 500), loaded]
    assert read(*events).unread == 500 + 7 + 70
    # What the next one used itself is told once its own tools have ended.
    assert read(*events, reply("I look.")).unread == 577
    assert read(*events, reply("I look."), reply("Well.")).unread == 0
    odd = end("c3", "b", toolTelemetry={"metrics": {"skillContentLength": "long"}})
    assert read(reply("I look."), odd).unread == 1


def test_a_request_that_nobody_refused_is_not_told_of(spent, tmp_path):
    (tmp_path / "telemetry.jsonl").write_text(span(10, 5) + span(0, 0))
    reader = StreamReader(spent=spent)
    for told in (refusal(429), refusal(), refusal(504)):
        for line in (event("model.call_start"), told):
            reader.feed(json.dumps(line).encode() + b"\n")
    tally = reader.tally()
    assert (tally.told, tally.unheard) == (1, 2)


@pytest.mark.parametrize(
    ("events", "lost"),
    [
        ([event("model.call_start"), reply("Hi."), event("model.call_finished", outcome="success"), DONE], 0),
        ([event("model.call_start")], 1),
        ([event("model.call_start"), refusal(429)], 0),
        ([event("model.call_start"), event("assistant.message_start"), refusal(), FAILED], 1),
        ([event("model.call_start"), event("assistant.message_start"), refusal(), reply("Hi."), DONE], 1),
    ],
    ids=["none", "asking at the end", "refused", "cut", "cut once"],
)
def test_requests_that_may_have_been_paid_for_without_a_reply_are_counted(spent, tmp_path, events, lost):
    (tmp_path / "telemetry.jsonl").write_text(span(10, 5) + span(30, 7))
    reading = read(*events, spent=spent)
    assert reading.lost + reading.asking == lost
    assert (reading.usage.tokens, reading.largest.tokens) == (52, 37)
