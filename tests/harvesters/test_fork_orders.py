"""Forks that are harvested before what they were forked from, and forks of those in turn."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from functools import partial

import pytest

from skillopt_sleep.store.index import READER
from tests.harvesters.conftest import Transcript
from tests.harvesters.rollouts import Rollout
from tests.support.copilot_events import Events
from tests.support.indexes import Index
from tests.support.pi_session import PiSession

DONE = {"type": "text", "text": "done"}


@pytest.fixture
def index(tmp_path, private_home):
    return Index(tmp_path / "state.db", private_home)


def fork(make, original, length, *, day):
    """Return a session that begins with an original's first records."""
    copy = make()
    came_from = {"sessionId": original.id, "messageUuid": "x"}
    copied = original.records[:length]
    copy.records = [{**record, "sessionId": copy.id, "forkedFrom": came_from} for record in copied]
    copy.day = day
    copy.parent = copied[-1]["uuid"]
    return copy


def say(transcript, *prompts):
    for prompt in prompts:
        transcript.user(prompt)
        transcript.call(command="ls")
        transcript.agent("done")


@pytest.mark.parametrize("order", [*itertools.permutations(range(4))])
def test_every_prompt_and_token_counts_once_in_whatever_order_forks_are_harvested(transcript, index, order):
    original = transcript()
    say(original, "a1", "a2", "a3")
    # In the middle of a turn, so that the two go on differently behind the same prompt.
    inside = fork(transcript, original, 5, day=2)
    say(inside, "b1")
    behind = fork(transcript, original, 8, day=3)
    say(behind, "c1")
    again = fork(transcript, behind, 12, day=4)
    say(again, "d1")
    files = [original, inside, behind, again]
    for number in order:
        os.utime(files[number].write(), (number, number))
        index.harvest()
    assert count(index) == (Counter(["a1", "a2", "a3", "b1", "c1", "d1"]), 6, 6 * (5 + 5))


def make_claude(home):
    folder = home / ".claude" / "projects" / "-home-user-project"
    original, again = Transcript(folder), Transcript(folder, day=2)
    original.user("one")
    original.user("again")
    again.records = [{**record, "sessionId": again.id} for record in original.records]
    again.parent = original.parent
    again.user("again")
    again.call(command="ls")
    return [original.write, again.write]


def make_codex(home):
    folder = home / ".codex" / "sessions" / "2026" / "11" / "18"
    original = Rollout(folder)
    for prompt in ("one", "again"):
        original.begin()
        original.prompt(prompt)
    original.event("turn_aborted", turn_id=original.task, reason="interrupted")
    again = Rollout(folder, ms=original.ms + 3_600_000, forked_from_id=original.id)
    again.lines += [line.replace(line[14:38], again.time.encode(), 1) for line in original.lines]
    again.begin()
    again.prompt("again")
    again.call("ls")
    return [original.write, again.write]


def make_copilot(home):
    folder = home / ".copilot" / "session-state"
    original, again = Events(), Events(day=2)
    original.user("one")
    original.user("again")
    again.records += original.records[1:]
    again.user("again")
    again.call()
    return [partial(session.write, folder) for session in (original, again)]


def make_pi(home):
    folder = home / ".pi" / "agent" / "sessions" / "--home-user-project--"
    original = PiSession()
    original.user("one")
    original.user("again")
    again = fork_pi(original, 2, hour=12)
    say_pi(again, "again")
    return [partial(session.write, folder) for session in (original, again)]


@pytest.mark.parametrize("make", [make_claude, make_codex, make_copilot, make_pi])
def test_a_fork_may_begin_with_the_prompt_its_original_ends_with(private_home, index, make):
    for write in make(private_home):
        write()
        index.harvest()
    prompts, calls, _ = count(index)
    assert (prompts, calls) == (Counter(["one", "again", "again"]), 1)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("copied", [0, 1, 3])
def test_two_agents_of_one_id_count_each_for_itself_and_what_is_copied_once(
    private_home, index, monkeypatch, order, copied
):
    """Ids of agents are short, so that two may meet; and forks keep those of the agents they copy."""
    projects = private_home / ".claude" / "projects" / "-home-user-project"
    one, other = (
        Transcript(projects / session / "subagents", session="agent-a3eca1f", isSidechain=True)
        for session in ("one", "other")
    )
    say(one, "a1")
    other.records += one.records[:copied]
    other.parent = other.records[-1]["uuid"] if copied else None
    say(other, "b1")
    calls = 2

    def harvest():
        index.harvest()
        sessions = index.sessions.values()
        assert sum(len(turn.tool_calls) for session in sessions for turn in session.turns) == calls
        assert sum(session.tokens.output for session in sessions) == 5 * (calls + len(answers))

    answers = [record for record in one.records if record["message"].get("content") == [DONE]]
    answers += [record for record in other.records[copied:] if record["message"].get("content") == [DONE]]
    for agent in (one, other)[::order]:
        agent.write()
        index.harvest()
    harvest()
    for module in ("skillopt_sleep.store.index", "skillopt_sleep.store.cursors"):
        monkeypatch.setattr(f"{module}.READER", READER + 1)
    harvest()
    for agent in (one, other):
        agent.call(command="ls")
        agent.write()
        calls += 1
        harvest()


