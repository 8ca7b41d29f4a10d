"""A fork repeats another session's history in one way or another; none of it is its own."""

from __future__ import annotations

import json

import msgspec
import pytest

from skillopt_harvesters import Kind, MemoryClaims, Signal, find_families, mark_corrections
from skillopt_harvesters.asks import find_asks, mark_asked_again
from skillopt_harvesters.claims import mark_of
from tests.harvesters.rollouts import Rollout, make_id, read_in_pieces, read_session

START = 1_794_996_000_000
HOUR = 3_600_000


@pytest.fixture
def parent(tmp_path):
    return make_parent(tmp_path)


def make_parent(folder, *, ids: bool = True) -> Rollout:
    r = Rollout(folder, ms=START)
    for text in ("one", "two", "one"):
        if ids:
            r.begin()
        r.prompt(text)
        r.call("make", "no", code=1)
        r.spend(100, 10)
        r.answer(f"did {text}")
    return r


def copy(parent: Rollout, child: Rollout, *, metas: bool = True) -> None:
    """Repeat the parent's records in the child as the client does: all at the same moment."""
    for line in parent.lines if metas else parent.lines[1:]:
        child.line(line.replace(line[14:38], child.time.encode(), 1))
    child.spent = list(parent.spent)


def go_on(child: Rollout, *, ids: bool = True) -> None:
    if ids:
        child.begin()
    child.prompt("no, the other way")
    child.spend(7, 1)
    child.answer("done")


@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("order", [1, -1])
def test_a_fork_owns_what_comes_after_the_copies(tmp_path, ids, order):
    parent = make_parent(tmp_path, ids=ids)
    child = Rollout(tmp_path, ms=START + HOUR, forked_from_id=parent.id if ids else ...)
    copy(parent, child)
    go_on(child, ids=ids)
    claims = MemoryClaims()
    one, other = (session.read(claims) for session in (parent, child)[::order])
    first, second = (one, other)[::order]
    assert first.prompts == ("one", "two", "one")
    assert second.id == child.id
    assert second.prompts == ("no, the other way",)
    assert (second.before.prompt, second.before.answer) == ("one", "did one")
    assert mark_corrections(second).turns[0].signals == (Signal.CORRECTION,)
    assert (first.tokens.input, second.tokens.input) == (300, 7)


def test_a_fork_without_a_word_of_its_own_yet_owns_nothing(parent, tmp_path):
    child = Rollout(tmp_path, ms=START + HOUR, forked_from_id=parent.id)
    copy(parent, child)
    session = child.read()
    assert (session.prompts, session.tokens.input, session.before.prompt) == ((), 0, "one")


def test_a_fork_of_a_fork_repeats_the_histories_of_both(parent, tmp_path):
    child = Rollout(tmp_path, ms=START + HOUR, forked_from_id=parent.id)
    copy(parent, child)
    go_on(child)
    grandchild = Rollout(tmp_path, ms=START + 2 * HOUR, forked_from_id=child.id)
    copy(child, grandchild)
    grandchild.begin()
    grandchild.prompt("and again")
    grandchild.spend(3)
    session = grandchild.read()
    assert (session.prompts, session.before.prompt) == (("and again",), "no, the other way")
    assert session.tokens.input == 3


def test_a_prompt_that_stands_before_the_record_with_its_id_is_the_forks_own(parent, tmp_path):
    child = Rollout(tmp_path, ms=START + HOUR, forked_from_id=parent.id)
    copy(parent, child)
    child.prompt("no, the other way")
    child.add("turn_context", {"turn_id": make_id(child.ms), "cwd": "/home/user/project", "model": "m"})
    child.answer("done")
    session = child.read()
    assert (session.prompts, session.turns[0].answer) == (("no, the other way",), "done")


def test_a_fork_that_only_points_to_its_parent_repeats_nothing(tmp_path):
    child = Rollout(tmp_path, forked_from_id=make_id(START - HOUR), history_base={"thread_id": "x"})
    child.event("thread_settings_applied")
    child.begin()
    child.prompt("go on")
    child.count([1300, 60, 0], [300, 10, 0])
    child.count([1400, 70, 0], [100, 10, 0])
    session = child.read()
    assert (session.prompts, session.tokens.input) == (("go on",), 400)


def test_a_fork_that_only_points_to_its_parent_needs_nothing_that_shows_where_it_begins(tmp_path):
    child = Rollout(tmp_path, forked_from_id=make_id(START - HOUR), history_base={"thread_id": "x"})
    child.given("go on")
    child.answer("done")
    assert child.read().prompts == ("go on",)


