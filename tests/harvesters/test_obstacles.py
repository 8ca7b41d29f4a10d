"""Whatever lies on the disk, and whatever happens to it meanwhile, costs itself and nothing else."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from skillopt_harvesters import SOURCES, Resume, harvest, read_file
from skillopt_harvesters.sources.claude import ClaudeSource
from skillopt_harvesters.walk import walk_files
from tests.support.indexes import Index

RECORDED = Path(__file__).parents[1] / "data" / "transcripts"
PLACES = {
    "claude": ".claude/projects/-p",
    "codex": ".codex/sessions/2026/11/18",
    "copilot": ".copilot/session-state/5e2f0a52-7d7c-4d0c-93f8-6a3f6c4c2d11",
    "pi": ".pi/agent/sessions/--p--",
}


@pytest.fixture
def session(transcript):
    t = transcript()
    t.user("do it")
    t.agent("done")
    t.write()
    return t


class Meddler(ClaudeSource):
    """Claude's source, with something that happens at a certain moment."""

    def __init__(self, *, on_stat=lambda path: None, on_recognise=lambda: None, on_read=lambda file: None):
        self.on_stat, self.on_recognise, self.on_read = on_stat, on_recognise, on_read

    def stat(self, path):
        self.on_stat(path)
        return super().stat(path)

    def recognise(self, head):
        self.on_recognise()
        return super().recognise(head)

    def read(self, file, path, *, claims, resume=None):
        self.on_read(path)
        return super().read(file, path, claims=claims, resume=resume)


def run(home: Path, source=SOURCES["claude"], cursors=None):
    work = harvest([source], cursors or {}, env={}, home=home)
    read, seen = [], dict(cursors or {})
    for one in work:
        if one.session:
            read.append(one.session)
        if one.cursor:
            seen[one.cursor.path] = one.cursor
    return read, seen, work.stats


def test_what_only_looks_like_a_file_is_passed_over(private_home, projects, session):
    os.mkfifo(projects / "pipe.jsonl")
    (projects / "zero.jsonl").symlink_to("/dev/zero")
    (projects / "tty.jsonl").symlink_to("/dev/tty")
    (projects / "a.jsonl").symlink_to(projects / "b.jsonl")
    (projects / "b.jsonl").symlink_to(projects / "a.jsonl")
    (projects / "up").symlink_to(projects.parent)
    folder = Path(tempfile.mkdtemp(dir=os.environ["TMPDIR"]))
    with socket.socket(socket.AF_UNIX) as listening:
        os.chdir(folder)
        listening.bind("s.jsonl")
        shutil.move(folder / "s.jsonl", projects / "socket.jsonl")
        read, _, stats = run(private_home)
    assert [one.prompts for one in read] == [("do it",)]
    assert stats.files_seen == 1


@pytest.mark.parametrize("kind", ["pipe", "folder", "link to a device", "nothing"])
def test_a_file_whose_place_something_else_took_does_not_stop_the_harvest(
    private_home, transcript, session, kind
):
    other = transcript()
    other.user("do that")
    other.write()
    seen: list[Path] = []

    def swap(path: Path) -> None:
        # After it was found, before it is opened.
        if path == session.path and not seen:
            seen.append(path)
            return
        if path == other.path and session.path.is_file():
            session.path.unlink()
            if kind == "pipe":
                os.mkfifo(session.path)
            elif kind == "folder":
                session.path.mkdir()
            elif kind == "link to a device":
                session.path.symlink_to("/dev/zero")

    os.utime(session.path, (2**32, 2**32))
    read, cursors, stats = run(private_home, Meddler(on_stat=swap))
    assert [one.prompts for one in read] == [("do that",)]
    assert list(cursors) == [str(other.path)]
    assert stats.skipped == (kind != "nothing")
    assert len(stats.warnings) == stats.skipped


def test_a_file_deleted_while_it_is_read_is_read_to_its_end(private_home, session):
    read, cursors, _ = run(private_home, Meddler(on_read=lambda path: path.unlink()))
    assert [one.prompts for one in read] == [("do it",)]
    again, _, stats = run(private_home, cursors=cursors)
    assert (again, stats.gone) == ([], [str(session.path)])


