"""What a harvest tells while it works is true: totals first, then how much of them is done."""

from __future__ import annotations

import gc
import io
import os
from contextlib import closing
from pathlib import Path

import pytest

from skillopt_harvesters.harvest import Harvest
from skillopt_replay.rollouts import Fault
from skillopt_replay.throttle import Throttle
from skillopt_sleep.cli import progress
from skillopt_sleep.events import Event
from skillopt_sleep.night import harvesting
from skillopt_sleep.paths import locate
from skillopt_sleep.store.batches import Batch
from skillopt_sleep.store.claims import StoreClaims
from skillopt_sleep.store.database import connect
from tests.support.transcripts import write_session


@pytest.fixture
def told(private_home: Path, monkeypatch: pytest.MonkeyPatch):
    """Give what harvests and returns all that was told."""
    monkeypatch.setattr(harvesting, "_TELL_S", 0.0)

    def harvest() -> list[Event]:
        events: list[Event] = []
        with closing(connect(locate().database)) as connection:
            harvesting.update_index(connection, os.environ, listen=events.append)
        return events

    return harvest


def test_the_totals_are_known_before_the_first_file_is_read_and_are_met_at_the_end(told, private_home: Path):
    folder = private_home / ".claude" / "projects" / "-p"
    files = [write_session(folder, name, [("Ask", "x" * 500_000)] * 10, cwd="/p") for name in "abc"]
    size = sum(path.stat().st_size for path in files)
    looking, first, *events = told()
    assert looking == Event(stage="harvest", detail="looking for transcripts")
    assert first == Event(stage="harvest", done=0, total=3, bytes_total=size, detail="0 sessions")
    assert {(event.total, event.bytes_total) for event in events} == {(3, size)}
    assert [event.bytes_done for event in events] == sorted(event.bytes_done for event in events)
    inside = {event.bytes_done for event in events if event.done == 0}
    assert len(inside) > 2  # also within a file
    assert (events[-1].done, events[-1].bytes_done, events[-1].detail) == (3, size, "3 sessions")


def test_of_a_file_that_grew_only_what_is_new_counts(told, private_home: Path):
    path = write_session(private_home / ".claude/projects/-p", "a", [("Ask", "x" * 200_000)] * 5, cwd="/p")
    told()
    line = path.read_bytes().splitlines(keepends=True)[-1]
    with path.open("ab") as file:
        file.write(line)
    events = told()[1:]
    assert {(event.total, event.bytes_total) for event in events} == {(1, len(line))}
    assert (events[-1].done, events[-1].bytes_done) == (1, len(line))
    (looking, last) = told()
    assert (looking.total, last.done, last.total, last.bytes_total) == (0, 0, 0, 0)
    assert last.detail == "nothing new"


def test_a_harvest_that_is_over_leaves_nothing_in_memory(told, private_home: Path):
    write_session(private_home / ".claude/projects/-p", "a", [("Ask", "done")], cwd="/p")
    gc.collect()
    gc.disable()
    try:
        told()
        told()
        left = [
            type(thing).__name__
            for thing in gc.get_objects()
            if isinstance(thing, (Harvest, Batch, StoreClaims))
        ]
    finally:
        gc.enable()
    assert left == []


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (Event(stage="s", done=3), "3/?"),
        (Event(stage="s", done=3, total=10), "3/10"),
        (Event(stage="s", done=1, total=2, bytes_done=500, bytes_total=999), "1/2, 500.0 of 999.0 B"),
        (
            Event(stage="s", done=1, total=2, bytes_done=15 * 10**8, bytes_total=4 * 10**10),
            "1/2, 1.5 of 40.0 GB",
        ),
    ],
)
def test_how_far_it_is_reads_as_people_say_it(event: Event, text: str):
    assert progress.measure(event) == text


def test_without_a_terminal_a_stage_has_a_line_at_its_beginning_and_one_at_its_end(monkeypatch):
    written = io.StringIO()
    monkeypatch.setattr("sys.stderr", written)
    with progress.follow() as listen:
        listen(Event(stage="harvest", detail="looking"))
        for done in range(4):
            listen(Event(stage="harvest", done=done, total=3, bytes_done=done, bytes_total=3))
    assert written.getvalue() == "harvest looking\nharvest 3/3, 3.0 of 3.0 B\n"
    with progress.follow():
        Throttle(2).note(Fault.NETWORK)
    assert "a run failed (network); the next one starts in " in written.getvalue()
    with progress.follow(quiet=True) as listen:
        listen(Event(stage="mine"))
    assert "mine" not in written.getvalue()