@pytest.mark.parametrize("stream", ["given", "item"])
def test_a_prompt_may_itself_tell_that_the_copies_are_over(parent, tmp_path, stream):
    child = Rollout(tmp_path, ms=START + HOUR, forked_from_id=parent.id, history_base=None)
    copy(parent, child)
    child.task = make_id(child.ms + 1)
    parts = [{"type": "input_text", "text": "no, the other way"}]
    told = {"turn_id": child.task}
    if stream == "given":
        child.item("message", role="user", content=parts, internal_chat_message_metadata_passthrough=told)
    else:
        child.completed("UserMessage", content=parts)
    session = child.read()
    assert (session.prompts, session.before.prompt) == (("no, the other way",), "one")


def test_a_fork_named_after_both_sessions_is_the_second(parent, tmp_path):
    child = Rollout(tmp_path, ms=START + HOUR, cwd=None)
    child.path = tmp_path / f"rollout-2026-11-18T11-00-00-{parent.id}_{child.id}.jsonl"
    # Its own record and those of its ancestors all carry the id of the root.
    copy(parent, child)
    child.lines.insert(0, child.lines[0])
    go_on(child)
    session = child.read()
    assert (session.id, session.prompts, session.tokens.input) == (child.id, ("no, the other way",), 7)


def test_an_agents_file_may_name_its_parent_and_hold_its_own_work_only(parent, tmp_path):
    source = {"subagent": {"thread_spawn": {"parent_thread_id": parent.id}}}
    child = Rollout(tmp_path, ms=START + HOUR, source=source, forked_from_id=parent.id)
    child.line(parent.lines[0])
    go_on(child)
    session = child.read()
    assert (session.kind, session.parent) == (Kind.SUBAGENT, parent.id)
    assert (session.prompts, session.before, session.tokens.input) == (("no, the other way",), None, 7)


@pytest.mark.parametrize("order", [1, -1])
def test_an_agents_own_records_begin_where_the_client_says_though_the_clock_was_set_back(
    parent, tmp_path, order
):
    source = {"subagent": {"thread_spawn": {"parent_thread_id": parent.id}}}
    first = 2 + len(parent.lines)
    child = Rollout(
        tmp_path,
        ms=START - HOUR,
        source=source,
        forked_from_id=parent.id,
        subagent_history_start_ordinal=first,
    )
    copy(parent, child)
    child.event("thread_settings_applied", thread_id=child.id)
    go_on(child)
    for number, line in enumerate(child.lines):
        child.lines[number] = line.replace(b'","type"', b'","ordinal":%d,"type"' % number, 1)
    claims = MemoryClaims()
    one, other = (session.read(claims) for session in (parent, child)[::order])
    first, second = (one, other)[::order]
    assert first.prompts == ("one", "two", "one")
    assert (second.kind, second.tokens.input) == (Kind.SUBAGENT, 7)
    assert sum(len(turn.tool_calls) for turn in second.turns) == 0


