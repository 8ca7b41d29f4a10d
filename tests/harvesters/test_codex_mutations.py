"""Recorded rollouts, broken in every way a disk, a crash or another program can break them."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_harvesters import read_file
from tests.harvesters.rollouts import CODEX, ROLLOUTS, read_in_pieces, read_session

PROMPTS = [path for path in ROLLOUTS if read_session(path).prompts]
VALUES = [None, True, 0, -1, 10**30, 1e300, "", "x", [], {}, ["x"], {"type": "x"}, "\ud83d", "\x00", [[[]]]]


def replace_values(value, rng: random.Random, rate: float):
    """Return a JSON value with some of its parts replaced by anything."""
    if rng.random() < rate:
        return rng.choice(VALUES)
    if isinstance(value, dict):
        return {key: replace_values(item, rng, rate) for key, item in value.items()}
    if isinstance(value, list):
        return [replace_values(item, rng, rate) for item in value]
    return value


def flip(line: bytes, rng: random.Random) -> bytes:
    data = bytearray(line)
    for _ in range(rng.randint(1, 4)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data).replace(b"\n", b" ")


MUTATIONS = {
    "flipped": flip,
    "torn": lambda line, rng: line[: rng.randrange(len(line))],
    "dropped": lambda line, rng: None,
    "doubled": lambda line, rng: line + b"\n" + line,
    "zeroed": lambda line, rng: b"\x00" * len(line),
    "padded": lambda line, rng: line + b"\x00" * 9 + b"\r",
    "replaced": lambda line, rng: json.dumps(replace_values(json.loads(line), rng, 0.05)).encode(),
    "sorted": lambda line, rng: json.dumps(json.loads(line), sort_keys=True).encode(),
    "spaced": lambda line, rng: json.dumps(json.loads(line), indent=None, separators=(" , ", " : ")).encode(),
    "shape": lambda line, rng: json.dumps([rng.choice(VALUES)]).encode(),
    "latin": lambda line, rng: line[:-2] + b',"x":"\xe9\xff"}}' if line.endswith(b"}}") else line,
}


def mutate(lines: list[bytes], seed: int, rate: float, kinds: list[str]) -> bytes:
    rng = random.Random(seed)
    out: list[bytes] = []
    for line in lines:
        if rng.random() < rate:
            changed = MUTATIONS[rng.choice(kinds)](line, rng)
            if changed is not None:
                out.append(changed)
        else:
            out.append(line)
    glued = [line + (b"" if rng.random() < rate / 4 else b"\n") for line in out]
    return b"".join(glued)


@given(
    path=st.sampled_from(ROLLOUTS),
    seed=st.integers(0, 2**32),
    rate=st.sampled_from([0.02, 0.2, 0.7]),
    kinds=st.lists(st.sampled_from(sorted(MUTATIONS)), min_size=1, max_size=4),
    cut=st.integers(0, 10_000),
)
@settings(max_examples=150)
def test_nothing_crashes_the_reader_and_pieces_make_the_whole(tmp_path_factory, path, seed, rate, kinds, cut):
    broken = mutate(path.read_bytes().splitlines(), seed, rate, kinds)
    there = tmp_path_factory.mktemp("broken") / path.name
    there.write_bytes(broken)
    CODEX.recognise(broken[: 64 * 1024])
    [at_once] = read_file(CODEX, there)
    assert len(at_once.session.turns) <= len(broken)
    last = read_in_pieces(there, broken, [len(broken) * cut // 10_000])
    assert last.session == at_once.session


@pytest.mark.parametrize("path", ROLLOUTS[::4], ids=lambda path: path.name[8:27])
def test_a_blank_line_and_two_records_on_one_line_cost_no_record(path, tmp_path):
    lines = path.read_bytes().splitlines(keepends=True)
    plain = read_session(path)
    for place in range(1, len(lines) - 1, max(len(lines) // 8, 1)):
        there = tmp_path / path.name
        glued = lines[place].rstrip(b"\n") + lines[place + 1]
        there.write_bytes(b"\n" + b"".join([*lines[:place], glued, *lines[place + 2 :]]))
        session = read_session(there)
        assert (session.turns, session.tokens, session.skipped) == (plain.turns, plain.tokens, plain.skipped)


# What is put between two records of a file, and takes none of them away.
INTRUDERS = [
    b"",
    b"\x00" * 40,
    b'{"timestamp":"2026-11-29T13:16:39.217Z","type":"event_msg","payl',
    b'{"timestamp":"2026-11-29T13:16:39.217Z","type":"event_msg","payload":null}',
    b'{"timestamp":"2026-11-29T13:16:39.217Z","type":"brand_new","payload":{"type":"user_message","message":"x"}}',
    b'{"type":"item.completed","item":{"type":"agent_message","text":"x"}}',
    b'"\xff\xfe"',
    b"[1,2,3]",
    b"{" * 5000,
    b'{"timestamp":"\\ud83d","type":"event_msg","payload":{"type":"agent_message","message":7}}',
]


@given(
    path=st.sampled_from(ROLLOUTS),
    places=st.lists(st.tuples(st.integers(0, 10_000), st.sampled_from(INTRUDERS)), min_size=1, max_size=8),
)
def test_what_intrudes_between_records_costs_no_record(tmp_path_factory, path, places):
    lines = path.read_bytes().splitlines()
    plain = read_session(path)
    for place, intruder in sorted(places, key=lambda one: -one[0]):
        lines.insert(len(lines) * place // 10_000, intruder)
    there = tmp_path_factory.mktemp("intruded") / path.name
    there.write_bytes(b"\n".join(lines) + b"\n")
    session = read_session(there)
    assert session.prompts == plain.prompts
    assert [turn.tool_calls for turn in session.turns] == [turn.tool_calls for turn in plain.turns]
    assert [turn.answer for turn in session.turns] == [turn.answer for turn in plain.turns]
    assert (session.tokens, session.kind) == (plain.tokens, plain.kind)
    counted = [intruder for _, intruder in places if intruder]
    assert len(counted) - 2 * len(places) <= session.skipped <= len(counted)


@given(path=st.sampled_from(PROMPTS), seed=st.integers(0, 2**32))
def test_a_prompt_survives_the_loss_of_everything_around_it(tmp_path_factory, path, seed):
    """Lines are lost at random, but none that tells a prompt or whose the session is."""
    rng = random.Random(seed)
    kept: list[bytes] = []
    for line in path.read_bytes().splitlines():
        record = json.loads(line)
        payload = record.get("payload", record)
        tells = payload.get("type") in {"user_message", "message", "entered_review_mode"}
        tells = tells or payload.get("item", {}).get("type") in {"UserMessage", "EnteredReviewMode"}
        if rng.random() < 0.3 and not tells and record.get("type") != "session_meta" and "id" not in record:
            continue
        kept.append(line)
    there = tmp_path_factory.mktemp("lost") / path.name
    there.write_bytes(b"\n".join(kept) + b"\n")
    session = read_session(there)
    whole = read_session(path)
    assert [prompt for prompt in whole.prompts if prompt not in session.prompts] == []


@pytest.mark.parametrize("lost", ["user_message", "UserMessage", "given"])
@pytest.mark.parametrize("path", PROMPTS, ids=lambda path: path.parts[-7] + path.stem[-12:])
def test_a_prompt_is_not_lost_with_one_of_the_streams_that_tell_it(tmp_path, path, lost):
    kept = []
    streams = set()
    for line in path.read_bytes().splitlines():
        payload = json.loads(line).get("payload", json.loads(line))
        kind = payload.get("type")
        stream = "given" if kind == "message" and payload.get("role") == "user" else kind
        stream = payload["item"]["type"] if kind == "item_completed" else stream
        streams.add(stream)
        if stream != lost:
            kept.append(line)
    if not ({"user_message", "UserMessage", "given"} - {lost}) & streams:
        pytest.skip("told in one stream only")
    there = tmp_path / path.name
    there.write_bytes(b"\n".join(kept) + b"\n")
    plain = read_session(path)
    prompts = [turn.prompt for turn in plain.turns if turn.command is None]
    assert [turn.prompt for turn in read_session(there).turns if turn.command is None] == prompts
