"""Every recorded session of OpenCode is read as it was scripted, from databases and from files."""

from __future__ import annotations

import json

import pytest

from skillopt_harvesters import SOURCES, MemoryClaims, Signal, harvest
from tests.support.opencode_store import RECORDED, restore

OPENCODE = SOURCES["opencode"]
FACTS = json.loads((RECORDED / "FACTS.json").read_text(encoding="utf-8"))
RECORDINGS = sorted({fact["recording"] for fact in FACTS})
TOLD = {Signal.ERROR, Signal.INTERRUPTION, Signal.REFUSAL}


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    """All sessions of all recordings by recording and id; each recording is a data folder of its own."""
    found = {}
    for number, recording in enumerate(RECORDINGS):
        home = tmp_path_factory.mktemp(f"home{number}")
        restore(recording, home)
        work = harvest([OPENCODE], {}, env={}, home=home, claims=MemoryClaims())
        for one in work:
            if one.session:
                found[recording, one.session.id] = one.session
        assert (work.stats.warnings, work.stats.skipped) == ([], 0)
    return found


def test_the_recordings_hold_these_sessions_and_no_others(sessions):
    assert set(sessions) == {(fact["recording"], fact["session"]) for fact in FACTS}


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: f"{fact['version']}-{fact['scenario']}")
def test_a_recorded_session_is_read_as_it_was_scripted(fact, sessions):
    session = sessions[fact["recording"], fact["session"]]
    assert (session.kind.value, session.client_version) == (fact["kind"], fact["version"])
    assert session.project == "/home/user/project"
    assert session.parent == fact.get("parent")
    assert (session.before.prompt if session.before else None) == fact["before"]
    assert len(session.turns) == len(fact["turns"])
    for turn, told in zip(session.turns, fact["turns"], strict=True):
        said = (turn.command, turn.prompt, turn.answer)
        assert said == (told.get("command"), told["prompt"], told["answer"])
        calls = [
            [call.name, call.command, call.exit_code, call.error is not None] for call in turn.tool_calls
        ]
        assert calls == told["calls"]
        assert sorted(signal.value for signal in TOLD.intersection(turn.signals)) == told["signals"]
        assert list(turn.skills) == told.get("skills", [])
        assert list(turn.refusals) == told.get("refusals", [])
        assert turn.abandoned == told.get("abandoned", False)
        assert turn.typed == (fact["kind"] == "human")
    tokens = {
        "input": session.tokens.input,
        "output": session.tokens.output,
        "cache_read": session.tokens.cache_read,
    }
    assert tokens == fact["tokens"]


def test_times_model_and_files_are_noted(sessions):
    [fact] = [fact for fact in FACTS if (fact["version"], fact["scenario"]) == ("1.18.33", "human-work")]
    session = sessions[fact["recording"], fact["session"]]
    assert (session.started, session.ended) == ("2026-11-29T19:56:44.906Z", "2026-11-29T19:56:47.571Z")
    assert session.model == "mock-model"
    files = [call.files for call in session.turns[0].tool_calls if call.files]
    assert files == [("/home/user/project/notes.txt",)] * 2
