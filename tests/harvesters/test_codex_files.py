"""Where rollouts lie and in what state: archived, compressed, damaged, growing, or not rollouts at all."""

from __future__ import annotations

import base64
import io
import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from skillopt_harvesters import MemoryClaims, harvest, read_file
from skillopt_harvesters.sources.codex.compressed import Unpacked
from tests.harvesters.rollouts import CODEX, FOLDER, ROLLOUTS, Rollout, read_session

LINE = b'{"timestamp":"2026-11-18T10:00:00.000Z","type":"session_meta","payload":{"id":"x"}}\n'


@pytest.fixture
def home(private_home: Path) -> Path:
    folder = private_home / ".codex"
    (folder / "sessions/2026/11/18").mkdir(parents=True)
    (folder / "archived_sessions").mkdir()
    return folder


@pytest.fixture
def rollout(home):
    r = Rollout(home / "sessions/2026/11/18")
    r.begin()
    r.prompt("write the parser")
    r.call("pytest -q", "1 passed")
    r.spend(100, 10)
    r.answer("written")
    return r


@pytest.fixture
def run(private_home):
    """Harvest the private home; what was known stays known."""
    known, cursors, claims = {}, {}, MemoryClaims()

    def once():
        work = harvest(
            [CODEX],
            cursors,
            env={},
            home=private_home,
            claims=claims,
            recall=lambda client, name: known.get((client, name)),
        )
        read = []
        for one in work:
            if one.session:
                read.append(one.session)
                known[one.session.client, one.session.id] = one.session
            if one.cursor:
                cursors[one.cursor.path] = one.cursor
        return read, list(known.values()), work.stats

    return once


def measure_peak(path: Path, skipped: int = 0) -> int:
    """Return how many MB a process needs that reads a file.

    It forks first: on Linux what is measured of a process includes the one that started it.
    """
    code = (
        "import os, pathlib, resource, sys\n"
        "if os.fork():\n"
        "    sys.exit(os.wait()[1] > 0)\n"
        "from skillopt_harvesters import SOURCES, read_file\n"
        "[reading] = read_file(SOURCES['codex'], pathlib.Path(sys.argv[1]))\n"
        "assert reading.offset == os.stat(sys.argv[1]).st_size\n"
        "print(reading.session.skipped, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    told = done.stdout.split()
    assert int(told[0]) == skipped
    return int(told[1])


def pack(data: bytes, level: int = 3, **options) -> bytes:
    return zstandard.ZstdCompressor(level=level, **options).compress(data)


def test_the_clients_home_may_be_moved_and_may_be_several(private_home, tmp_path):
    default = private_home / ".codex"
    assert CODEX.roots({}, private_home) == (default / "sessions", default / "archived_sessions")
    assert CODEX.roots({"CODEX_HOME": " "}, private_home)[0] == default / "sessions"
    moved = CODEX.roots({"CODEX_HOME": f"{tmp_path}/a, {tmp_path}/b,{tmp_path}/a"}, private_home)
    assert moved == tuple(
        tmp_path / home / name for home in "ab" for name in ("sessions", "archived_sessions")
    )
    assert list(CODEX.discover(tmp_path / "missing")) == []


def test_only_rollouts_are_candidates_and_a_compressed_copy_of_one_is_none(home):
    folder = home / "sessions"
    for name in (
        "rollout-a.jsonl",
        "2026/11/18/rollout-b.jsonl.zst",
        "rollout-c.jsonl",
        "rollout-c.jsonl.zst",
        "history.jsonl",
        "rollout-d.json",
        "rollout-e.jsonl.zst.tmp",
    ):
        (folder / name).touch()
    names = [path.name for path in CODEX.discover(folder)]
    assert names == ["rollout-a.jsonl", "rollout-c.jsonl", "rollout-b.jsonl.zst"]


def test_a_long_last_line_without_an_end_is_told_of_a_compressed_file_as_well(rollout, home, run):
    rollout.write()
    text = rollout.path.read_bytes()
    packed = rollout.path.with_name(rollout.path.name + ".zst")
    packed.write_bytes(pack(text + b'{"type":"x","x":"' + b"x" * (17 << 20) + b'"}'))
    rollout.path.unlink()
    _, [session], stats = run()
    assert (session.prompts, session.skipped) == (("write the parser",), 1)
    assert [warning.rpartition(": ")[2] for warning in stats.warnings] == [
        "1 line too long to be a record was skipped"
    ]


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"hello\n",
        b"{}\n[]\nnull\n",
        b'{"a":1}\n',
        b'{"type":"thread.started","thread_id":"x"}\n{"type":"turn.started"}\n',
        b'{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"x"}}\n',
        b'{"session_id":"x","ts":1795958303,"text":"a prompt"}\n',
        b'{"id":"x","thread_name":"y","updated_at":"z"}\n',
        b'{"type":"user","uuid":"1","sessionId":"s","message":{"role":"user","content":"x"}}\n',
        b'{"type":"user.message","data":{"content":"x"},"id":"1","timestamp":"t","parentId":null}\n',
        b'{"info":{"id":"ses_1"},"messages":[]}\n',
        b'{"type":"session","version":3,"id":"x","timestamp":"t","cwd":"/p"}\n',
        b'{"type":"message","id":"1","parentId":"0","timestamp":"t","message":{"role":"user"}}\n',
        b'{"type":"message","role":"user","content":"plain chat log"}\n',
        b'{"created_at":"t","message":"x","model":"gpt","role":"user"}\n',
        b'{"type":"event_msg"}\n',
        b'{"type":["event_msg"],"payload":{}}\n',
        b"\x28\xb5\x2f\xfd" + b"garbage" * 10,
        pack(b"not a rollout\n" * 100),
        b'{"timestamp":"2026',
    ],
)
def test_what_other_programs_write_is_refused(head):
    assert not CODEX.recognise(head)


