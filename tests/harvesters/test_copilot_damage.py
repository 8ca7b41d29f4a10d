"""A damaged event of Copilot CLI costs that event, and nothing stops a reading."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_harvesters import SOURCES, MemoryClaims, Resume, Session, Signal, read_file
from skillopt_harvesters.sources.copilot.session import CopilotReader
from tests.support.damage import damaged

COPILOT = SOURCES["copilot"]
DATA = Path(__file__).parents[1] / "data" / "transcripts" / "copilot"
RECORDED = sorted(DATA.glob("*/dot-copilot/session-state/*/events.jsonl"))


def name_of(path: Path) -> str:
    return f"{path.parents[3].name}-{path.parent.name[:8]}"


def prompts_of(lines: list[bytes]) -> list[str]:
    """Return the prompts in whole lines, as the client wrote them."""
    events = [json.loads(line) for line in lines]
    return [
        event["data"]["content"]
        for event in events
        if event["type"] == "user.message" and "agentId" not in event and "source" not in event["data"]
    ]


@given(data=st.data())
@settings(max_examples=400)
def test_a_damaged_event_costs_that_event(tmp_path_factory, data):
    source = data.draw(st.sampled_from(RECORDED))
    lines = source.read_bytes().splitlines()
    place = data.draw(st.integers(0, len(lines) - 1))
    path = tmp_path_factory.mktemp("damaged") / "events.jsonl"
    path.write_bytes(data.draw(damaged(lines, place)))
    [reading] = read_file(COPILOT, path)
    others = prompts_of(lines[:place] + lines[place + 1 :])
    found = list(reading.session.prompts)
    assert [prompt for prompt in found if prompt in others] == others
    assert len(found) <= len(others) + 1
    assert reading.session.skipped <= 3
    repr(reading.session).encode("utf-8")


@given(seed=st.integers(0, 2**32), amount=st.integers(1, 60))
@settings(max_examples=150)
def test_many_flipped_bytes_stop_nothing(tmp_path_factory, seed, amount):
    chance = random.Random(seed)
    text = bytearray(chance.choice(RECORDED).read_bytes())
    for _ in range(amount):
        text[chance.randrange(len(text))] = chance.randrange(256)
    path = tmp_path_factory.mktemp("damaged") / "events.jsonl"
    path.write_bytes(text)
    COPILOT.recognise(bytes(text[:65536]))
    [reading] = read_file(COPILOT, path)
    assert reading.offset <= len(text)


@given(cuts=st.lists(st.integers(0, 10_000), min_size=1, max_size=6), source=st.sampled_from(RECORDED))
@settings(max_examples=60)
def test_reading_in_pieces_gives_the_same_session_as_reading_at_once(tmp_path_factory, cuts, source):
    """Whatever the harvests that fell into a session's life, the last one knows what one alone would."""
    whole = source.read_bytes()
    path = tmp_path_factory.mktemp("pieces") / "events.jsonl"
    path.write_bytes(whole)
    [at_once] = read_file(COPILOT, path)
    claims, resume = MemoryClaims(), None
    for cut in sorted({*(len(whole) * cut // 10_000 for cut in cuts), len(whole)}):
        path.write_bytes(whole[:cut])
        [reading] = read_file(COPILOT, path, claims=claims, resume=resume)
        resume = Resume(offset=reading.offset, state=reading.state, session=reading.session)
    assert reading.session == at_once.session
    assert reading.offset == at_once.offset


@pytest.mark.parametrize("source", RECORDED[:4], ids=lambda path: path.parent.name[:8])
def test_growing_copies_of_a_recorded_session_count_once(tmp_path, source):
    """Copies at growing sizes under names of their own hold together what the whole one does."""
    lines = source.read_bytes().splitlines(keepends=True)
    claims = MemoryClaims()
    sessions = []
    for number, size in enumerate((len(lines) // 3, len(lines) // 2, len(lines))):
        path = tmp_path / f"copy-v{number}.jsonl"
        path.write_bytes(b"".join(lines[:size]))
        sessions.append(read_file(COPILOT, path, claims=claims)[0].session)
    [whole] = read_file(COPILOT, source)
    together = tuple(prompt for session in sessions for prompt in session.prompts)
    assert together == whole.session.prompts
    spent = sum(session.tokens.output for session in sessions)
    assert spent == whole.session.tokens.output


@pytest.mark.parametrize("source", RECORDED, ids=name_of)
@pytest.mark.parametrize("size", [300, 2_000, 20_000])
def test_events_taken_many_at_a_time_tell_what_each_by_itself_does(tmp_path, monkeypatch, source, size):
    """Nor does it matter how many, in a file, in its copy, or in one that repeats itself."""
    lines = source.read_bytes().splitlines(keepends=True)
    again = [*lines, *lines[len(lines) // 2 :], b"{}\n", *lines[-3:]]
    copy = [*lines[: len(lines) // 2], *[line.replace(b'"id":"', b'"id":"0') for line in lines[5:]]]

    def read() -> list[Session | None]:
        claims, sessions = MemoryClaims(), []
        for name, text in (("one", lines), ("again", again), ("copy", copy)):
            path = tmp_path / f"{name}.jsonl"
            path.write_bytes(b"".join(text))
            sessions.append(read_file(COPILOT, path, claims=claims)[0].session)
        return sessions

    at_once = read()
    monkeypatch.setattr("skillopt_harvesters.lines._BUFFER", size)
    monkeypatch.setattr("skillopt_harvesters.lines._BUFFERS", [])
    few_at_a_time = read()
    monkeypatch.setattr(CopilotReader, "_take_new", lambda *_: False)
    assert read() == few_at_a_time == at_once


def test_a_line_of_60_mb_is_passed_over_and_told(tmp_path):
    path = tmp_path / "events.jsonl"
    lines = RECORDED[0].read_bytes()
    path.write_bytes(
        lines + b'{"type":"tool.execution_complete","data":{"x":"' + b"y" * 60_000_000 + b'"}}\n'
    )
    session = read_file(COPILOT, path)[0].session
    assert session.skipped == 1
    assert "too long" in session.warnings[0]


def test_an_error_in_an_aborted_turn_is_not_an_interruption_of_the_next(tmp_path):
    [path] = [path for path in RECORDED if path.parent.name.startswith("c1826521")]
    [turn] = read_file(COPILOT, path)[0].session.turns
    assert turn.signals == (Signal.INTERRUPTION,)
