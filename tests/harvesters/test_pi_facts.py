"""Every recorded session of pi is read as it was scripted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillopt_harvesters import SOURCES, MemoryClaims, Signal, mark_corrections, read_file

PI = SOURCES["pi"]
DATA = Path(__file__).parents[1] / "data" / "transcripts" / "pi"
FACTS = json.loads((DATA / "FACTS.json").read_text(encoding="utf-8"))
TOLD = {Signal.ERROR, Signal.INTERRUPTION, Signal.REFUSAL}


@pytest.fixture(scope="module")
def sessions():
    """All sessions, the older ones first, so that forks know what they copied."""
    claims = MemoryClaims()
    return {fact["file"]: read_file(PI, DATA / fact["file"], claims=claims)[0].session for fact in FACTS}


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: f"{fact['version']}-{fact['scenario']}")
def test_a_recorded_session_is_read_as_it_was_scripted(fact, sessions):
    session = sessions[fact["file"]]
    assert session.kind.value == fact["kind"]
    assert session.project == "/home/user/project"
    assert session.skipped == 0
    assert (session.before.prompt if session.before else None) == fact["before"]
    assert len(session.turns) == len(fact["turns"])
    for turn, told in zip(session.turns, fact["turns"], strict=True):
        assert (turn.command, turn.prompt, turn.answer) == (
            told.get("command"),
            told["prompt"],
            told["answer"],
        )
        calls = [
            [call.name, call.command, call.exit_code, call.error is not None] for call in turn.tool_calls
        ]
        assert calls == told["calls"]
        assert sorted(signal.value for signal in TOLD.intersection(turn.signals)) == told["signals"]
        assert list(turn.skills) == told.get("skills", [])
        assert turn.abandoned == told.get("abandoned", False)
    tokens = {
        "input": session.tokens.input,
        "output": session.tokens.output,
        "cache_read": session.tokens.cache_read,
    }
    assert tokens == fact["tokens"]


def test_a_recorded_session_is_recognised_and_read_to_its_end():
    for fact in FACTS:
        path = DATA / fact["file"]
        assert PI.recognise(path.read_bytes()[: 64 * 1024]), fact["file"]
        [reading] = read_file(PI, path)
        assert reading.offset == path.stat().st_size


def test_the_session_is_named_by_its_file_whatever_stands_in_it():
    [old] = [fact for fact in FACTS if (fact["version"], fact["scenario"]) == ("0.27.9", "human-work")]
    [reading] = read_file(PI, DATA / old["file"])
    assert reading.session.id == "374f59e5-32ce-4bba-9050-cdc5ae43c126"


def test_the_files_that_were_written_are_absolute_and_the_skills_on_offer_are_noted():
    [fact] = [fact for fact in FACTS if (fact["version"], fact["scenario"]) == ("1.6.0", "human-work")]
    [reading] = read_file(PI, DATA / fact["file"])
    calls = reading.session.turns[0].tool_calls
    assert [call.files for call in calls if call.files] == [("/home/user/project/notes.txt",)] * 2
    assert reading.session.skills_offered == ("heron-greet",)


def test_what_the_user_said_against_the_last_answer_is_a_correction(sessions):
    for fact in FACTS:
        if fact["scenario"] == "human-work":
            turns = mark_corrections(sessions[fact["file"]]).turns
            assert Signal.CORRECTION in turns[1].signals
            assert Signal.CORRECTION not in turns[0].signals
