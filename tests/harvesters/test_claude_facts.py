"""Every recorded transcript of Claude Code is read as an independent reader found it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from skillopt_harvesters import SOURCES, Kind, Signal, mark_corrections, read_file

DATA = Path(__file__).parents[1] / "data" / "transcripts"
INDEX = json.loads((DATA / "INDEX.json").read_text(encoding="utf-8"))

# Version 2.1.73 writes a reply's first record with the count at the start of the stream. The index took the
# first record of each reply; the last one holds the final count, so these are the tokens that were spent.
# (The same scenarios in 2.0.65, which writes one count only, have exactly these numbers.)
FINAL_OUTPUT_TOKENS = {
    "2ad1d24b-4ef9-46d9-8afe-a844634b657b": 80,
    "agent-a9a05a653732ab6e6": 80,
    "c64c4873-dcf4-4cb3-a79d-670b92d18c1d": 308,
    "c6c35996-d8e8-4613-b328-3757217b68dc": 180,
    "da2d8605-2b27-4f6d-a93a-4da7eec2aa58": 160,
}


def said(markup: str) -> str:
    """The index keeps slash commands as the client marks them up; a session has command and arguments."""
    name = re.search(r"<command-name>(.*?)</command-name>", markup)
    arguments = re.search(r"<command-args>(.*?)</command-args>", markup, re.DOTALL)
    if not name:
        return markup
    return f"{name[1]} {arguments[1] if arguments else ''}".strip()


@pytest.mark.parametrize(
    "entry", INDEX, ids=lambda entry: f"{entry['version']}-{Path(entry['file']).stem[:14]}"
)
def test_a_recorded_transcript_is_read_as_its_facts_say(entry):
    path, facts = DATA / entry["file"], entry["facts"]
    [reading] = read_file(SOURCES["claude"], path)
    session = reading.session
    calls = [call for turn in session.turns for call in turn.tool_calls]
    signals = [signal for turn in session.turns for signal in turn.signals]

    assert reading.offset == path.stat().st_size
    assert session.skipped == 0
    assert session.id == path.stem
    assert list(session.prompts) == [said(prompt) for prompt in facts["human_prompts"]]
    assert [call.name for call in calls] == facts["tool_calls"]
    assert sum(call.error is not None for call in calls) == facts["tool_errors"]
    assert (Signal.INTERRUPTION in signals) == facts["interrupted"]

    expected = facts["tokens"]
    output = FINAL_OUTPUT_TOKENS.get(path.stem, expected.get("output_tokens", 0))
    assert session.tokens.input == expected.get("input_tokens", 0)
    assert session.tokens.output == output
    assert session.tokens.cache_read == expected.get("cache_read_input_tokens", 0)
    assert session.tokens.cache_write == expected.get("cache_creation_input_tokens", 0)

    answers = [turn.answer for turn in session.turns if turn.answer]
    if facts["api_errors"]:
        # The index counts the client's own words about a failed call as text; they are nobody's answer.
        assert Signal.ERROR in signals
        assert answers == []
    else:
        assert (answers[-1] if answers else None) == (facts["last_text"] and facts["last_text"].strip())


def test_who_spoke_is_told_by_the_entrypoint_and_the_file():
    kinds = {}
    for entry in INDEX:
        session = read_file(SOURCES["claude"], DATA / entry["file"])[0].session
        kinds.setdefault((entry["version"], session.kind), []).append(session.id)
    assert {version for version, kind in kinds if kind is Kind.HEADLESS} == {"2.1.332", "2.1.197"}
    assert len(kinds["2.1.332-tui", Kind.HUMAN]) == 4
    agents = {stem for (_, kind), stems in kinds.items() if kind is Kind.SUBAGENT for stem in stems}
    assert agents == {Path(entry["file"]).stem for entry in INDEX if "agent-" in entry["file"]}


def test_a_recorded_transcript_is_recognised_and_an_empty_file_is_not():
    source = SOURCES["claude"]
    for entry in INDEX:
        head = (DATA / entry["file"]).read_bytes()[: 64 * 1024]
        assert source.recognise(head) == bool(head), entry["file"]


def test_a_shell_line_of_the_user_is_a_turn_of_its_own_but_no_prompt():
    path = next((DATA / "claude/2.1.332-tui").rglob("439f0b2b*.jsonl"))
    session = read_file(SOURCES["claude"], path)[0].session
    shell = [turn for turn in session.turns if turn.command == "!"]
    assert [turn.prompt for turn in shell] == ["echo from-bash-mode"]
    before = session.turns[session.turns.index(shell[0]) - 1]
    assert (before.prompt, before.answer) == ("give a slow answer", "done")


def test_the_skills_on_offer_and_in_use_are_noted():
    path = next((DATA / "claude/2.1.332-tui").rglob("439f0b2b*.jsonl"))
    session = read_file(SOURCES["claude"], path)[0].session
    assert "proj-greet" in session.skills_offered
    assert {turn.command: turn.skills for turn in session.turns if turn.skills} == {
        "/proj-greet": ("proj-greet",)
    }


def test_a_correction_is_marked_on_the_turn_that_corrects():
    path = next((DATA / "claude/2.1.332").rglob("9561625f*.jsonl"))
    session = read_file(SOURCES["claude"], path)[0].session
    marks = [Signal.CORRECTION in turn.signals for turn in mark_corrections(session).turns]
    assert marks == [False, True, False]


def test_a_forked_session_repeats_nothing_of_the_one_it_came_from():
    from skillopt_harvesters import MemoryClaims

    claims = MemoryClaims()
    folder = DATA / "claude/2.1.332"
    first = read_file(SOURCES["claude"], next(folder.rglob("9561625f*.jsonl")), claims=claims)[0].session
    fork = read_file(SOURCES["claude"], next(folder.rglob("a2224f29*.jsonl")), claims=claims)[0].session
    assert len(first.prompts) == 3
    assert fork.prompts == ("thanks, that works. Please look at two things now",)
    assert fork.before is not None
    assert fork.before.answer == "Glad it works."
    assert fork.tokens.output == 428 - 348
    again = read_file(SOURCES["claude"], next(folder.rglob("9561625f*.jsonl")), claims=claims)[0].session
    assert again == first