def count(index):
    """Return all prompts, the number of tool calls and the tokens put out."""
    sessions = index.sessions.values()
    turns = [turn for session in sessions for turn in session.turns]
    return (
        Counter(prompt for session in sessions for prompt in session.prompts),
        sum(len(turn.tool_calls) for turn in turns),
        sum(session.tokens.output for session in sessions),
    )


class PiFork(PiSession):
    """A session that begins at an hour of its own."""

    def __init__(self, hour):
        self.hour = hour
        super().__init__(parentSession="/x/y.jsonl")

    def time(self):
        return super().time().replace("T10", f"T{self.hour}")


def fork_pi(original, length, *, hour):
    """Return a session of pi that begins with an original's first entries, the header not counted."""
    copy = PiFork(hour)
    copy.entries += original.entries[1 : length + 1]
    copy.leaf = copy.entries[-1]["id"]
    return copy


def say_pi(session, *prompts):
    for prompt in prompts:
        session.user(prompt)
        session.call("bash", "ok", command="ls")
        session.agent("done")


@pytest.mark.parametrize("order", [*itertools.permutations(range(4))])
@pytest.mark.parametrize("length", [5, 6, 7])
def test_every_prompt_call_and_token_of_pi_counts_once_in_whatever_order(private_home, index, order, length):
    folder = private_home / ".pi" / "agent" / "sessions" / "--home-user-project--"
    original = PiSession()
    say_pi(original, "a1", "a2", "a3")
    inside = fork_pi(original, length, hour=12)
    say_pi(inside, "b1")
    behind = fork_pi(original, 8, hour=13)
    say_pi(behind, "c1")
    again = fork_pi(behind, 12, hour=14)
    say_pi(again, "d1")
    files = [original, inside, behind, again]
    for number in order:
        os.utime(files[number].write(folder), (number, number))
        index.harvest()
    assert count(index) == (Counter(["a1", "a2", "a3", "b1", "c1", "d1"]), 6, 6 * (5 + 5))


@pytest.mark.parametrize("anew", [True, False])
@pytest.mark.parametrize("known", range(1, 9))
@pytest.mark.parametrize("length", range(1, 9))
def test_what_a_fork_brings_of_an_original_that_grew_unread_counts_once(
    transcript, index, tmp_path, known, length, anew
):
    original = transcript()
    say(original, "a1", "a2")
    path = original.write()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:known]))
    index.harvest()
    path.rename(tmp_path / "away")
    made = fork(transcript, original, length, day=2)
    say(made, "b1")
    made.write()
    index.harvest()
    if not anew:
        (tmp_path / "away").rename(path)
    path.write_bytes(b"".join(lines))
    index.harvest()
    assert count(index) == (Counter(["a1", "a2", "b1"]), 3, 3 * (5 + 5))


@pytest.mark.parametrize("client", ["claude", "pi"])
def test_a_late_original_that_is_read_in_pieces_is_what_it_is_at_once(
    transcript, private_home, tmp_path, client
):
    if client == "claude":
        original = transcript()
        say(original, "a1", "a2", "a3")
        made = fork(transcript, original, 5, day=2)
        say(made, "b1")
        made.write()
        path = original.write()
    else:
        folder = private_home / ".pi" / "agent" / "sessions" / "--home-user-project--"
        original = PiSession()
        say_pi(original, "a1", "a2", "a3")
        made = fork_pi(original, 5, hour=12)
        say_pi(made, "b1")
        made.write(folder)
        path = original.write(folder)
    whole = path.read_bytes()
    path.unlink()

    def read(*cuts):
        database = tmp_path / f"{cuts}.db"
        one = Index(database, private_home)
        one.harvest()
        for cut in (*cuts, len(whole)):
            path.write_bytes(whole[:cut])
            one.harvest()
        path.unlink()
        found = one.sessions
        one.connection.close()
        database.unlink()
        return found

    at_once = read()
    late = at_once[original.id]
    assert (late.prompts, late.before.prompt) == (("a3",), "a2")
    assert [len(turn.tool_calls) for turn in late.turns] == [1, 1]
    for cut in range(1, len(whole), 61):
        assert read(cut) == at_once