def test_turns_whose_ids_hold_no_time_are_dated_by_their_beginning(tmp_path):
    parent = Rollout(tmp_path, ms=START)
    for text in ("one", "two"):
        parent.begin(started_at=parent.ms // 1000)
        parent.lines[-1] = parent.lines[-1].replace(b"-7000-8000-", b"-4000-8000-")
        parent.prompt(text)
        parent.spend(100)
    child = Rollout(tmp_path, ms=START + HOUR, forked_from_id=parent.id)
    copy(parent, child)
    child.begin(started_at=child.ms // 1000 + 5)
    child.lines[-1] = child.lines[-1].replace(b"-7000-8000-", b"-4000-8000-")
    child.prompt("three")
    child.spend(7)
    session = child.read()
    assert (session.prompts, session.tokens.input) == (("three",), 7)


def test_copies_nothing_in_the_file_tells_of_are_known_by_their_names(parent, tmp_path):
    child = Rollout(tmp_path, ms=START + HOUR)
    copy(parent, child, metas=False)
    go_on(child)
    claims = MemoryClaims()
    parent.read(claims)
    session = child.read(claims)
    assert session.prompts == ("no, the other way",)
    assert session.before.prompt == "one"
    again = parent.read(claims)
    assert again.prompts == ("one", "two", "one")


def test_calls_that_are_only_numbered_name_no_turn(tmp_path):
    claims = MemoryClaims()
    for number in range(2):
        r = Rollout(tmp_path, ms=START + number * HOUR)
        r.prompt("write it")
        r.item("function_call", name="shell", arguments="{}", call_id="call_1")
        assert r.read(claims).prompts == ("write it",)


def test_where_the_own_first_record_is_lost_the_parents_does_not_take_its_place(parent, tmp_path):
    child = Rollout(tmp_path, ms=START + HOUR, cwd=None)
    copy(parent, child)
    go_on(child)
    session = child.read()
    assert (session.id, session.prompts) == (child.id, ("no, the other way",))
    assert not session.turns[0].typed


def test_a_turn_the_fork_cut_off_is_no_interruption(parent, tmp_path):
    child = Rollout(tmp_path, ms=START + HOUR, forked_from_id=parent.id)
    copy(parent, child)
    child.event("turn_aborted", turn_id=parent.task, reason="interrupted")
    go_on(child)
    session = child.read()
    assert Signal.INTERRUPTION not in session.turns[0].signals


def test_the_same_prompts_in_sessions_that_are_no_copies_count_each_time(tmp_path):
    claims = MemoryClaims()
    for number in range(3):
        r = Rollout(tmp_path, ms=START + number * HOUR)
        r.begin()
        r.prompt("write the release notes")
        r.call("make", code=0)
        assert r.read(claims).prompts == ("write the release notes",)


@pytest.mark.parametrize("ids", [True, False])
def test_a_fork_read_in_pieces_is_the_same_fork(tmp_path, ids):
    parent = make_parent(tmp_path, ids=ids)
    child = Rollout(tmp_path, ms=START + HOUR, forked_from_id=parent.id if ids else ...)
    copy(parent, child)
    go_on(child, ids=ids)
    path, whole = child.write(), child.data
    at_once = read_session(path)
    for cut in range(0, len(whole), 97):
        assert read_in_pieces(path, whole, [cut]).session == at_once


def test_of_a_session_that_claimed_its_turns_only_all_in_them_is_copied(parent, tmp_path):
    claims = MemoryClaims()
    # As this program claimed before it told forks from originals call by call.
    turns = [json.loads(line)["payload"].get("turn_id") for line in parent.lines if b"task_started" in line]
    claims.claim(f"codex/{parent.id}", map(mark_of, turns), map(mark_of, turns))
    child = Rollout(tmp_path, ms=START + HOUR)
    copy(parent, child, metas=False)
    go_on(child)
    session = child.read(claims)
    assert session.prompts == ("no, the other way",)
    assert (session.tokens.input, session.turns[0].tool_calls) == (7, ())


@pytest.mark.parametrize("cut", range(2, 19))
def test_a_session_that_is_read_after_its_fork_keeps_what_the_fork_has_not(tmp_path, cut):
    parent = make_parent(tmp_path)
    child = Rollout(tmp_path, ms=START + HOUR)
    for line in parent.lines[1:cut]:
        child.line(line.replace(line[14:38], child.time.encode(), 1))
    calls = sum(b"token_count" in line for line in child.lines)
    child.spent = [100 * calls, 10 * calls, 0]
    go_on(child)
    claims = MemoryClaims()
    sessions = [child.read(claims), parent.read(claims)]
    turns = [turn for session in sessions for turn in session.turns]
    assert sorted(prompt for session in sessions for prompt in session.prompts) == sorted(
        ["one", "two", "one", "no, the other way"]
    )
    assert sum(len(turn.tool_calls) for turn in turns) == 3
    assert sum(session.tokens.input for session in sessions) == 307


def test_a_prompt_that_was_edited_by_going_back_is_asked_once(tmp_path):
    thread = Rollout(tmp_path)
    thread.begin()
    thread.prompt("hello")
    thread.answer("hi")
    thread.begin()
    thread.prompt("add docstrings to the billing module")
    thread.answer("done")
    base = {"thread_id": thread.id, "end_ordinal_exclusive": 5}
    again = Rollout(tmp_path, ms=START + HOUR, cwd=None)
    again.path = tmp_path / f"rollout-2026-11-18T11-00-00-{thread.id}_{again.id}.jsonl"
    known = {
        "cwd": "/home/user/project",
        "originator": "codex-tui",
        "cli_version": "0.171.0",
        "source": "cli",
    }
    again.add("session_meta", {"id": thread.id, "timestamp": again.time, "history_base": base, **known})
    again.begin()
    again.prompt("add docstrings to the billing module in numpy style")
    again.answer("done")
    first, second = thread.read(), again.read()
    assert (first.rewound, second.id, second.parent, second.rewound) == (None, again.id, None, thread.id)
    asks = mark_asked_again([*find_asks(first), *find_asks(second)])
    assert [ask.counted for ask in asks] == [False, True]
    assert find_families([first, second]) == []
    other = msgspec.structs.replace(second, rewound=None)
    assert len(find_families([first, other])) == 1


def test_a_session_that_another_client_spawned_takes_nothing_back(tmp_path):
    thread = Rollout(tmp_path)
    thread.begin()
    thread.prompt("add docstrings to the billing module")
    thread.answer("done")
    spawned = msgspec.structs.replace(thread.read(), id="other", client="copilot", parent=thread.id)
    assert [ask.counted for ask in mark_asked_again([*find_asks(thread.read()), *find_asks(spawned)])] == [
        True,
        True,
    ]
