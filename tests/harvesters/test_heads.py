"""A file whose beginning is damaged is still known for what it is; what cannot be read is named."""

from __future__ import annotations

import pytest

from tests.harvesters.rollouts import Rollout
from tests.support.copilot_events import Events, Transcript
from tests.support.indexes import Index
from tests.support.pi_session import PiSession

CLIENTS = ("claude", "codex", "copilot", "vscode", "pi")


@pytest.fixture
def index(tmp_path, private_home):
    return Index(tmp_path / "state.db", private_home)


@pytest.fixture
def write(private_home, transcript):
    """Write a session of a client in which one thing was asked, and return its path."""

    def make(client):
        if client == "claude":
            session = transcript()
            session.user("ask")
            session.agent("answer")
            session.write()
            return session.path
        if client == "codex":
            rollout = Rollout(private_home / ".codex" / "sessions")
            rollout.prompt("ask")
            rollout.answer("answer")
            return rollout.write()
        if client == "pi":
            session = PiSession()
            session.user("ask")
            session.agent("answer")
            return session.write(private_home / ".pi" / "agent" / "sessions" / "--home-user-project--")
        events = Events() if client == "copilot" else Transcript()
        events.user("ask")
        events.agent("answer")
        storage = private_home / ".config" / "Code" / "User" / "workspaceStorage" / "a"
        return events.write(private_home / ".copilot" / "session-state" if client == "copilot" else storage)

    return make


def damage(path, how):
    path.write_bytes(how(path.read_bytes()))


def prompts(index):
    return [session.prompts for session in index.sessions.values()]


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("hole", [10, 100_000, 3_000_000])
def test_a_file_that_was_emptied_under_its_writer_is_read_behind_the_hole(index, write, client, hole):
    damage(write(client), lambda data: b"\0" * hole + data)
    assert index.harvest().warnings == ()
    assert prompts(index) == [("ask",)]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_first_line_longer_than_what_is_looked_at_costs_that_line(index, write, client):
    damage(write(client), lambda data: b"x" * 200_000 + b"\n" + data)
    assert len(index.harvest().warnings) == 1
    assert prompts(index) == [("ask",)]


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("lines", [(200_000, 70_000), (100, 200_000, 100), (200_000_000,)])
def test_first_lines_that_are_no_records_or_too_long_cost_themselves_alone(index, write, client, lines):
    damage(write(client), lambda data: b"".join(b"x" * size + b"\n" for size in lines) + data)
    assert index.harvest().skipped == len(lines)
    assert prompts(index) == [("ask",)]


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_a_long_record_behind_one_of_a_newer_version_tells_what_it_is(index, write, client):
    first = {"claude": b'{"type":"later"}', "codex": b'{"timestamp":"t","type":"later","payload":{}}'}
    damage(
        write(client), lambda data: first[client] + b"\n" + data.replace(b"ask", b"ask " + b"me! " * 20_000)
    )
    index.harvest()
    assert [prompt[:6] for [prompt] in prompts(index)] == ["ask me"]


@pytest.mark.parametrize("place", [1, 20, 60, 200])
def test_a_first_record_broken_over_lines_is_one_record(index, write, place):
    damage(write("vscode"), lambda data: data[:place] + b"\n" + data[place:])
    index.harvest()
    assert prompts(index) == [("ask",)]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_harvest_between_the_halves_of_a_broken_record_loses_nothing(index, write, client):
    path = write(client)
    data = path.read_bytes()
    place = data.index(b'"ask"') + 2
    path.write_bytes(data[:place] + b"\n")
    index.harvest()
    path.write_bytes(data[:place] + b"\n" + data[place:])
    report = index.harvest()
    assert (report.skipped, report.warnings) == (0, ())
    assert prompts(index) == [("a\nsk",)]
    assert next(iter(index.sessions.values())).skipped == 0


@pytest.mark.parametrize("client", CLIENTS)
def test_a_harvest_between_halves_of_which_the_first_ends_as_a_record_does_loses_nothing(
    index, write, client
):
    path = write(client)
    data = path.read_bytes().replace(b'"ask"', b'"a {} sk"')
    place = data.index(b"{} sk") + 2
    path.write_bytes(data[:place] + b"\n")
    index.harvest()
    path.write_bytes(data[:place] + b"\n" + data[place:])
    report = index.harvest()
    assert (report.skipped, report.warnings) == (0, ())
    assert prompts(index) == [("a {}\n sk",)]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_broken_record_that_never_goes_on_costs_one_record_and_is_told_once(index, write, client):
    path = write(client)
    data = path.read_bytes()
    start = data.index(b"\n", data.index(b'"ask"')) + 1
    broken = data[start : start + 30] + b"\n"
    path.write_bytes(data[:start] + broken)
    assert index.harvest().skipped == 1
    assert index.harvest().skipped == 0
    path.write_bytes(data[:start] + broken + data[start:])
    assert index.harvest().skipped == 0
    assert prompts(index) == [("ask",)]
    [session] = index.sessions.values()
    assert (session.turns[0].answer, session.skipped) == ("answer", 1)


def test_a_transcript_that_lost_its_first_record_is_known_by_what_both_programs_write(index, write):
    damage(write("vscode"), lambda data: data[20:])
    index.harvest()
    assert prompts(index) == [("ask",)]


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_text_in_another_encoding_is_named(index, write, client, encoding):
    path = write(client)
    damage(path, lambda data: data.decode().encode(encoding))
    report = index.harvest()
    [warning] = report.warnings
    assert warning.startswith(str(path))
    assert prompts(index) == []
