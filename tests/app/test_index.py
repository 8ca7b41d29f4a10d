"""The index follows the transcripts: it reads what is new, once, and loses nothing that was richer."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

from skillopt_harvesters.records import Tokens
from skillopt_sleep.store.index import is_gone
from tests.support.indexes import Index
from tests.support.transcripts import work_for_days, write_session

RECORDED = Path(__file__).parents[1] / "data" / "transcripts" / "claude"


@pytest.fixture
def index(tmp_path: Path, private_home: Path):
    made = Index(tmp_path / "state.db", private_home)
    yield made
    made.connection.close()


@pytest.fixture
def another(tmp_path: Path, private_home: Path):
    made = Index(tmp_path / "another.db", private_home)
    yield made
    made.connection.close()


@pytest.fixture
def projects(private_home: Path) -> Path:
    folder = private_home / ".claude" / "projects" / "-p"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def session(projects: Path) -> Path:
    return write_session(projects, "one", [("do a", "done a"), ("do b", "done b")], cwd="/p")


def append(path: Path, prompt: str) -> None:
    """Add a turn as the client would."""
    with path.open("a") as file:
        lines = path.read_text().splitlines()
        number = len(lines)
        for kind, content in (("user", prompt), ("assistant", [{"type": "text", "text": f"did {prompt}"}])):
            record = json.loads(lines[0]) | {
                "type": kind,
                "uuid": f"00000000-0000-4000-8000-{number:012}",
                "timestamp": f"2026-12-01T10:00:{number:02}.000Z",
                "message": {"role": kind, "content": content, "id": f"m{number}"},
            }
            number += 1
            file.write(json.dumps(record) + "\n")


def prompts(index: Index) -> list[str]:
    return sorted(prompt for session in index.sessions.values() for prompt in session.prompts)


# --- what is read --------------------------------------------------------------------------------


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch):
    """The transcripts that were opened, by any means."""
    seen: list[str] = []
    active = [True]

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if active[0] and event == "open" and str(arguments[0]).endswith(".jsonl"):
            seen.append(str(arguments[0]))

    sys.addaudithook(watch)
    yield seen
    active[0] = False


def test_an_unchanged_corpus_is_not_opened_and_of_a_line_that_was_appended_one_file_is(
    index: Index, projects: Path, opened: list[str]
):
    work_for_days(projects.parent, Path("/p"), days=40, corrected=())
    first = index.harvest()
    assert (first.files_seen, first.files_read, first.sessions, first.turns) == (40, 40, 40, 40)
    opened.clear()
    second = index.harvest()
    assert opened == []
    assert (second.files_seen, second.files_read, second.bytes_read, second.sessions) == (40, 0, 0, 0)
    path = next(projects.parent.rglob("*.jsonl"))
    size = path.stat().st_size
    append(path, "more")
    opened.clear()
    third = index.harvest()
    assert opened == [str(path)]
    assert (third.files_read, third.bytes_read, third.sessions) == (1, path.stat().st_size - size, 1)


def test_a_file_that_was_only_touched_is_read_again_and_counts_once(index: Index, session: Path):
    index.harvest()
    before = index.dump()
    for time in (0, 2**31, 4_000_000_000):
        os.utime(session, (time, time))
        again = index.harvest()
        assert (again.files_read, again.sessions) == (1, 1)
        after = index.dump()
        assert (after["sessions"], after["heads"], after["marks"]) == (
            before["sessions"],
            before["heads"],
            before["marks"],
        )


def test_clocks_that_jump_hide_nothing(index: Index, session: Path):
    index.harvest()
    for number, time in enumerate((0, 4_000_000_000, 1_000)):
        append(session, f"ask {number}")
        os.utime(session, (time, time))
        index.harvest()
        assert f"ask {number}" in prompts(index)
    assert len(prompts(index)) == 5


def test_growing_by_pieces_gives_the_index_of_one_harvest(index: Index, another: Index, projects: Path):
    source = next(RECORDED.rglob("439f0b2b*.jsonl"))
    data = source.read_bytes()
    path = projects / source.name
    read = 0
    for part in range(1, 12):
        path.write_bytes(data[: len(data) * part // 11])
        os.utime(path, (part, part))
        read += index.harvest().bytes_read
    os.utime(path, (1, 1))
    another.harvest()
    ours, once = index.dump(), another.dump()
    assert read == len(data), "every byte was read once"
    assert {name: ours[name] for name in ("sessions", "heads", "marks")} == {
        name: once[name] for name in ("sessions", "heads", "marks")
    }


# --- what becomes of less ------------------------------------------------------------------------


def test_what_was_read_outlives_a_truncated_an_emptied_and_a_deleted_file(index: Index, session: Path):
    index.harvest()
    data, before = session.read_bytes(), index.sessions
    for rest in (data[: len(data) // 2], b"", b"garbage\n"):
        session.write_bytes(rest)
        assert index.harvest().sessions == 0
        assert index.sessions == before
    session.unlink()
    assert index.harvest().warnings == ()
    assert index.sessions == before
    [kept] = index.sessions.values()
    assert is_gone(kept)
    session.write_bytes(data)
    append(session, "do c")
    index.harvest()
    assert prompts(index) == ["do a", "do b", "do c"]
    [again] = index.sessions.values()
    assert not is_gone(again)


def test_a_file_that_was_truncated_and_goes_on_is_followed_again_when_it_is_richer(
    index: Index, session: Path
):
    index.harvest()
    lines = session.read_bytes().splitlines(keepends=True)
    session.write_bytes(b"".join(lines[:2]))
    index.harvest()
    append(session, "x")
    index.harvest()
    assert prompts(index) == ["do a", "do b"], "of equally many turns the wordier stay"
    append(session, "y")
    index.harvest()
    assert prompts(index) == ["do a", "x", "y"]


def test_a_file_written_anew_with_more_takes_the_place_of_the_old(index: Index, session: Path):
    index.harvest()
    write_session(session.parent, "one", [("x", "X"), ("y", "Y"), ("z", "Z")], cwd="/p")
    index.harvest()
    assert prompts(index) == ["x", "y", "z"]


@pytest.mark.parametrize("poor_first", [True, False])
def test_of_two_files_with_one_session_the_richer_counts_once(
    index: Index, session: Path, *, poor_first: bool
):
    copy = session.parent.with_name("-copy") / session.name
    copy.parent.mkdir()
    copy.write_bytes(b"".join(session.read_bytes().splitlines(keepends=True)[:2]))
    os.utime(session, (2, 2))
    os.utime(copy, (1, 1) if poor_first else (3, 3))
    report = index.harvest()
    assert (report.files_read, report.sessions, report.turns) == (2, 1, 2)
    [kept] = index.sessions.values()
    assert (kept.path, kept.prompts) == (str(session), ("do a", "do b"))
    assert index.harvest().files_read == 0
    append(copy, "only here")
    index.harvest()
    append(copy, "and here")
    index.harvest()
    [kept] = index.sessions.values()
    assert (kept.path, len(kept.turns)) == (str(copy), 3)
    append(session, "back to the first")
    append(session, "for good")
    index.harvest()
    [kept] = index.sessions.values()
    assert (kept.path, kept.prompts) == (
        str(session),
        ("do a", "do b", "back to the first", "for good"),
    )


def test_a_file_that_was_moved_keeps_its_session(index: Index, session: Path):
    index.harvest()
    moved = session.parent.with_name("-archive") / session.name
    moved.parent.mkdir()
    session.rename(moved)
    index.harvest()
    [kept] = index.sessions.values()
    assert (kept.path, kept.prompts, is_gone(kept)) == (str(moved), ("do a", "do b"), False)
    append(moved, "do c")
    report = index.harvest()
    assert (report.sessions, prompts(index)) == (1, ["do a", "do b", "do c"])


# --- copies --------------------------------------------------------------------------------------


def total(index: Index) -> tuple[Tokens, Counter[str], int]:
    tokens = Tokens()
    for session in index.sessions.values():
        tokens = tokens.plus(session.tokens)
    calls = sum(len(turn.tool_calls) for session in index.sessions.values() for turn in session.turns)
    return tokens, Counter(prompts(index)), calls


@pytest.mark.parametrize("names", [("9561625f", "a2224f29"), ("a2224f29", "9561625f")])
@pytest.mark.parametrize("harvests", [1, 2])
def test_a_fork_and_its_original_count_once_whichever_is_read_first(
    index: Index, another: Index, projects: Path, names: tuple[str, str], harvests: int
):
    for number, name in enumerate(names):
        found = next(RECORDED.rglob(f"{name}*.jsonl"))
        shutil.copy(found, projects)
        os.utime(projects / found.name, (number, number))
        if harvests == 2:
            index.harvest()
    index.harvest()
    tokens, counted, calls = total(index)
    # The fork holds all that its original does, and one turn more.
    shutil.rmtree(projects)
    projects.mkdir()
    shutil.copy(next(RECORDED.rglob("a2224f29*.jsonl")), projects)
    another.harvest()
    assert (tokens, calls) == (total(another)[0], total(another)[2])
    assert counted == total(another)[1]
    assert set(counted.values()) == {1}


@pytest.mark.parametrize(("original", "fork"), [("9561625f", "a2224f29"), ("cdf72833", "58cb2ba1")])
@pytest.mark.parametrize("times", [(1, 2), (2, 1)])
def test_the_original_owns_what_a_fork_copied_whichever_was_written_to_last(
    index: Index, projects: Path, original: str, fork: str, times: tuple[int, int]
):
    for name, time in zip((original, fork), times, strict=True):
        found = next(RECORDED.rglob(f"{name}*.jsonl"))
        shutil.copy(found, projects)
        os.utime(projects / found.name, (time, time))
    index.harvest()
    by_name = {name[:8]: session for name, session in index.sessions.items()}
    assert len(by_name[original].prompts) == 3
    assert by_name[fork].prompts == ("thanks, that works. Please look at two things now",)
    assert by_name[original].ended < by_name[fork].started
    append(next(projects.glob(f"{original}*")), "go on here")
    index.harvest()
    grown = {name[:8]: session.prompts for name, session in index.sessions.items()}
    assert grown == {
        original: (*by_name[original].prompts, "go on here"),
        fork: by_name[fork].prompts,
    }


def test_a_fork_keeps_what_it_copied_from_an_original_that_turns_up_later(index: Index, projects: Path):
    for name, prompts in (("a2224f29", 4), ("9561625f", 0)):
        found = next(RECORDED.rglob(f"{name}*.jsonl"))
        shutil.copy(found, projects)
        index.harvest()
        known = index.sessions.get(found.stem)
        assert len(known.prompts if known else ()) == prompts
    original = next(projects.glob("9561625f*"))
    append(original, "go on here")
    index.harvest()
    assert index.sessions[original.stem].prompts == ("go on here",)


def test_what_was_counted_as_unusable_is_told_once(index: Index, session: Path):
    with session.open("a") as file:
        file.write("broken\n" * 10_000)
    first = index.harvest()
    assert first.skipped == 10_000
    assert first.warnings == (f"{session}: 10000 lines are not readable records",)
    append(session, "do c")
    second = index.harvest()
    assert (second.skipped, second.warnings) == (0, ())


def test_very_many_warnings_are_summed_up(index: Index, projects: Path):
    for number in range(230):
        path = write_session(projects, f"s{number}", [("do", "done")], cwd="/p")
        path.write_text(path.read_text() + "broken\n")
    report = index.harvest()
    assert (report.skipped, len(report.warnings)) == (230, 201)
    assert report.warnings[-1] == "and 30 more warnings"