@pytest.mark.parametrize("happens", ["grows", "shrinks", "is replaced", "is emptied"])
def test_a_file_that_changes_while_it_is_read_is_read_again_as_it_is(private_home, session, happens):
    session.user("and that")
    session.agent("done")
    whole = "".join(json.dumps(record) + "\n" for record in session.records)
    half = session.path.read_text()

    def change(path: Path) -> None:
        if happens == "grows":
            path.write_text(whole)
        elif happens == "shrinks":
            path.write_text("".join(half.splitlines(keepends=True)[:1]))
        elif happens == "is emptied":
            path.write_text("")
        else:
            new = path.with_suffix(".new")
            new.write_text(whole)
            new.replace(path)

    _, cursors, stats = run(private_home, Meddler(on_read=change))
    assert stats.warnings == []
    session.path.write_text(whole)
    os.utime(session.path, (5, 5))
    read, cursors, _ = run(private_home, cursors=cursors)
    assert [one.prompts for one in read] == [("do it", "and that")]
    assert run(private_home, cursors=cursors)[0] == []


def test_a_file_that_grows_between_looking_and_reading_is_followed(private_home, session):
    """What was written after the file was looked at is read now, or next time: once."""
    session.user("and that")
    text = session.path.read_text()
    source = Meddler(on_recognise=session.write)
    read, cursors, stats = run(private_home, source)
    assert read[0].prompts == ("do it", "and that")
    [cursor] = cursors.values()
    assert cursor.size == len(text.encode())
    assert cursor.offset == session.path.stat().st_size
    again, cursors, stats = run(private_home, cursors=cursors)
    assert (again, stats.bytes_read) == ([], 0) or again[0].prompts == ("do it", "and that")
    assert run(private_home, cursors=cursors)[2].files_read == 0


def test_very_long_and_very_deep_paths_cost_what_is_below_them(private_home, projects, session, monkeypatch):
    monkeypatch.chdir(projects)
    for _ in range(25):
        Path("d" * 200).mkdir()
        os.chdir("d" * 200)
    shutil.copy(session.path, "deep.jsonl")
    read, _, stats = run(private_home)
    assert [one.prompts for one in read] == [("do it",)]
    assert all(warning.endswith("File name too long") for warning in stats.warnings)
    assert len(stats.warnings) >= 1
    os.chdir(projects)


def test_names_that_are_no_text_are_told_and_passed_over(private_home, projects, session):
    folder = projects / os.fsdecode(b"folder\xfe")
    folder.mkdir()
    shutil.copy(session.path, folder / "in.jsonl")
    shutil.copy(session.path, projects / os.fsdecode(b"bad\xff.jsonl"))
    read, _, stats = run(private_home)
    assert [one.prompts for one in read] == [("do it",)]
    assert stats.skipped == 2
    assert stats.warnings == [
        f"cannot read {projects}/bad\ufffd.jsonl: its name is not valid text",
        f"cannot read {projects}/folder\ufffd/in.jsonl: its name is not valid text",
    ]


def test_a_sparse_file_of_gigabytes_of_nothing_is_refused_by_its_beginning(private_home, projects, session):
    sparse = projects / "sparse.jsonl"
    with sparse.open("wb") as file:
        file.truncate(3 << 30)
    read, cursors, stats = run(private_home)
    assert [one.prompts for one in read] == [("do it",)]
    assert stats.bytes_read == session.path.stat().st_size
    assert cursors[str(sparse)].offset == 0


def test_a_hole_in_the_middle_of_a_transcript_costs_nothing_else(projects, session):
    """A crash of the machine leaves a run of zeros where data was to be."""
    text = session.path.read_bytes()
    first, second = text.splitlines(keepends=True)
    with session.path.open("wb") as file:
        file.write(first)
        file.seek(40 << 20, os.SEEK_CUR)
        file.write(b"\n" + second)
    [reading] = read_file(SOURCES["claude"], session.path)
    assert (reading.session.prompts, reading.session.turns[0].answer) == (("do it",), "done")
    assert reading.session.warnings == ("1 line too long to be a record was skipped",)


