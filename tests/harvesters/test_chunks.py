"""Records that are taken many at a time give the session they give one by one."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from skillopt_harvesters import SOURCES, Session, read_file
from skillopt_harvesters.sources.codex.session import CodexReader
from skillopt_harvesters.sources.copilot.session import CopilotReader

DATA = Path(__file__).parents[1] / "data" / "transcripts"
READERS = {"codex": CodexReader, "copilot": CopilotReader}
FILES = [
    pytest.param(client, path, id=f"{client}-{path.parent.name[-12:]}-{path.stem[-12:]}")
    for client in READERS
    for path in sorted((DATA / client).rglob("*.jsonl"))
]


def sessions_of(client: str, path: Path) -> list[Session | None]:
    return [reading.session for reading in read_file(SOURCES[client], path)]


def assert_both_ways_agree(client: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    together = sessions_of(client, path)
    with monkeypatch.context() as patched:
        patched.setattr(READERS[client], "take_chunk", lambda _reader, _chunk: False)
        assert together == sessions_of(client, path)


@pytest.mark.parametrize(("client", "path"), FILES)
def test_a_recorded_file_reads_the_same_both_ways(client, path, monkeypatch):
    assert_both_ways_agree(client, path, monkeypatch)


def strange(record: dict, rng: random.Random) -> dict:
    """Return a record of which one value has another type, or that lacks a key."""
    place = record
    while (inner := [value for value in place.values() if isinstance(value, dict)]) and rng.random() < 0.7:
        place = rng.choice(inner)
    if place:
        key = rng.choice(sorted(place))
        if rng.random() < 0.3:
            del place[key]
        else:
            place[key] = rng.choice([None, 7, -1, True, "x", [], {}, ["y"], {"type": "z"}, 1e400])
    return record


@pytest.mark.parametrize("client", READERS)
@pytest.mark.parametrize("seed", range(40))
def test_a_file_with_strange_records_reads_the_same_both_ways(client, seed, tmp_path, monkeypatch):
    rng = random.Random(seed)
    source = rng.choice(sorted((DATA / client).rglob("*.jsonl")))
    records = [json.loads(line) for line in source.read_bytes().splitlines() if line.strip()]
    for place in rng.sample(range(1, len(records)), min(2, len(records) - 1)):
        records[place] = strange(records[place], rng)
    if rng.random() < 0.5 and len(records) > 3:
        at = rng.randrange(1, len(records) - 1)
        records[at], records[at + 1] = records[at + 1], records[at]
    path = tmp_path / source.relative_to(DATA / client)
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in records))
    assert_both_ways_agree(client, path, monkeypatch)
