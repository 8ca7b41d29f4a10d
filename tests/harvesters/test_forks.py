"""What a fork copied belongs to the session it was made from, in whatever order the files lie there."""

from __future__ import annotations

import itertools
import json
import os
import uuid

import pytest

from skillopt_harvesters import SOURCES, MemoryClaims, harvest
from tests.harvesters.rollouts import Rollout
from tests.harvesters.test_codex_forks import HOUR, START, copy, go_on, make_parent
from tests.support.pi_session import PiSession


@pytest.fixture
def read(private_home):
    """Harvest files that were written to last in the given order; returns the prompts by session."""

    def read_in_order(*paths):
        for number, path in enumerate(paths):
            os.utime(path, (number, number))
        work = harvest(SOURCES.values(), {}, env={}, home=private_home, claims=MemoryClaims())
        sessions = {one.session.id: one.session for one in work if one.session}
        assert work.stats.files_done == work.stats.files_found == len(paths)
        return {name: session.prompts for name, session in sessions.items() if session.prompts}

    return read_in_order


def queue(transcript, time):
    return {"type": "queue-operation", "operation": "enqueue", "timestamp": time, "sessionId": transcript.id}


def named_after_original(original, fork):
    return [dict(record) for record in original.records]


def marked(original, fork):
    return [
        {**record, "sessionId": fork.id, "forkedFrom": {"sessionId": original.id, "messageUuid": "x"}}
        for record in original.records
    ]


def queued(original, fork):
    return [
        queue(fork, "2026-11-20T10:00:00.000Z"),
        *({**record, "sessionId": fork.id} for record in original.records if record.get("uuid")),
    ]


@pytest.mark.parametrize("make", [named_after_original, marked, queued])
@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_forks_and_forks_of_forks_own_what_is_new_in_them(transcript, read, make, order):
    original = transcript()
    original.records.append(queue(original, "2026-11-01T10:00:00.000Z"))
    original.user("one")
    original.agent("did one")
    fork = transcript()
    fork.records = make(original, fork)
    fork.day = 21
    fork.user("two")
    fork.agent("did two")
    second = transcript()
    second.records = make(fork, second)
    if make is queued:
        second.records[0]["timestamp"] = "2026-11-22T10:00:00.000Z"
    second.day = 23
    second.user("three")
    original.day = 25
    original.user("four")
    paths = [made.write() for made in (original, fork, second)]
    prompts = read(*(paths[number] for number in order))
    assert prompts == {original.id: ("one", "four"), fork.id: ("two",), second.id: ("three",)}


def test_a_copy_is_known_by_its_mark_behind_a_very_long_prompt(transcript, read):
    original = transcript()
    original.user("one " + "and so on " * 3_000)
    original.agent("did one")
    fork = transcript()
    fork.records = marked(original, fork)
    fork.user("two")
    prompts = read(fork.write(), original.write())
    assert [len(prompts[made.id]) for made in (original, fork)] == [1, 1]
    assert prompts[fork.id] == ("two",)


@pytest.mark.parametrize("order", [1, -1])
def test_a_fork_whose_original_is_gone_keeps_what_it_copied(transcript, read, order):
    original = transcript()
    original.user("one")
    forks = []
    for day, prompt in ((8, "two"), (9, "three")):
        fork = transcript()
        fork.records = named_after_original(original, fork)
        fork.day = day
        fork.user(prompt)
        forks.append(fork)
    prompts = read(*[fork.write() for fork in forks[::order]])
    assert prompts == {forks[0].id: ("one", "two"), forks[1].id: ("three",)}


@pytest.mark.parametrize("order", [1, -1])
def test_a_codex_fork_that_does_not_say_so_is_known_by_its_turns(private_home, read, order):
    folder = private_home / ".codex" / "sessions" / "2026" / "11" / "18"
    parent = make_parent(folder)
    child = Rollout(folder, ms=START + HOUR)
    copy(parent, child, metas=False)
    go_on(child)
    prompts = read(*[made.write() for made in (parent, child)[::order]])
    assert prompts == {parent.id: ("one", "two", "one"), child.id: ("no, the other way",)}


@pytest.mark.parametrize("order", [1, -1])
def test_a_fork_of_pi_began_when_its_header_says(private_home, read, order):
    folder = private_home / ".pi" / "agent" / "sessions" / "--home-user-project--"
    original = PiSession()
    original.user("one")
    original.agent("did one")
    fork = PiSession(timestamp="2026-11-01T11:00:00.000Z", parentSession="/x/y.jsonl")
    fork.entries += original.entries[1:]
    fork.leaf = original.leaf
    fork.user("two")
    original.user("three")
    paths = [made.write(folder, f"2026-11-01T10-00-00-000Z_{made.id}.jsonl") for made in (original, fork)]
    assert read(*paths[::order]) == {original.id: ("one", "three"), fork.id: ("two",)}


def test_a_file_that_was_given_another_name_is_read_as_it_is(transcript, read):
    t = transcript()
    t.user("one")
    path = t.path.with_name(f"{uuid.uuid4()}.jsonl")
    path.write_text("".join(json.dumps(record) + "\n" for record in t.records))
    assert read(path) == {path.stem: ("one",)}