@pytest.mark.parametrize("megabytes", [15, 17, 60])
def test_a_line_of_many_megabytes_costs_itself_at_most(projects, transcript, megabytes):
    t = transcript()
    t.user("do it")
    t.user("x" * (megabytes << 20))
    t.agent("done")
    t.write()
    [reading] = read_file(SOURCES["claude"], t.path)
    assert reading.offset == t.path.stat().st_size
    assert reading.session.turns[-1].answer == "done"
    assert reading.session.skipped == (megabytes > 16)
    assert len(reading.session.prompts) == (1 if megabytes > 16 else 2)


def test_a_long_line_that_is_not_there_whole_yet_waits(projects, session):
    text = session.path.read_bytes()
    long = b'{"type":"user","x":"' + b"x" * (20 << 20)
    session.path.write_bytes(text + long)
    [reading] = read_file(SOURCES["claude"], session.path)
    assert (reading.offset, reading.session.skipped) == (len(text), 1)
    session.path.write_bytes(text + long + b'"}\n')
    resume = Resume(offset=reading.offset, state=reading.state, session=reading.session)
    [reading] = read_file(SOURCES["claude"], session.path, resume=resume)
    assert (reading.offset, reading.session.skipped) == (session.path.stat().st_size, 1)


@pytest.mark.parametrize("client", ["claude", "codex", "copilot", "pi"])
def test_a_long_last_line_without_an_end_is_told_once_and_counts_once_when_it_ends(
    tmp_path, private_home, client
):
    recorded = max((RECORDED / client).rglob("*.jsonl"), key=lambda path: path.stat().st_size)
    path = private_home / PLACES[client] / recorded.name
    path.parent.mkdir(parents=True)
    shutil.copy(recorded, path)
    index = Index(tmp_path / "state.db", private_home)
    index.harvest()
    [before] = index.sessions.values()
    told = []
    for more in (b'{"type":"x","x":"' + b"x" * (17 << 20), b"x", b'"}\n', b"x"):
        with path.open("ab") as file:
            file.write(more)
        report = index.harvest()
        told.append((report.skipped, len(report.warnings)))
        [session] = index.sessions.values()
        assert (session.skipped, session.turns) == (before.skipped + 1, before.turns)
        assert "1 line too long to be a record was skipped" in session.warnings
    assert told == [(1, 1), (0, 0), (0, 0), (0, 0)]


def test_a_folder_of_very_many_files_is_walked_in_order(tmp_path):
    for number in range(3000):
        (tmp_path / f"{number:05}.jsonl").touch()
    found = [path.name for path in walk_files(tmp_path, (".jsonl",))]
    assert found == [f"{number:05}.jsonl" for number in range(3000)]


def test_files_that_may_not_be_opened_are_told_each_time(private_home, projects, session):
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    session.path.chmod(0)
    for _ in range(2):
        read, cursors, stats = run(private_home)
        assert (read, cursors, stats.skipped) == ([], {}, 1)
        assert stats.warnings == [f"cannot read {session.path}: Permission denied"]


def test_running_out_of_open_files_costs_a_warning(private_home, session):
    """As when something else in the process leaks them."""
    program = (
        "import os, resource, sys, pathlib\n"
        "from skillopt_harvesters import SOURCES, harvest\n"
        "held = []\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
        "run = harvest(SOURCES.values(), {}, env={}, home=pathlib.Path(sys.argv[1]))\n"
        "try:\n"
        "    while True: held.append(os.open('/dev/null', os.O_RDONLY))\n"
        "except OSError: pass\n"
        "os.close(held.pop())\n"
        "assert [one.session for one in run if one.session] , run.stats\n"
        "held.append(os.open('/dev/null', os.O_RDONLY))\n"
        "run = harvest(SOURCES.values(), {}, env={}, home=pathlib.Path(sys.argv[1]))\n"
        "assert not list(run)\n"
        "print(run.stats.warnings)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(private_home)], capture_output=True, text=True, check=False
    )
    assert "Too many open files" in done.stdout, done.stderr


def test_what_is_no_regular_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    for path in (tmp_path / "pipe.jsonl", Path("/dev/zero")):
        with pytest.raises(OSError, match="no regular file"):
            read_file(SOURCES["claude"], path)
