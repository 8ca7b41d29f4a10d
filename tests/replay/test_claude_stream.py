"""The client's stream is read line by line, whatever is in it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_replay.agents.claude_stream import StreamReader
from skillopt_replay.protocols import Limits
from skillopt_replay.rollouts import Called, Outcome, RolloutCall, Said, Usage

INIT = {"type": "system", "subtype": "init", "model": "claude-opus-5-5", "tools": ["Bash"]}
RETRY = {"type": "system", "subtype": "api_retry", "attempt": 1, "error_status": 429, "error": "rate_limit"}
RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "Done.",
    "stop_reason": "end_turn",
    "total_cost_usd": 0.5,
    "permission_denials": [],
    "usage": {"input_tokens": 0, "output_tokens": 0},
    "modelUsage": {
        "a": {"inputTokens": 10, "outputTokens": 2, "cacheReadInputTokens": 3, "cacheCreationInputTokens": 4},
        "b": {"inputTokens": 1, "outputTokens": 1},
    },
}


def reply(message_id: str, *blocks: dict, tokens: int = 5, model: str = "claude-opus-5-5") -> dict:
    usage = {"input_tokens": tokens, "output_tokens": 1}
    return {
        "type": "assistant",
        "message": {"id": message_id, "model": model, "content": list(blocks), "usage": usage},
    }


def use(call_id: str, name: str, **arguments) -> dict:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def outcome_of(call_id: str, content, *, is_error: bool = False) -> dict:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": is_error}
    return {"type": "user", "message": {"role": "user", "content": [block]}}


def say(text: str) -> dict:
    return {"type": "text", "text": text}


def read(*events: dict, skill: tuple[str, ...] = (), piece: int = 0, max_line: int = 4_000_000):
    reader = StreamReader(skill, max_line=max_line)
    data = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    for start in range(0, len(data), piece or len(data) or 1):
        reader.feed(data[start : start + (piece or len(data))])
    return reader.finish()


def feed(reader: StreamReader, *events: dict) -> None:
    reader.feed(b"".join(json.dumps(event).encode() + b"\n" for event in events))


def over(*events: dict, tokens: int) -> bool:
    reader = StreamReader()
    feed(reader, *events)
    return reader.over(Limits(tokens=tokens))


def test_a_request_that_nobody_refused_is_not_told_of():
    reader = StreamReader()
    feed(reader, INIT, RETRY, {**RETRY, "error_status": None, "error": "unknown"})
    feed(reader, {**RETRY, "error_status": 504})
    tally = reader.tally()
    assert (tally.told, tally.unheard) == (1, 2)


@pytest.mark.parametrize("piece", [0, 1, 7, 4096])
def test_a_good_run_is_told_in_full_however_it_is_cut_into_pieces(piece):
    reading = read(
        INIT,
        reply("m1", say("I look.")),
        reply("m1", use("c1", "Bash", command="npm test")),
        outcome_of("c1", "Exit code 3\nboom", is_error=True),
        reply("m2", use("c2", "Read", file_path="a")),
        outcome_of("c2", "text"),
        reply("m3", say("Done.")),
        RESULT,
        piece=piece,
    )
    assert (reading.outcome, reading.answer, reading.error) == (Outcome.FINISHED, "Done.", None)
    assert reading.calls == (
        RolloutCall("Bash", "npm test", "Exit code 3\nboom", exit_code=3, output="Exit code 3\nboom"),
        RolloutCall("Read", arguments='{"file_path":"a"}', output="text"),
    )
    assert reading.steps == (Said("I look."), Called(0), Called(1), Said("Done."))
    assert reading.usage == Usage(11, 3, 3, 4, 0.5)
    assert reading.model == "claude-opus-5-5"
    assert reading.skipped == 0


@pytest.mark.parametrize(
    ("changes", "outcome", "words"),
    [
        (
            {"subtype": "error_max_turns", "is_error": True, "result": None, "errors": ["too many"]},
            Outcome.LIMIT,
            "too many",
        ),
        ({"subtype": "error_max_budget_usd", "is_error": True, "result": None}, Outcome.LIMIT, "budget"),
        (
            {"is_error": True, "result": "API Error: the response exceeded the 32000 output token maximum."},
            Outcome.LIMIT,
            "output token maximum",
        ),
        ({"is_error": True, "result": "Prompt is too long"}, Outcome.LIMIT, "too long"),
        ({"is_error": True, "result": "Not logged in"}, Outcome.INFRASTRUCTURE, "Not logged in"),
        (
            {"is_error": True, "result": "Overloaded", "api_error_status": 529},
            Outcome.INFRASTRUCTURE,
            "status 529",
        ),
        (
            {"subtype": "error_during_execution", "result": None},
            Outcome.INFRASTRUCTURE,
            "error_during_execution",
        ),
        ({"stop_reason": None}, Outcome.INFRASTRUCTURE, "cut in the middle"),
    ],
)
def test_limits_and_failures_of_the_service_are_told_apart(changes, outcome, words):
    reading = read(INIT, reply("m1", say("half")), {**RESULT, **changes})
    assert reading.outcome is outcome
    assert words in (reading.error or "")


def test_an_old_client_that_gives_no_stop_reason_is_believed():
    result = {key: value for key, value in RESULT.items() if key != "stop_reason"}
    assert read(INIT, result).outcome is Outcome.FINISHED


def test_an_answer_resumed_after_a_cut_is_only_its_second_half():
    cut = {
        "type": "user",
        "isSynthetic": True,
        "message": {"content": [say("Your response above was cut off mid-stream. Resume.")]},
    }
    reading = read(INIT, reply("m1", say("first")), cut, reply("m2", say("half")), RESULT)
    assert reading.outcome is Outcome.INFRASTRUCTURE
    early = read(INIT, cut, reply("m2", use("c", "Bash", command="ls")), outcome_of("c", "x"), RESULT)
    assert early.outcome is Outcome.FINISHED


@pytest.mark.parametrize(
    ("asked", "is_error", "loaded"),
    [
        ("heron-greet", False, True),
        ("learned:heron-greet", False, True),
        ("/heron-greet", False, True),
        ("heron-greet", True, False),
        ("other:heron-greet", False, False),
        ("heron", False, False),
    ],
)
def test_a_skill_counts_as_loaded_when_its_tool_call_went_well(asked, is_error, loaded):
    names = ("heron-greet", "learned:heron-greet")
    reading = read(
        INIT,
        reply("m1", use("s", "Skill", skill=asked)),
        outcome_of("s", "Launching", is_error=is_error),
        skill=names,
    )
    assert reading.skill_loaded is loaded


def test_a_stream_without_a_result_gives_what_is_known():
    reading = read(
        INIT,
        reply("m1", say("a"), tokens=5),
        reply("m1", say("b"), tokens=7),
        reply("m2", say("c"), tokens=11),
    )
    assert (reading.outcome, reading.answer) == (None, "c")
    assert reading.usage == Usage(18, 2)
    assert not reading.waiting_for_service


def test_waiting_for_the_service_is_seen():
    assert read(INIT).waiting_for_service
    assert read(INIT, reply("m1", say("a")), RETRY).waiting_for_service
    assert not read(INIT, RETRY, reply("m1", say("a"))).waiting_for_service
    synthetic = reply("m1", say("API Error"), model="<synthetic>")
    assert not read(INIT, synthetic).replied


def test_what_is_written_in_letters_of_several_bytes_counts_by_those():
    calling = reply("m1", say("日" * 400), use("c", "Bash", command="ls"), tokens=99)
    assert over(INIT, calling, tokens=99 + 300)
    thinking = reply("m1", {"type": "thinking", "thinking": "日" * 400}, use("c", "Bash"), tokens=99)
    assert over(INIT, thinking, tokens=99 + 300)


def test_a_run_is_stopped_where_its_tokens_are_used_up_and_more_would_come():
    calling = reply("m1", use("c", "Bash", command="ls"), tokens=99)
    assert over(INIT, calling, tokens=100)
    assert not over(INIT, calling, tokens=104)  # four written, by their letters
    assert not over(INIT, calling, outcome_of("c", "x"), reply("m2", say("Done.")), tokens=100)
    assert not over(INIT, calling, RESULT, tokens=100)
    reader = StreamReader()
    feed(reader, INIT, calling)
    assert reader.over(Limits(tokens=10))
    feed(reader, RESULT)
    reading = reader.finish()
    assert (reading.outcome, reading.error) == (
        Outcome.LIMIT,
        "stopped after 103 tokens; 10 were allowed",
    )


def test_a_result_never_takes_back_what_replies_have_told():
    forged = {**RESULT, "total_cost_usd": 0.0, "modelUsage": {}}
    told = reply("m1", use("c", "Bash", command="ls"), tokens=1200)
    reader = StreamReader(price=lambda _model, usage: usage.tokens / 1000)
    feed(reader, INIT, told, forged)
    usage = reader.finish().usage
    assert usage.tokens >= 1201
    assert usage.cost_usd == pytest.approx(usage.tokens / 1000)
    reader = StreamReader()
    feed(reader, INIT, told, forged)
    assert reader.finish().usage.cost_usd is None
    cheap = {**RESULT, "total_cost_usd": 0.001, "modelUsage": {"a": {"inputTokens": 1300}}}
    reader = StreamReader(price=lambda _model, usage: usage.tokens / 1000)
    feed(reader, INIT, told, cheap)
    assert reader.finish().usage == Usage(1300, cost_usd=pytest.approx(1.201))


def test_refused_tools_are_named():
    denials = [{"tool_name": "WebFetch", "tool_use_id": "x"}, {"tool_name": "WebFetch"}]
    assert read(INIT, {**RESULT, "permission_denials": denials}).denied == ("WebFetch", "WebFetch")


def test_a_line_nested_beyond_measure_costs_only_itself():
    reader = StreamReader()
    reader.feed(b'{"type":"x","message":{"content":[{"input":{"a":' + b"[" * 200_000 + b"\n")
    reader.feed(json.dumps(RESULT).encode())
    reading = reader.finish()
    assert (reading.outcome, reading.skipped) == (Outcome.FINISHED, 1)


def test_lines_too_long_or_not_json_cost_only_themselves():
    reader = StreamReader(max_line=2000)
    reader.feed(b"garbage\n{}\n[1]\n\xff\xfe\n" + b"x" * 100_000)
    reader.feed(b"x" * 100_000 + b"\n")
    reader.feed(json.dumps(INIT).encode() + b"\n" + json.dumps({**RESULT, "modelUsage": None}).encode())
    reading = reader.finish()
    assert (reading.outcome, reading.model, reading.skipped) == (Outcome.FINISHED, "claude-opus-5-5", 4)


def test_memory_does_not_grow_with_a_line_without_an_end():
    reader = StreamReader(max_line=1000)
    for _ in range(1000):
        reader.feed(b"x" * 1000)
    assert len(reader._lines._part) <= 1000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "subtype", "message", "content", "usage", "id", "input", "result", "model"]
            ),
            inner,
        )
    ),
    max_leaves=12,
)


@given(st.lists(JSON | st.sampled_from([INIT, RETRY, RESULT, reply("m", say("x"))]), max_size=6))
def test_no_stream_is_too_strange_to_read(events):
    reading = read(*events)
    assert reading.outcome is None or isinstance(reading.outcome, Outcome)
    assert reading.skipped <= len(events)


def test_the_model_is_the_one_that_answered_and_helpers_do_not_count():
    helper = {**reply("m2", say("a helper"), model="claude-haiku-5"), "parent_tool_use_id": "call"}
    answered = read(INIT, reply("m1", say("hi"), model="claude-sonnet-5"), helper, RESULT)
    assert answered.model == "claude-sonnet-5"
    assert read(INIT, RESULT).model == "claude-opus-5-5"
    made_up = reply("m3", say("no reply"), model="<synthetic>")
    assert read(INIT, made_up, RESULT).model == "claude-opus-5-5"


NOTICE = {"type": "system", "subtype": "task_notification", "tool_use_id": "c0", "status": "completed"}


def test_a_helper_in_the_background_that_has_come_to_its_end_has_nothing_under_way():
    aside = {**reply("m2", say("Looked.")), "parent_tool_use_id": "c0"}
    begun = (INIT, reply("m1", use("c0", "Agent", prompt="look")), outcome_of("c0", "launched"), aside)
    for notice, told in (
        (NOTICE, 2),
        ({**NOTICE, "status": "running"}, 1),
        ({**NOTICE, "tool_use_id": 7}, 1),
    ):
        reader = StreamReader()
        feed(reader, *begun, notice)
        assert reader.tally().told == told


def test_a_run_that_goes_on_after_a_result_as_a_helper_has_ended_is_still_held_to_its_limits():
    again = reply("m2", use("c1", "Bash", command="ls"), tokens=99)
    reader = StreamReader()
    feed(reader, INIT, reply("m1", say("Done.")), RESULT, NOTICE, again)
    assert reader.over(Limits(tokens=100))
    assert reader.finish().outcome is Outcome.LIMIT
    reader = StreamReader()
    feed(reader, INIT, reply("m1", say("Done.")), RESULT, NOTICE, again)
    reader.halt("stopped")
    assert reader.finish().error == "stopped"
    assert read(INIT, reply("m1", say("Done.")), RESULT, NOTICE, again, RESULT).outcome is Outcome.FINISHED


def test_a_request_that_was_lost_counts_with_what_others_thought_as_only_the_result_tells():
    thought = {"inputTokens": 400, "outputTokens": 8000}
    result = {**RESULT, "modelUsage": {"m": thought}, "total_cost_usd": 0.4}
    reading = read(INIT, *(reply(f"m{n}", say("Hm."), tokens=200) for n in range(2)), result)
    assert reading.largest == Usage(200, 4000, cost_usd=0.2)


def test_what_it_thinks_behind_closed_doors_counts_at_once_and_once():
    def thinks(*tokens: int) -> list[dict]:
        event = {"type": "system", "subtype": "thinking_tokens", "estimated_tokens": sum(tokens)}
        return [{**event, "estimated_tokens_delta": delta} for delta in tokens]

    hidden = {"type": "thinking", "thinking": "Hm.", "signature": "x"}
    shown = {"type": "thinking", "thinking": "a letter" * 500, "signature": "x"}
    first = [*thinks(3000, 2000), reply("m1", hidden), reply("m1", use("c1", "Bash", command="ls"))]
    told = read(INIT, reply("m1", use("c1", "Bash", command="ls"))).usage.tokens
    assert read(INIT, *first).usage.tokens == pytest.approx(told + 5000, abs=10)
    both = [*first, outcome_of("c1", "a"), *thinks(500), reply("m2", shown), reply("m2", say("Well."))]
    assert read(INIT, *both).usage.tokens == pytest.approx(2 * told + 6000, abs=30)
    assert over(INIT, *first, tokens=5000)
    assert not over(INIT, *first, tokens=6000)
    reader = StreamReader()
    feed(reader, INIT, *first)
    assert reader.tally().usage.tokens >= 5000


def test_what_a_tool_or_a_skill_gave_and_what_was_thought_since_is_unread_until_a_reply_tells():
    skill = {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "s" * 70}]}}
    thought = {"type": "system", "subtype": "thinking_tokens", "estimated_tokens_delta": 900}
    events = [INIT, reply("m1", use("c1", "Bash", command="ls")), outcome_of("c1", "a" * 500), skill, thought]
    assert read(*events[:3]).unread == 500
    assert read(*events).unread == 500 + 70 + 900
    assert read(*events, reply("m2", use("c2", "Bash", command="ls"))).unread == 0
    media = [
        {"type": kind, "source": {"type": "base64", "data": "A" * 9000}} for kind in ("image", "document")
    ]
    odd = [{"type": "document", "source": 7}, "text"]
    assert read(*events[:2], outcome_of("c1", [*media, *odd])).unread == pytest.approx(5000 + 9000, abs=2)


@pytest.mark.parametrize("piece", [0, 700])
def test_what_a_tool_gave_in_a_line_too_long_to_be_read_is_unread_as_well(piece):
    document = {"type": "document", "source": {"type": "base64", "data": "A" * 9000}}
    events = [INIT, reply("m1", use("c1", "Read", file_path="a.pdf")), outcome_of("c1", [document])]
    assert read(*events, piece=piece, max_line=5000).unread >= 9000
    more = reply("m2", use("c2", "Bash", command="ls"))
    assert read(*events, more, piece=piece, max_line=5000).unread == 0
    reader = StreamReader(max_line=5000)
    feed(reader, *events)
    assert reader.tally().told == 1


def test_replies_whose_service_tells_no_tokens_are_not_free():
    silent = reply("m1", say("A long word."))
    silent["message"]["usage"] = {"input_tokens": 0, "output_tokens": 0}
    for result in ([], [{**RESULT, "modelUsage": {}, "total_cost_usd": 0}]):
        reading = read(INIT, silent, *result)
        assert (reading.lost, reading.largest) == (1, Usage())
    assert read(INIT, RETRY, {**RESULT, "modelUsage": {}, "total_cost_usd": 0}).lost == 0


def test_a_service_that_knows_no_cache_is_heard_all_the_same():
    told = reply("m1", use("c1", "Bash", command="ls"), tokens=1200)
    told["message"]["usage"] |= {"cache_read_input_tokens": None, "cache_creation_input_tokens": None}
    reading = read(INIT, told, {**RESULT, "usage": told["message"]["usage"], "modelUsage": None})
    assert (reading.skipped, len(reading.calls), reading.usage) == (0, 1, Usage(1200, 1, cost_usd=0.5))


def test_what_a_helper_asks_the_model_counts_as_turns():
    reader = StreamReader()
    feed(reader, INIT, reply("m0", use("c0", "Task", prompt="go on")))
    for turn in range(1, 5):
        assert not reader.over(Limits(turns=3)) or turn > 3
        aside = {**reply(f"m{turn}", use(f"c{turn}", "Bash", command="ls")), "parent_tool_use_id": "c0"}
        feed(reader, aside, outcome_of(f"c{turn}", "a"))
    assert reader.over(Limits(turns=3))
    assert reader.finish().outcome is Outcome.LIMIT
