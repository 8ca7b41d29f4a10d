"""A harvest reads what is new, once, and nothing on the disk stops it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_harvesters import (
    SOURCES,
    Change,
    MemoryClaims,
    Resume,
    Session,
    changed,
    harvest,
    mine,
    read_file,
)
from skillopt_harvesters.walk import walk_files
from tests.support.indexes import Index

RECORDED = sorted((Path(__file__).parents[1] / "data" / "transcripts" / "claude").rglob("*.jsonl"))


@pytest.fixture
def run(private_home):
    """Harvest the private home; returns what was read, the cursors to go on with, and the counts."""

    known: dict[tuple[str, str], Session] = {}
    kept = MemoryClaims()

    def once(cursors=None, env=None, claims=None):
        work = harvest(
            SOURCES.values(),
            cursors or {},
            env=env or {},
            home=private_home,
            claims=claims or kept,
            recall=lambda client, name: known.get((client, name)),
        )
        read, seen = [], dict(cursors or {})
        for one in work:
            if one.session:
                read.append(one)
                known[one.session.client, one.session.id] = one.session
            if one.cursor:
                seen[one.cursor.path] = one.cursor
        return read, seen, work.stats

    return once


def session_of(transcript, *prompts):
    t = transcript()
    for prompt in prompts:
        t.user(prompt)
        t.agent("done")
    t.write()
    return t


def test_the_first_harvest_reads_all_and_the_second_opens_nothing(transcript, run, monkeypatch):
    session_of(transcript, "one")
    session_of(transcript, "two", "three")
    read, cursors, stats = run()
    assert [one.session.prompts for one in read] == [("one",), ("two", "three")]
    assert {one.change for one in read} == {Change.NEW}
    assert (stats.files_seen, stats.files_read, stats.sessions, stats.turns) == (2, 2, 2, 3)
    assert stats.bytes_read == sum(cursor.size for cursor in cursors.values())

    def refuse(*_args, **_options):
        raise AssertionError("an unchanged file was opened")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refuse)
        read, _, stats = run(cursors)
    assert (read, stats.files_seen, stats.files_read, stats.bytes_read) == ([], 2, 0, 0)


def test_a_file_that_grew_is_read_again_as_one_session(transcript, run):
    t = session_of(transcript, "one")
    _, cursors, _ = run()
    t.user("two")
    t.write()
    [again], _, _ = run(cursors)
    assert again.change is Change.APPENDED
    assert again.session.prompts == ("one", "two")


def test_claims_kept_over_harvests_do_not_cost_a_session_its_own_records(transcript, run):
    claims = MemoryClaims()
    t = session_of(transcript, "one")
    _, cursors, _ = run(claims=claims)
    t.user("two")
    t.write()
    [again], _, _ = run(cursors, claims=claims)
    assert again.session.prompts == ("one", "two")


def test_a_file_that_was_renamed_leaves_no_empty_session_behind(transcript, run):
    t = session_of(transcript, "one", "two")
    _, cursors, _ = run()
    t.path = t.path.rename(t.path.with_name("renamed.jsonl"))
    read, cursors, stats = run(cursors)
    assert (read, stats.sessions, stats.turns, stats.warnings) == ([], 0, 0, [])
    t.user("three")
    t.write()
    [again], _, _ = run(cursors)
    assert (again.session.id, again.session.prompts) == ("renamed", ("three",))


def test_a_file_written_anew_is_noticed(transcript, run):
    t = session_of(transcript, "one", "two")
    _, cursors, _ = run()
    cursor = next(iter(cursors.values()))
    text = t.path.read_text()
    t.path.write_text(text.replace('"one"', '"six"'))
    os.utime(t.path, ns=(0, cursor.mtime_ns + 1))
    assert changed(t.path, cursor) is Change.REWRITTEN
    t.path.write_text(text.replace('"one"', '"something longer"'))
    assert changed(t.path, cursor) is Change.REWRITTEN
    t.path.write_text(text[:100])
    assert changed(t.path, cursor) is Change.REWRITTEN
    t.path.write_text(text + "{}\n")
    assert changed(t.path, cursor) is Change.APPENDED
    replaced = t.path.with_name("other")
    replaced.write_text(text + "{}\n")
    replaced.replace(t.path)
    assert changed(t.path, cursor) is Change.REWRITTEN


@pytest.mark.parametrize("place", [0, -1])
def test_a_file_written_anew_with_its_size_and_time_is_noticed(tmp_path, private_home, transcript, place):
    t = session_of(transcript, "one", *["x" * 9000] * 2, "two")
    index = Index(tmp_path / "state.db", private_home)
    index.harvest()
    status = t.path.stat()
    [*_, last] = [record for record in t.records if record["type"] == "user"]
    changing = last if place else t.records[0]
    for name in ("six", "ten", "nil"):
        changing["message"]["content"] = name
        with t.path.open("r+") as file:
            file.writelines(json.dumps(record) + "\n" for record in t.records)
        os.utime(t.path, ns=(status.st_atime_ns, status.st_mtime_ns))
        now = t.path.stat()
        assert (now.st_ino, now.st_size, now.st_mtime_ns) == (
            status.st_ino,
            status.st_size,
            status.st_mtime_ns,
        )
        report = index.harvest()
        assert (report.files_read, report.warnings) == (1, ())
        assert index.sessions[t.id].prompts[place] == name


def test_a_file_whose_rights_or_names_changed_is_looked_at_once_and_not_read(
    tmp_path, private_home, transcript, monkeypatch
):
    t = session_of(transcript, "one", "two")
    index = Index(tmp_path / "state.db", private_home)
    index.harvest()
    before = index.sessions
    t.path.chmod(0o400)
    os.link(t.path, tmp_path / "elsewhere")
    report = index.harvest()
    assert (report.files_read, report.bytes_read, report.sessions) == (0, 0, 0)
    assert index.sessions == before
    with monkeypatch.context() as patched:
        patched.setattr(sys.modules["skillopt_harvesters.harvest"], "open_regular", None)
        assert index.harvest().warnings == ()
    t.path.chmod(0o600)
    t.user("three")
    t.write()
    report = index.harvest()
    assert (report.files_read, report.turns) == (1, 3)
    assert report.bytes_read < t.path.stat().st_size / 2


def test_a_torn_last_record_is_read_when_it_is_whole(transcript, run):
    t = session_of(transcript, "one")
    whole = t.path.read_bytes()
    t.user("two")
    t.write()
    full = t.path.read_bytes()
    t.path.write_bytes(full[:-30])
    [first], cursors, _ = run()
    assert first.session.prompts == ("one",)
    assert (cursors[str(t.path)].offset, first.session.skipped) == (len(whole), 0)
    t.path.write_bytes(full)
    [second], _, _ = run(cursors)
    assert (second.change, second.session.prompts) == (Change.APPENDED, ("one", "two"))


def test_a_deleted_file_is_told(transcript, run):
    t = session_of(transcript, "one")
    _, cursors, _ = run()
    t.path.unlink()
    assert changed(t.path, next(iter(cursors.values()))) is Change.GONE
    read, _, stats = run(cursors)
    assert (read, stats.gone) == ([], [str(t.path)])


def test_files_of_other_programs_are_refused_and_not_looked_at_again(projects, transcript, run):
    session_of(transcript, "one")
    lookalikes = {
        "codex": '{"timestamp":"t","type":"session_meta","payload":{"id":"x"}}',
        "copilot": '{"type":"user.message","data":{"content":"x"},"id":"1","timestamp":"t","parentId":null}',
        "other": '{"uuid":"1","sessionId":"s","userType":"x","type":"user","message":{"parts":[]}}',
        "plain": '{"a":1}',
        "text": "hello",
        "empty": "",
    }
    for name, line in lookalikes.items():
        (projects / f"{name}.jsonl").write_text(line + "\n" if line else "")
    read, cursors, stats = run()
    assert (stats.sessions, len(read), len(cursors)) == (1, 1, 7)
    assert run(cursors)[0] == []


def test_a_disk_full_of_obstacles_costs_only_what_cannot_be_read(projects, transcript, run):
    session_of(transcript, "one")
    (projects / "loop").symlink_to(projects)
    (projects / "nowhere.jsonl").symlink_to(projects / "missing")
    (projects / "folder.jsonl").mkdir()
    os.mkfifo(projects / "pipe.jsonl")
    (projects / os.fsdecode(b"bad\xff.jsonl")).write_bytes(b"{}\n")
    read, _, stats = run()
    assert [one.session.prompts for one in read] == [("one",)]
    assert stats.skipped == 1
    assert len(stats.warnings) >= 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_may_not_be_read_is_told(projects, transcript, run):
    session_of(transcript, "one")
    closed = projects / "closed"
    closed.mkdir(mode=0)
    read, _, stats = run()
    assert len(read) == 1
    assert any("closed" in warning for warning in stats.warnings)


def test_a_file_behind_two_roots_is_read_once(private_home, transcript, run):
    session_of(transcript, "one")
    (private_home / ".config").mkdir()
    (private_home / ".config" / "claude").symlink_to(private_home / ".claude")
    read, _, stats = run()
    assert (len(read), stats.files_seen) == (1, 1)


def test_the_configured_folder_replaces_the_defaults(private_home, tmp_path):
    claude = SOURCES["claude"]
    assert claude.roots({}, private_home) == (
        private_home / ".claude/projects",
        private_home / ".config/claude/projects",
    )
    assert claude.roots({"CLAUDE_CONFIG_DIR": str(tmp_path)}, private_home) == (tmp_path / "projects",)
    assert list(claude.discover(tmp_path / "missing")) == []


def test_files_are_found_in_a_stable_order(tmp_path):
    for name in ("b/2.jsonl", "a/3.jsonl", "1.jsonl", "a/x.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    names = [path.relative_to(tmp_path).as_posix() for path in walk_files(tmp_path, (".jsonl",))]
    assert names == ["1.jsonl", "a/3.jsonl", "b/2.jsonl"]


def test_a_harvest_feeds_the_miner(transcript, run):
    session_of(transcript, "add a changelog entry for X")
    session_of(transcript, "add a changelog entry for Y")
    read, _, _ = run()
    assert len(mine(one.session for one in read)) == 2


def test_memory_does_not_grow_with_the_file(projects):
    """Reading 96 MB of tool output takes no more than reading 6 MB of it, give or take."""
    line = (
        '{"type":"user","uuid":"%d","sessionId":"s","isSidechain":false,"message":{"role":"user","content":'
        '[{"type":"tool_result","tool_use_id":"t","content":"' + "x" * 200_000 + '"}]}}\n'
    )
    measure = (
        "import resource, sys, pathlib\n"
        "from skillopt_harvesters import SOURCES, read_file\n"
        "[reading] = read_file(SOURCES['claude'], pathlib.Path(sys.argv[1]))\n"
        "assert reading.offset == pathlib.Path(sys.argv[1]).stat().st_size\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    peaks = []
    for count in (30, 480):
        path = projects / f"{count}.jsonl"
        with path.open("w") as file:
            for number in range(count):
                file.write(line % number)
        done = subprocess.run(
            [sys.executable, "-c", measure, str(path)], capture_output=True, text=True, check=True
        )
        peaks.append(int(done.stdout))
    assert peaks[1] < peaks[0] + 24 * 1024


@given(cuts=st.lists(st.integers(0, 10_000), min_size=1, max_size=6), data=st.sampled_from(RECORDED))
@settings(max_examples=60, deadline=None)
def test_reading_in_pieces_gives_the_same_session_as_reading_at_once(tmp_path_factory, cuts, data):
    """Whatever the harvests that fell into a session's life, the last one knows what one alone would."""
    whole = data.read_bytes()
    path = tmp_path_factory.mktemp("pieces") / data.name
    source = SOURCES["claude"]
    path.write_bytes(whole)
    [at_once] = read_file(source, path)
    claims, resume = MemoryClaims(), None
    for cut in sorted({*(len(whole) * cut // 10_000 for cut in cuts), len(whole)}):
        path.write_bytes(whole[:cut])
        [reading] = read_file(source, path, claims=claims, resume=resume)
        resume = Resume(offset=reading.offset, state=reading.state, session=reading.session)
    assert reading.session == at_once.session
    assert reading.offset == at_once.offset


def test_two_different_sessions_of_one_id_are_told_about(projects, transcript, run):
    one = transcript()
    other = transcript(session=one.id)
    other.path = projects.parent / "-home-user-other" / one.path.name
    for prompts, t in ((("alpha one", "alpha two"), one), (("beta one",), other)):
        for prompt in prompts:
            t.user(prompt)
            t.agent("done")
        t.write()
    read, _, stats = run()
    assert {prompt for found in read for prompt in found.session.prompts} >= {"alpha one", "alpha two"}
    [warning] = stats.warnings
    assert "which holds more and is kept" in warning
    assert str(other.path) in warning
