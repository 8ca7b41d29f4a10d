"""Sessions are found by what is said about them, and only those that fit are taken up."""

from __future__ import annotations

import sqlite3
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_harvesters.records import Kind, Session, Turn
from skillopt_sleep.errors import AppError, UsageError
from skillopt_sleep.folders import find_folder
from skillopt_sleep.paths import locate
from skillopt_sleep.store.database import connect, transaction
from skillopt_sleep.store.find import (
    Filter,
    Name,
    find_named,
    find_names,
    find_session,
    find_sessions,
    shorten,
)
from skillopt_sleep.store.index import save_session


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    connection = connect(locate().database)
    yield connection
    connection.close()


def keep(database: sqlite3.Connection, name: str, *, client: str = "claude", **fields) -> None:
    fields = {"client_version": "1", "kind": Kind.HUMAN, "path": f"/t/{name}", **fields}
    with transaction(database):
        save_session(database, Session(id=name, client=client, **fields))


def found(database: sqlite3.Connection, **wanted) -> list[str]:
    ids = [session.id for session in find_sessions(database, Filter(**wanted))]
    assert [name.id for name in find_names(database, Filter(**wanted))] == ids
    return ids


def at(hour: int) -> str:
    return f"2026-01-01T{hour:02}:00:00.000Z"


def test_sessions_come_oldest_first_and_those_without_a_time_last(database):
    for name, started in (("b", at(3)), ("none", None), ("a", at(3)), ("c", at(1))):
        keep(database, name, started=started, ended=started)
    assert found(database) == ["c", "a", "b", "none"]
    assert found(database, limit=2) == ["a", "b"]
    assert found(database, limit=9) == ["c", "a", "b", "none"]


def test_each_filter_narrows_and_all_must_fit(database):
    keep(database, "one", client="claude", kind=Kind.HUMAN, project="/w/shop", started=at(1), ended=at(1))
    keep(database, "two", client="codex", kind=Kind.HUMAN, project="/w/shop/api", started=at(2), ended=at(2))
    keep(
        database, "three", client="pi", kind=Kind.HEADLESS, project="/w/shopping", started=at(3), ended=at(3)
    )
    assert found(database, clients=("codex", "pi")) == ["two", "three"]
    assert found(database, kind="headless") == ["three"]
    assert found(database, folder=find_folder("/w/shop")) == ["one", "two"]
    assert found(database, folder=find_folder("/w/shop"), clients=("codex",), kind="human") == ["two"]
    assert found(database, folder=find_folder("/w/shop"), limit=1) == ["two"]
    assert found(database, clients=("nobody",)) == []


def test_a_session_fits_a_span_when_some_of_it_lies_in_it(database):
    keep(database, "long", started=at(1), ended=at(9))
    keep(database, "short", started=at(4), ended=at(4))
    keep(database, "open", started=at(4), ended=None)
    keep(database, "backwards", started=at(6), ended=at(2))
    keep(database, "timeless", started=None, ended=None)
    assert found(database, since=at(4), until=at(5)) == ["long", "open", "short", "backwards"]
    assert found(database, since=at(9)) == ["long"]
    assert found(database, since=at(10)) == []
    assert found(database, until=at(1)) == []
    assert found(database, until=at(2)) == ["long"]
    # To the second, as another version may have written it.
    keep(database, "coarse", started="2026-01-01T12:00:00Z", ended="2026-01-01T12:00:00Z")
    assert found(database, since=at(12)) == ["coarse"]
    assert found(database, since=at(10), until=at(12)) == []


SPANS = st.lists(st.tuples(st.integers(0, 23), st.integers(0, 23)), max_size=8)


