"""Every recorded transcript of Copilot CLI is read as an independent reader found it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from skillopt_harvesters import SOURCES, Kind, MemoryClaims, Signal, mark_corrections, read_file

DATA = Path(__file__).parents[1] / "data" / "transcripts"
INDEX = json.loads((DATA / "copilot" / "INDEX.json").read_text(encoding="utf-8"))
TOKENS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")

# 1.0.32 tells totals for each run of the program, not for the session: the messages of this session, which
# was gone on with once, have 148 and 160 output tokens. The index took the second run's totals only.
SUMS_OF_RUNS = {"f38c6fa2-12ff-4d48-a079-b781e56139e7": (7200 + 4800, 148 + 160, 4600, 0)}
# It has no `shellExecution`; how a command ended stands in its output: "<exited with exit code 1>".
EXIT_CODES_IN_TEXT = {"df67b4ec-4190-4a6e-8430-9372be4faaf7": 1}


def read(entry):
    [reading] = read_file(SOURCES["copilot"], DATA / entry["file"])
    return reading


@pytest.mark.parametrize("entry", INDEX, ids=lambda entry: f"{entry['version']}-{entry['file'][-50:-28]}")
def test_a_recorded_transcript_is_read_as_its_facts_say(entry):
    path, facts = DATA / entry["file"], entry["facts"]
    reading = read(entry)
    session = reading.session
    calls = [call for turn in session.turns for call in turn.tool_calls]
    signals = [signal for turn in session.turns for signal in turn.signals]

    assert reading.offset == path.stat().st_size
    assert (session.skipped, session.warnings) == (0, ())
    assert session.id == path.parent.name
    assert (session.client, session.client_version) == ("copilot", entry["version"])
    assert (session.project, session.branch) == ("/home/user/project", "main")
    assert list(session.prompts) == facts["human_prompts"]
    assert [call.name for call in calls] == facts["tool_calls"]

    failed = EXIT_CODES_IN_TEXT.get(session.id, facts["nonzero_exits"])
    assert sum(bool(call.exit_code) for call in calls) == failed
    assert sum(call.error is not None for call in calls) == facts["failed_tools"] + failed
    assert (Signal.INTERRUPTION in signals) == bool(facts["abort"])
    assert (Signal.ERROR in signals) == bool(facts["errors"] or facts["failed_tools"] or failed)
    assert [skill for turn in session.turns for skill in turn.skills] == facts["skills"]

    counted = tuple(sum(model[key] for model in facts["tokens"].values()) for key in TOKENS)
    tokens = session.tokens
    whole, *others = SUMS_OF_RUNS.get(session.id, counted)
    assert tokens.input + tokens.cache_read + tokens.cache_write == whole
    assert [tokens.output, tokens.cache_read, tokens.cache_write] == others

    answers = [turn.answer for turn in session.turns if turn.answer]
    assert (answers[-1] if answers else None) == facts["last_text"]


def test_the_bytes_that_differ_from_the_index_are_as_they_are_told_here():
    folder = DATA / "copilot" / "1.0.32" / "dot-copilot" / "session-state"
    exits = (folder / "df67b4ec-4190-4a6e-8430-9372be4faaf7" / "events.jsonl").read_text()
    assert "<exited with exit code 1>" in exits
    assert "shellExecution" not in exits
    runs = (folder / "f38c6fa2-12ff-4d48-a079-b781e56139e7" / "events.jsonl").read_text()
    assert re.findall(r'"usage":\{"inputTokens":(\d+)', runs) == ["7200", "4800"]
    events = [json.loads(line) for line in runs.splitlines()]
    said = [event["data"] for event in events if event["type"] == "assistant.message"]
    assert sum(message["outputTokens"] for message in said) == 148 + 160


def test_a_recorded_transcript_is_recognised_by_this_source_alone():
    for entry in INDEX:
        head = (DATA / entry["file"]).read_bytes()[: 64 * 1024]
        assert [name for name, source in SOURCES.items() if source.recognise(head)] == ["copilot"]


def test_what_a_headless_run_prints_is_not_a_transcript():
    printed = sorted((DATA / "copilot" / "1.0.102" / "headless-output").glob("*.stdout"))
    assert printed
    for path in printed:
        head = path.read_bytes()[: 64 * 1024]
        assert not any(source.recognise(head) for source in SOURCES.values()), path.name


def test_a_prompt_typed_while_the_agent_works_is_a_turn():
    [entry] = [entry for entry in INDEX if entry["scenario"] == "tui"]
    session = read(entry).session
    turn = next(turn for turn in session.turns if turn.prompt == "thanks, that works")
    assert (turn.typed, turn.answer) == (True, "Glad it works.")
    before = session.turns[session.turns.index(turn) - 1]
    # A command sent to the background has not ended.
    assert [call.exit_code for call in before.tool_calls] == [None]


def test_a_correction_is_marked_and_a_slash_command_is_split():
    [entry] = [entry for entry in INDEX if entry["scenario"] == "tui"]
    session = mark_corrections(read(entry).session)
    assert [Signal.CORRECTION in turn.signals for turn in session.turns] == [False, True, False, False, False]
    assert (session.turns[-1].command, session.turns[-1].prompt) == ("/proj-greet", "Bob")
    assert session.turns[0].tool_calls[0].files == ("/home/user/project/greet.py",)


def test_a_sub_agents_work_belongs_to_the_turn_that_started_it_and_its_words_to_nobody():
    for entry in INDEX:
        if "helper agent" in entry["facts"]["human_prompts"][0]:
            [turn] = read(entry).session.turns
            assert [call.name for call in turn.tool_calls] == ["task", "bash"]
            assert turn.answer == "The helper found 1 python file."


def test_a_permission_nobody_could_give_is_an_error_and_not_the_users_refusal():
    [entry] = [entry for entry in INDEX if entry["scenario"] == "permission-denied"]
    [turn] = read(entry).session.turns
    assert turn.signals == (Signal.ERROR,)
    assert turn.tool_calls[0].error.startswith("Permission denied because no interactive user")


def test_reading_a_session_again_with_the_same_claims_gives_the_same():
    claims = MemoryClaims()
    for entry in INDEX[:6]:
        first = read_file(SOURCES["copilot"], DATA / entry["file"], claims=claims)[0].session
        again = read_file(SOURCES["copilot"], DATA / entry["file"], claims=claims)[0].session
        assert (first, first.kind) == (again, Kind.HUMAN)
