"""The trace of a run: in order, bounded, and marked where it was cut."""

from __future__ import annotations

import time

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from skillopt_replay.agents.traces import (
    CUT_MARK,
    MAX_CALLS,
    MAX_COMMAND,
    MAX_COMMANDS,
    MAX_NAME,
    MAX_TRACE,
    Lines,
    Trace,
    cut,
)
from skillopt_replay.rollouts import Called, Said


def test_words_and_calls_keep_their_order():
    trace = Trace()
    trace.say("first")
    trace.call("a", "Bash", command="make")
    trace.end("a", exit_code=2, error="no rule", output="no rule")
    trace.say("second")
    assert trace.steps == (Said("first"), Called(0), Said("second"))
    assert (trace.calls[0].exit_code, trace.calls[0].error) == (2, "no rule")


def test_a_call_told_twice_counts_once_and_an_unknown_end_changes_nothing():
    trace = Trace()
    trace.call("a", "Read")
    trace.call("a", "Read")
    trace.end("b", error="lost")
    assert [call.error for call in trace.calls] == [None]
    assert trace.steps == (Called(0),)


def test_no_exit_status_is_larger_than_any_systems():
    trace = Trace()
    for key, code in (("1", 3221225477), ("2", -9), ("3", 10**30)):
        trace.call(key, "Bash")
        trace.end(key, exit_code=code)
    assert [call.exit_code for call in trace.calls] == [3221225477, -9, None]
    msgspec.msgpack.encode(trace.calls)


def test_a_run_without_end_is_kept_in_bounded_memory():
    trace = Trace()
    for number in range(3 * MAX_CALLS):
        trace.say("x" * 1000)
        trace.call(str(number), "Bash", command="true")
        trace.end(str(number), output="y" * 100_000)
    assert len(trace.calls) == MAX_CALLS
    said = sum(len(step.text) for step in trace.steps if isinstance(step, Said))
    assert said + sum(len(call.output) for call in trace.calls) <= MAX_TRACE


def test_command_lines_are_kept_long_and_bounded_in_all():
    trace = Trace()
    trace.call("first", "Bash", command="cat > f <<EOF\n" + "x" * 50_000 + "\nEOF")
    for number in range(MAX_CALLS):
        trace.call(str(number), "B" * 1_000_000, command="git log " + "y" * 1_000_000)
    assert trace.calls[0].command.endswith("x\nEOF")
    assert trace.calls[1].command.startswith("git log y")
    assert sum(len(call.command) + len(call.name) for call in trace.calls) < MAX_COMMANDS + MAX_CALLS * 200


def test_command_lines_and_names_without_end_are_kept_in_bounded_memory():
    trace = Trace()
    for number in range(MAX_CALLS):
        trace.call(str(number), "n" * 10_000, command=f"npm test {'x' * 200_000} npm run lint")
    kept = [call.command or "" for call in trace.calls]
    assert kept[0].startswith("npm test x")
    assert kept[0].endswith("x npm run lint")
    assert max(map(len, kept)) <= MAX_COMMAND
    assert sum(map(len, kept)) <= MAX_COMMANDS
    assert max(len(call.name) for call in trace.calls) <= MAX_NAME


def test_line_ends_without_end_take_no_time_of_ours():
    reader = Lines(lambda _line: True, max_line=20)
    data = b"\n" * (1 << 18)
    started = time.process_time()
    for _ in range(40):
        reader.feed(data)
    taken = time.process_time() - started
    started = time.process_time()
    for _ in range(40):
        reader.feed(b"a\n" * (1 << 17))
    assert taken < (time.process_time() - started) / 2
    reader.finish()
    assert reader.skipped == 0


@given(st.text(), st.integers(0, 60))
def test_a_cut_text_is_no_longer_than_allowed_and_keeps_head_and_tail(text, limit):
    kept = cut(text, limit)
    assert len(kept) <= limit
    if len(text) > limit and kept:
        head, tail = kept.split(CUT_MARK, 1)
        assert text.startswith(head)
        assert text.endswith(tail)


@given(st.lists(st.binary(max_size=30).filter(lambda line: b"\n" not in line)), st.integers(1, 9))
def test_lines_are_the_same_however_they_are_cut(lines, step):
    taken: list[bytes] = []
    reader = Lines(lambda line: taken.append(line) is None, max_line=20)
    data = b"\n".join(lines)
    for start in range(0, len(data), step):
        reader.feed(data[start : start + step])
    reader.finish()
    assert taken == [line for line in lines if len(line) <= 20 and line.strip()]
    assert reader.skipped == sum(len(line) > 20 for line in lines)
