"""Every recorded rollout of Codex is read as an independent reader found it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_harvesters import Kind, MemoryClaims, Signal, Tokens, mark_corrections, read_file
from tests.harvesters.rollouts import CODEX, DATA, FOLDER, ROLLOUTS, read_in_pieces, read_session

INDEX = json.loads((FOLDER / "INDEX.json").read_text(encoding="utf-8"))

# A fork goes on with the sums of the session it came from; these are its own tokens. And the run that was
# killed wrote its call down (`token_usage_record`), but no sum any more.
OWN_TOKENS = {
    "01a22773-5995-7450-a952-3fc454a38ae2": Tokens(input=2400, output=80),
    "01a22773-a087-7d62-8bb4-36af5a84cc4e": Tokens(input=1200, output=40),
}
# The call by which a parent spawned this agent stands in the history that was copied for it.
OWN_CALLS = {"01a22773-6563-78f0-9a73-a4059aad888c": []}
# A script's output does not say how its commands ended; the completed items beside it do: two with code 1.
FAILED = {"01a22773-69cf-7870-b752-23400e30d676": 3}
# These end without an answer; before 0.171 the client did not say why.
SILENT = {"01a2277e-2c37-7190-a372-77ea79faf236", "01a2277d-d4ae-71d2-93db-591d7421147e"}


def id_of(entry) -> str:
    return Path(entry["file"]).stem[-36:]


@pytest.mark.parametrize("entry", INDEX, ids=lambda entry: f"{entry['version']}-{id_of(entry)[:13]}")
def test_a_recorded_rollout_is_read_as_its_facts_say(entry):
    path, facts = DATA / entry["file"], entry["facts"]
    [reading] = read_file(CODEX, path)
    session = reading.session
    calls = [call for turn in session.turns for call in turn.tool_calls]
    signals = [signal for turn in session.turns for signal in turn.signals]

    assert reading.offset == path.stat().st_size
    assert (session.skipped, session.warnings) == (0, ())
    assert session.id == id_of(entry)
    assert session.client_version == entry["version"]
    assert (session.project, session.started is not None) == ("/home/user/project", True)
    assert list(session.prompts) == facts["human_prompts"]
    assert [call.name for call in calls] == OWN_CALLS.get(session.id, facts["tool_calls"])
    failed = FAILED.get(session.id, facts["failed_tool_outputs"])
    assert sum(call.error is not None for call in calls) == failed
    assert (Signal.INTERRUPTION in signals) == facts["interrupted"]
    broken = facts["error"] is not None or session.id in SILENT
    assert (Signal.ERROR in signals) == (broken or failed > 0)

    counted = facts["tokens"] or {}
    read, written = counted.get("cached_input_tokens", 0), counted.get("cache_write_input_tokens", 0)
    expected = Tokens(
        input=counted.get("input_tokens", 0) - read - written,
        output=counted.get("output_tokens", 0),
        cache_read=read,
        cache_write=written,
    )
    assert session.tokens == OWN_TOKENS.get(session.id, expected)

    answers = [turn.answer for turn in session.turns if turn.answer]
    assert (answers[-1] if answers else None) == facts["last_text"]
    subagent = facts["subagent"]
    assert (session.kind is Kind.SUBAGENT, session.parent is not None) == (subagent, subagent)


def test_who_spoke_is_told_by_the_first_record():
    kinds = {id_of(entry): read_session(DATA / entry["file"]).kind for entry in INDEX}
    assert {kind for name, kind in kinds.items() if name[:8] != "01a22774"} == {Kind.HEADLESS, Kind.SUBAGENT}
    [terminal] = [name for name, kind in kinds.items() if kind is Kind.HUMAN]
    assert terminal.startswith("01a22774-d7a2")


def test_every_recorded_rollout_is_recognised():
    assert len(ROLLOUTS) == 53
    for path in ROLLOUTS:
        data = path.read_bytes()
        for size in (64 * 1024, 4096, 700):
            assert CODEX.recognise(data[:size]), (path, size)


def test_what_lies_beside_the_rollouts_is_no_rollout():
    others = [path for path in FOLDER.rglob("*") if path.is_file() and path not in ROLLOUTS]
    assert {path.suffix for path in others} >= {".jsonl", ".json", ".stdout", ".stderr"}
    for path in others:
        assert not CODEX.recognise(path.read_bytes()[: 64 * 1024]), path
    assert set(CODEX.discover(FOLDER)) == set(ROLLOUTS)


def test_no_transcript_of_another_client_is_taken_for_a_rollout():
    from skillopt_harvesters import SOURCES

    for path in DATA.rglob("*.jsonl"):
        head = path.read_bytes()[: 64 * 1024]
        if "codex" not in path.relative_to(DATA).parts:
            assert not CODEX.recognise(head), path
        elif head and path in ROLLOUTS:
            assert [name for name, source in SOURCES.items() if source.recognise(head)] == ["codex"], path


def find(folder: str, begins: str) -> Path:
    return next((FOLDER / folder).rglob(f"rollout-*-{begins}*.jsonl"))


def test_the_oldest_files_have_no_envelope():
    session = read_session(find("0.20.0", "202fcad0"))
    assert session.prompts == ("Write greet.py with a greet function",)
    assert [(call.command.split("\n")[0], call.exit_code) for call in session.turns[0].tool_calls] == [
        ("cat > /home/user/project/greet.py <<'EOF_MOCK'", 0),
        ("python3 greet.py", 0),
        ("exit 3", 3),
    ]
    assert (session.turns[0].answer, session.commit[:7], session.branch) == ("Done.", "d72e1bf", "main")
    assert (session.kind, session.skipped) == (Kind.HUMAN, 0)
    assert session.started == session.ended == "2026-11-29T19:57:31.647Z"


@pytest.mark.parametrize(
    ("folder", "begins", "tokens"), [("0.63.0", "01a228e2-5aa6", 6000), ("0.89.0", "01a228e2-71a8", 6000)]
)
def test_a_resumed_session_goes_on_in_its_file_whether_the_sums_do_or_start_again(folder, begins, tokens):
    session = read_session(find(folder, begins))
    assert session.prompts == ("Write greet.py with a greet function", "and now the docs")
    assert [turn.tokens.input for turn in session.turns] == [tokens - 1200, 1200]
    assert session.tokens.input == tokens
    assert [call.exit_code for call in session.turns[0].tool_calls] == [0, 0, 3]
    assert session.turns[0].tool_calls[0].files == ("/home/user/project/greet.py",)


@pytest.mark.parametrize(
    ("folder", "begins"), [("0.142.4-app", "01a228e0-57ca"), ("0.171.0-app", "01a228e0-9af0")]
)
def test_a_long_session_tells_what_the_user_did_beside_typing_prompts(folder, begins):
    session = read_session(find(folder, begins))
    turns = {f"{turn.command or ''} {turn.prompt}".strip(): turn for turn in session.turns}
    signals = {name: set(turn.signals) for name, turn in turns.items()}
    assert list(turns) == [
        "write the file",
        "remove the file",
        "remove the file again",
        "! echo from-user",
        "slow please",
        "and also this",
        "slow again",
        "/review",
        "/review look at a.txt only",
        "$greet Bob",
        "after going back",
        "in the first again",
    ]
    assert all(turn.typed for turn in session.turns)
    assert signals["write the file"] == {Signal.REFUSAL, Signal.ERROR}
    assert signals["remove the file"] == {Signal.REFUSAL, Signal.ERROR}
    # The user said no and stopped the agent: then there is no refusal on record, but the interruption.
    assert signals["remove the file again"] == {Signal.INTERRUPTION, Signal.ERROR}
    assert signals["slow again"] == {Signal.INTERRUPTION, Signal.ERROR}
    assert turns["! echo from-user"].signals == ()
    assert turns["and also this"].answer == "ok then"
    assert turns["/review"].answer.startswith("fine")
    assert turns["$greet Bob"].skills == ("greet",)
    rolled_back = [turn.prompt for turn in session.turns if turn.abandoned]
    assert rolled_back == (["$greet Bob"] if folder.startswith("0.142") else [])
    assert (session.kind, session.tokens.input, session.skipped) == (Kind.HUMAN, 14400, 0)


@pytest.mark.parametrize("order", [1, -1])
def test_forks_and_forks_of_forks_own_only_what_was_said_in_them(order):
    claims = MemoryClaims()
    sessions = {}
    for path in sorted((FOLDER / "0.142.4-app").rglob("rollout-*.jsonl"))[::order]:
        session = read_session(path, claims)
        sessions[session.id[9:18]] = session
    first, fork, second = sessions["57ca-77c1"], sessions["75c7-76e2"], sessions["7610-7932"]
    assert len(first.turns) == 12
    assert (fork.prompts, fork.before.prompt) == (("in the fork",), "after going back")
    assert (second.prompts, second.before.prompt) == (("in the fork of the fork",), "in the fork")
    assert [one.tokens.input for one in (first, fork, second)] == [14400, 1200, 1200]
    reviewers = [one for one in sessions.values() if one.kind is Kind.SUBAGENT]
    assert [one.parent for one in reviewers] == [first.id, first.id]
    assert {turn.typed for one in reviewers for turn in one.turns} == {False}


def test_a_fork_that_points_to_its_parent_counts_its_own_tokens():
    session = read_session(find("0.171.0-app", "01a228e0-b9b8"))
    assert (session.prompts, session.before, session.tokens.input) == (
        ("in the fork of the fork",),
        None,
        1200,
    )


def test_an_agent_with_a_copied_history_begins_with_its_own_task():
    session = read_session(find("0.171.0", "01a22773-6563"))
    assert (session.kind, session.prompts) == (Kind.SUBAGENT, ())
    assert session.before.prompt == "Please use a helper agent to count files"
    assert [call.name for call in session.before.tool_calls] == ["spawn_agent"]
    assert [turn.signals for turn in session.turns] == [(Signal.INTERRUPTION,)]


def test_a_skill_is_loaded_by_a_mention_or_by_reading_it():
    mention, reading = find("0.171.0", "01a22773-61ef"), find("0.171.0", "01a22773-6042")
    assert [read_session(path).turns[0].skills for path in (mention, reading)] == [("proj-greet",)] * 2


def test_a_correction_is_marked_on_the_turn_that_corrects():
    session = mark_corrections(read_session(find("0.171.0", "01a22773-5358")))
    assert [Signal.CORRECTION in turn.signals for turn in session.turns] == [False, True, False]


@given(cuts=st.lists(st.integers(0, 10_000), min_size=1, max_size=6), data=st.sampled_from(ROLLOUTS))
def test_reading_in_pieces_gives_the_same_session_as_reading_at_once(tmp_path_factory, cuts, data):
    """Whatever the harvests that fell into a session's life, the last one knows what one alone would."""
    whole = data.read_bytes()
    path = tmp_path_factory.mktemp("pieces") / data.name
    path.write_bytes(whole)
    [at_once] = read_file(CODEX, path)
    last = read_in_pieces(path, whole, [len(whole) * cut // 10_000 for cut in cuts])
    assert last.session == at_once.session
    assert last.offset == at_once.offset
