"""Recorded sessions of pi, broken in every way a disk, a crash or another program can break them."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_harvesters import SOURCES, MemoryClaims, Resume, read_file
from tests.support.damage import damaged

PI = SOURCES["pi"]
RECORDED = sorted((Path(__file__).parents[1] / "data" / "transcripts" / "pi").glob("*/*/*.jsonl"))


def prompts_of(lines: list[bytes]) -> list[str]:
    """Return the plain prompts in whole lines, as the client wrote them."""
    messages = [json.loads(line).get("message", {}) for line in lines]
    texts = [message["content"][0]["text"] for message in messages if message.get("role") == "user"]
    return [text for text in texts if not text.startswith(("<skill", "/skill"))]


@given(data=st.data())
@settings(max_examples=400)
def test_a_damaged_entry_costs_that_entry(tmp_path_factory, data):
    source = data.draw(st.sampled_from(RECORDED))
    lines = source.read_bytes().splitlines()
    place = data.draw(st.integers(0, len(lines) - 1))
    path = tmp_path_factory.mktemp("damaged") / source.name
    path.write_bytes(data.draw(damaged(lines, place)))
    [reading] = read_file(PI, path)
    others = prompts_of(lines[:place] + lines[place + 1 :])
    found = [turn.prompt for turn in reading.session.turns]
    assert [prompt for prompt in found if prompt in others] == others
    assert len(found) <= len(json_turns(lines)) + 1
    assert reading.session.skipped <= 3
    repr(reading.session).encode("utf-8")


def json_turns(lines: list[bytes]) -> list[bytes]:
    return [line for line in lines if b'"role":"user"' in line or b'"role":"bashExecution"' in line]


@given(seed=st.integers(0, 2**32), amount=st.integers(1, 60))
@settings(max_examples=150)
def test_many_flipped_bytes_stop_nothing(tmp_path_factory, seed, amount):
    chance = random.Random(seed)
    text = bytearray(chance.choice(RECORDED).read_bytes())
    for _ in range(amount):
        text[chance.randrange(len(text))] = chance.randrange(256)
    path = tmp_path_factory.mktemp("flipped") / "s.jsonl"
    path.write_bytes(text)
    PI.recognise(bytes(text[:65536]))
    [reading] = read_file(PI, path)
    assert reading.offset <= len(text)


@given(cuts=st.lists(st.integers(0, 10_000), min_size=1, max_size=6), source=st.sampled_from(RECORDED))
@settings(max_examples=100)
def test_reading_in_pieces_gives_the_same_session_as_reading_at_once(tmp_path_factory, cuts, source):
    """Whatever the harvests that fell into a session's life, the last one knows what one alone would."""
    whole = source.read_bytes()
    path = tmp_path_factory.mktemp("pieces") / source.name
    path.write_bytes(whole)
    [at_once] = read_file(PI, path)
    claims, resume = MemoryClaims(), None
    for cut in sorted({*(len(whole) * cut // 10_000 for cut in cuts), len(whole)}):
        path.write_bytes(whole[:cut])
        [reading] = read_file(PI, path, claims=claims, resume=resume)
        resume = Resume(offset=reading.offset, state=reading.state, session=reading.session)
    assert reading.session == at_once.session
    assert reading.offset == at_once.offset


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
ENTRY_KEYS = st.sampled_from(["id", "parentId", "timestamp", "cwd", "usage", "message", "version"])
MESSAGE_KEYS = st.sampled_from(
    [
        "content",
        "timestamp",
        "usage",
        "stopReason",
        "toolCallId",
        "isError",
        "nestedCalls",
        "command",
        "sections",
    ]
)
ROLES = st.sampled_from(["user", "assistant", "toolResult", "bashExecution", "system", "custom", "x"])


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["session", "message", "compaction", "usage", "custom"]),
            st.dictionaries(ENTRY_KEYS, JSON, max_size=4),
            st.none() | st.tuples(ROLES, st.dictionaries(MESSAGE_KEYS, JSON, max_size=4)),
        ),
        max_size=6,
    )
)
def test_no_entry_crashes_the_reader(tmp_path, entries):
    path = tmp_path / "s.jsonl"
    lines = []
    for kind, keys, message in entries:
        entry = {"type": kind, **keys}
        if message:
            entry["message"] = {"role": message[0], **message[1]}
        lines.append(json.dumps(entry) + "\n")
    path.write_text("".join(lines))
    [reading] = read_file(PI, path)
    assert reading.session.id == "s"
    resume = Resume(offset=reading.offset, state=reading.state, session=reading.session)
    [again] = read_file(PI, path, resume=resume)
    assert again.session == reading.session


def test_a_line_of_60_mb_is_passed_over_and_told(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(RECORDED[0].read_bytes() + b'{"type":"message","x":"' + b"y" * 60_000_000 + b'"}\n')
    session = read_file(PI, path)[0].session
    assert session.skipped == 1
    assert "too long" in session.warnings[0]


def test_memory_does_not_grow_with_the_file(tmp_path):
    """Reading 96 MB of tool output takes no more than reading 6 MB of it, give or take."""
    call = (
        '{"type":"message","id":"%08x","parentId":"%08x","timestamp":"2026-11-01T10:00:00.000Z","message":'
        '{"role":"toolResult","toolCallId":"c%d","toolName":"bash","isError":false,"content":[{"type":"text",'
        '"text":"' + "x" * 200_000 + '"}]}}\n'
    )
    measure = (
        "import resource, sys, pathlib\n"
        "from skillopt_harvesters import SOURCES, read_file\n"
        "[reading] = read_file(SOURCES['pi'], pathlib.Path(sys.argv[1]))\n"
        "assert reading.offset == pathlib.Path(sys.argv[1]).stat().st_size\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    peaks = []
    for count in (30, 480):
        path = tmp_path / f"{count}.jsonl"
        with path.open("w") as file:
            for number in range(count):
                file.write(call % (number + 1, number, number))
        done = subprocess.run(
            [sys.executable, "-c", measure, str(path)], capture_output=True, text=True, check=True
        )
        peaks.append(int(done.stdout))
    assert peaks[1] < peaks[0] + 24 * 1024