@pytest.mark.parametrize(
    "head",
    [
        LINE,
        b"\xef\xbb\xbf" + LINE,
        b"\n\r\n" + LINE,
        b'{"torn":\n' + LINE,
        LINE[:75],
        pack(LINE),
        pack(LINE * 5000)[:2000],
        b'{"type":"thread.started","thread_id":"x"}\n' + LINE,
        b'{"id":"x","timestamp":"2025-08-01T10:00:00Z","instructions":null,"git":{}}\n',
        b'{"record_type":"state"}\n',
        b'{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}\n',
        b'{"type":"function_call","name":"shell","arguments":"{}","call_id":"c"}\n',
    ],
)
def test_a_rollout_is_recognised_in_any_state(head):
    assert CODEX.recognise(head)


def test_a_session_that_is_archived_or_compressed_counts_once(home, rollout, run):
    rollout.write()
    [first], _, _ = run()
    data = rollout.data
    rollout.path.unlink()
    rollout.path = home / "archived_sessions" / rollout.path.name
    rollout.write()
    [again], known, stats = run()
    assert (again.id, again.turns, again.tokens) == (first.id, first.turns, first.tokens)
    assert (len(known), stats.warnings) == (1, [])
    packed = rollout.path.with_name(rollout.path.name + ".zst")
    packed.write_bytes(pack(data))
    assert run()[0] == []
    rollout.path.unlink()
    [once_more], known, _ = run()
    assert (once_more.turns, once_more.path, len(known)) == (first.turns, str(packed), 1)
    assert run()[0] == []


@pytest.mark.parametrize("last", ["done", "and all of the tests pass"])
def test_what_was_said_before_a_file_was_compressed_counts_however_short_it_is(home, rollout, run, last):
    rollout.write()
    run()
    rollout.spend(50, 5)
    rollout.answer(last)
    packed = rollout.path.with_name(rollout.path.name + ".zst")
    packed.write_bytes(pack(rollout.data))
    rollout.path.unlink()
    [session], known, _ = run()
    assert (session.turns[-1].answer, session.tokens.input, session.tokens.output) == (last, 150, 15)
    assert known == [session]


def test_a_session_the_client_takes_up_again_is_read_on(home, rollout, run):
    packed = rollout.path.with_name(rollout.path.name + ".zst")
    packed.write_bytes(pack(rollout.data))
    assert [session.prompts for session in run()[0]] == [("write the parser",)]
    rollout.write()
    packed.unlink()
    run()
    rollout.begin()
    rollout.prompt("and the docs")
    rollout.write()
    [session], known, stats = run()
    assert session.prompts == ("write the parser", "and the docs")
    assert stats.bytes_read < len(rollout.data)
    assert known == [session]