@given(SPANS, st.none() | st.integers(0, 23), st.none() | st.integers(0, 23), st.none() | st.integers(1, 3))
def test_the_query_agrees_with_the_rule(database, spans, since, until, limit):
    with transaction(database):
        database.execute("delete from sessions")
    for number, (started, ended) in enumerate(spans):
        keep(database, f"s{number}", started=at(started), ended=at(ended))
    fitting = [
        (at(started), f"s{number}")
        for number, (started, ended) in enumerate(spans)
        if (until is None or min(started, ended) < until) and (since is None or max(started, ended) >= since)
    ]
    latest = sorted(fitting)[-limit if limit else 0 :]
    wanted = {"since": None if since is None else at(since), "until": None if until is None else at(until)}
    assert found(database, **wanted, limit=limit) == [name for _, name in latest]


def test_what_does_not_fit_is_never_decoded(database):
    keep(database, "fits", client="codex", project="/w", started=at(5), ended=at(5))
    keep(database, "broken", client="claude", project="/x", started=at(1), ended=at(1))
    database.execute("update sessions set body = x'ff' where id = 'broken'")
    for wanted in ({"clients": ("codex",)}, {"folder": find_folder("/w")}, {"since": at(2)}, {"limit": 1}):
        assert found(database, **wanted) == ["fits"]


def test_what_another_version_stored_is_left_out_of_lists_and_told_when_asked_for(database):
    for name in ("good", "odd"):
        keep(database, name, started=at(1))
    for body in (b"\xff", b"\x80", b""):
        database.execute("update sessions set body = ? where id = 'odd'", (body,))
        assert [session.id for session in find_sessions(database, Filter())] == ["good"]
        assert [session.id for session in find_named(database, ["odd", "good", "unknown"])] == ["good"]
        with pytest.raises(AppError, match="another version"):
            find_session(database, "odd")


def test_any_number_of_sessions_passes_through_the_same_memory(database):
    turn = Turn(prompt="x" * 100_000)
    with transaction(database):
        for number in range(300):
            keep(database, f"s{number:04}", started=at(1), ended=at(1), turns=(turn,))
    tracemalloc.start()
    try:
        assert sum(len(session.turns) for session in find_sessions(database, Filter())) == 300
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()


def test_a_listing_shows_one_state_though_a_harvest_goes_on(database):
    for name in ("a", "b", "c"):
        keep(database, name, started=at(1), ended=at(1))
    listing = find_sessions(database, Filter())
    assert next(listing).id == "a"
    other = connect(locate().database)
    other.execute("delete from sessions where id = 'b'")
    keep(other, "d", started=at(2), ended=at(2))
    other.close()
    assert [session.id for session in listing] == ["b", "c"]
    assert found(database) == ["a", "c", "d"]


def test_the_beginning_of_an_id_is_enough_when_it_is_the_only_one(database):
    for name in ("abc1", "abc2", "abd", "ab"):
        keep(database, name, started=at(1))
    keep(database, "abd", client="codex", started=at(2))
    assert find_session(database, "abc1").id == "abc1"
    assert find_session(database, "ab").id == "ab"
    assert find_session(database, "abd", ("codex",)).client == "codex"
    with pytest.raises(UsageError, match=r"several sessions: abc1 \(claude\), abc2 \(claude\)"):
        find_session(database, "abc")
    with pytest.raises(UsageError, match=r"abd \(claude\), abd \(codex\)"):
        find_session(database, "abd")
    for nothing in ("", "x", "abcd", "\udcff", "%", "ab_"):
        with pytest.raises(UsageError, match="there is no session"):
            find_session(database, nothing)


def test_short_ids_are_as_long_as_they_must_be(database):
    for name in ("aaaaaaaa-1111", "aaaaaaaa-1122", "b", "cccccccccccc"):
        keep(database, name)
    assert [shorten(database, name.id) for name in sorted(find_names(database, Filter()), key=str)] == [
        "aaaaaaaa-111",
        "aaaaaaaa-112",
        "b",
        "cccccccc",
    ]
    assert Name("claude", "b") in set(find_names(database, Filter()))
    keep(database, "b", client="codex")
    assert shorten(database, "b") == "b"  # the client tells them apart