@pytest.mark.parametrize("path", ROLLOUTS[::7], ids=lambda path: path.stem[-12:])
def test_a_compressed_rollout_is_read_as_the_plain_one(tmp_path, path):
    data = path.read_bytes()
    half = len(data) // 2
    for number, packed in enumerate((pack(data), pack(data, 19), pack(data[:half]) + pack(data[half:]))):
        there = tmp_path / str(number) / (path.name + ".zst")
        there.parent.mkdir()
        there.write_bytes(packed)
        [reading] = read_file(CODEX, there)
        plain = read_session(path)
        assert (reading.session.turns, reading.session.id) == (plain.turns, plain.id)
        assert (reading.session.tokens, reading.session.skipped) == (plain.tokens, 0)
        assert (reading.offset, reading.state) == (len(packed), b"")


def many(folder: Path, prompts: int) -> Rollout:
    r = Rollout(folder)
    for number in range(prompts):
        r.prompt(f"prompt {number}")
        r.answer(os.urandom(2000).hex())
    return r


def test_a_torn_frame_costs_the_rest_of_its_file_and_says_so(tmp_path):
    r = many(tmp_path, 200)
    packed = pack(r.data)
    path = tmp_path / (r.path.name + ".zst")
    path.write_bytes(packed[: len(packed) * 3 // 4])
    session = read_session(path)
    assert 100 < len(session.turns) < 200
    assert session.prompts == tuple(f"prompt {number}" for number in range(len(session.turns)))
    assert session.skipped == 1
    assert "too early" in session.warnings[0]
    path.write_bytes(packed[:-1])
    assert "too early" in read_session(path).warnings[0]


def test_a_damaged_frame_costs_the_rest_of_its_file_and_says_so(tmp_path):
    r = many(tmp_path, 200)
    whole = pack(r.data)
    path = tmp_path / (r.path.name + ".zst")
    for damaged in (whole + b"garbage", pack(r.data) + b"\x28\xb5\x2f\xfd\xff\xff\xff\xff"):
        path.write_bytes(damaged)
        session = read_session(path)
        assert len(session.turns) == 200
        assert "the compressed file" in session.warnings[0]


@pytest.mark.parametrize("damage", [b"XXXX", b"\x28\xb5\x2f\xfd" + b"\xff" * 20])
def test_a_compressed_file_that_is_damaged_at_its_beginning_is_told(home, rollout, run, damage):
    packed = rollout.path.with_name(rollout.path.name + ".zst")
    whole = pack(rollout.data)
    packed.write_bytes(damage + whole[len(damage) :])
    read, known, stats = run()
    assert (read, known, stats.skipped) == ([], [], 1)
    assert "damaged" in stats.warnings[0]
    assert str(packed) in stats.warnings[0]
    assert run()[2].warnings == []


def test_a_file_that_is_only_named_as_if_it_were_compressed_is_read_as_it_is(home, rollout, run):
    named = rollout.path.with_name(rollout.path.name + ".zst")
    named.write_bytes(rollout.data)
    [session], _, stats = run()
    assert (session.prompts, session.skipped, stats.warnings) == (("write the parser",), 0, [])
    rollout.prompt("and the docs")
    named.write_bytes(rollout.data)
    [session], _, _ = run()
    assert session.prompts == ("write the parser", "and the docs")


def test_another_programs_file_under_such_a_name_is_passed_over(home, rollout, run):
    other = b'{"type":"thread.started","thread_id":"x"}\n'
    for number, data in enumerate((other, pack(other), b"")):
        (rollout.path.parent / f"rollout-{number}.jsonl.zst").write_bytes(data)
    read, known, stats = run()
    assert (read, known, stats.skipped, stats.warnings) == ([], [], 0, [])


def test_a_compressed_file_whose_first_block_is_long_is_read(home, run):
    r = Rollout(home / "sessions")
    r.item("reasoning", summary=[], encrypted_content=base64.b64encode(os.urandom(150_000)).decode())
    r.lines.reverse()
    r.prompt("go")
    r.path.with_name(r.path.name + ".zst").write_bytes(pack(r.data))
    assert [session.prompts for session in run()[0]] == [("go",)]


def test_a_frame_that_wants_very_much_memory_is_refused(tmp_path):
    r = many(tmp_path, 3)
    parameters = zstandard.ZstdCompressionParameters(window_log=27)
    stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    path = tmp_path / (r.path.name + ".zst")
    path.write_bytes(stream.compress(r.data) + stream.flush())
    session = read_session(path)
    assert (session.turns, session.skipped) == ((), 1)
    assert "damaged" in session.warnings[0]


def test_a_frame_that_unpacks_to_very_much_is_read_in_little_memory(tmp_path):
    """A gigabyte of one letter packs into some 90 KB."""
    path = tmp_path / "rollout-bomb.jsonl.zst"
    compressor = zstandard.ZstdCompressor().compressobj()
    with path.open("wb") as file:
        file.write(compressor.compress(LINE))
        for _ in range(1000):
            file.write(compressor.compress(b"x" * 1_000_000))
        file.write(compressor.compress(b"\n" + LINE) + compressor.flush())
    assert path.stat().st_size < 200_000
    assert measure_peak(path, skipped=1) < 100


@given(st.binary(max_size=3000), st.lists(st.integers(0, 3000), max_size=3), st.integers(1, 4000))
def test_unpacking_gives_what_was_packed(data, cuts, size):
    edges = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    packed = b"".join(pack(data[start:end]) for start, end in itertools.pairwise(edges))
    unpacked = Unpacked(io.BytesIO(packed))
    assert io.BufferedReader(unpacked, size).read() == data
    assert unpacked.damage == ""


@given(st.binary(max_size=200), st.integers(0, 400))
def test_no_bytes_crash_the_unpacking(garbage, cut):
    unpacked = Unpacked(io.BytesIO(pack(LINE * 50)[:cut] + garbage))
    data = io.BufferedReader(unpacked, 512).read()
    assert len(data) < 1_000_000


def test_plain_files_need_no_decompressor():
    code = (
        "import sys, pathlib\n"
        "from skillopt_harvesters import SOURCES, read_file\n"
        "read_file(SOURCES['codex'], pathlib.Path(sys.argv[1]))\n"
        "assert 'zstandard' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code, str(ROLLOUTS[0])], check=True)


def test_a_file_named_otherwise_is_known_by_its_first_record(tmp_path):
    r = Rollout(tmp_path)
    r.prompt("x")
    for name in ("copy.jsonl", "rollout-today.jsonl.zst"):
        path = tmp_path / name
        path.write_bytes(pack(r.data) if name.endswith("zst") else r.data)
        assert read_session(path).id == r.id
    hostile = Rollout(tmp_path, session="../../etc/passwd\n")
    path = tmp_path / "rollout-y.jsonl"
    path.write_bytes(hostile.data)
    assert read_session(path).id == "rollout-y"


def test_a_session_renamed_by_its_first_record_goes_on_under_that_name(private_home, home, run):
    r = Rollout(home / "sessions")
    r.path = home / "sessions" / "rollout-saved.jsonl"
    r.prompt("one")
    r.write()
    run()
    r.prompt("two")
    r.write()
    [session], known, _ = run()
    assert (session.id, session.prompts, len(known)) == (r.id, ("one", "two"), 1)


def test_lines_too_long_to_be_records_are_passed_over(tmp_path):
    r = Rollout(tmp_path)
    r.prompt("before")
    r.add("compacted", {"message": "x" * 17_000_000})
    r.prompt("after")
    session = r.read()
    assert session.prompts == ("before", "after")
    assert session.skipped == 1


def test_memory_does_not_grow_with_the_file(tmp_path):
    peaks = []
    for count in (30, 480):
        r = Rollout(tmp_path)
        r.prompt("go")
        with r.write().open("ab") as file:
            for _ in range(count):
                r.lines.clear()
                r.call("cat big", "x" * 200_000)
                r.item("reasoning", summary=[], encrypted_content="A" * 20_000)
                file.write(r.data)
        peaks.append(measure_peak(r.path))
    assert peaks[1] < peaks[0] + 24


def test_recorded_homes_are_harvested_whole(private_home):
    for folder in sorted(FOLDER.glob("*/dot-codex")):
        work = harvest([CODEX], {}, env={"CODEX_HOME": str(folder)}, home=private_home)
        sessions = [one.session for one in work if one.session]
        assert (
            len(sessions) == len({session.id for session in sessions}) == len(list(folder.rglob("rollout-*")))
        )
        assert (work.stats.skipped, work.stats.warnings) == (0, [])
