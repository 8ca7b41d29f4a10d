"""How an ask ended: structure first, in any language, and words only then."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_harvesters import SOURCES, Kind, Outcome, Signal, Why, find_outcomes, read_file
from skillopt_harvesters.asks import find_asks, mark_asked_again
from tests.support.sessions import REFUSED, STOPPED, session, shell, turn

GERMAN, JAPANESE = "füge einen Test für den Parser hinzu", "パーサーのテストを追加してください"


def outcomes(*turns):
    return [(one.turn, one.outcome.value, one.why[0].value) for one in find_outcomes(session(*turns))]


@pytest.mark.parametrize("ask", [GERMAN, JAPANESE])
def test_a_stopped_ask_is_abandoned_in_any_language(ask):
    assert outcomes(turn(ask, signals=STOPPED)) == [(0, "abandoned", "interrupted")]
    assert outcomes(turn(ask, "", signals=REFUSED)) == [(0, "abandoned", "refused")]


@pytest.mark.parametrize(("ask", "then"), [(GERMAN, "nur den Lexer"), (JAPANESE, "レクサーだけにして")])
def test_what_is_said_to_a_stopped_agent_directs_it_again_in_any_language(ask, then):
    assert outcomes(turn(ask, signals=STOPPED), turn(then)) == [(0, "corrected", "directed again")]


@pytest.mark.parametrize(
    "ask", [GERMAN, JAPANESE, "给解析器写一个完整的单元测试", "Write a test for the parser module"]
)
def test_the_same_ask_once_more_means_that_the_first_went_wrong(ask):
    assert outcomes(turn(ask), turn(ask)) == [(0, "corrected", "asked again"), (1, "ok", "nothing followed")]


def test_an_ask_with_another_value_is_no_repetition():
    asks = ["Write the SQL query: orders of Ana", "Write the SQL query: orders of Bob"]
    assert [one[1] for one in outcomes(*map(turn, asks))] == ["ok", "ok"]


def test_a_refusal_with_a_reason_corrects_and_one_without_stops():
    refused = turn("install the packages", "", signals=REFUSED, refusals=("nimm pnpm",))
    assert outcomes(refused) == [(0, "corrected", "refused")]
    found_another_way = turn("install the packages", "Done otherwise.", signals=REFUSED)
    assert outcomes(found_another_way) == [(0, "corrected", "refused")]


@pytest.mark.parametrize(
    ("line", "undoes"),
    [
        ("git checkout .", True),
        ("git checkout -- src/a.py", True),
        ("git restore src/a.py", True),
        ("git reset --hard HEAD~1", True),
        ("git -C sub revert HEAD", True),
        ("cd x && git stash", True),
        ("git clean -fd", True),
        ("git checkout main", False),
        ("git checkout -b feature/x", False),
        ("git restore --staged a.py", False),
        ("git stash pop", False),
        ("git reset a.py", False),
        ("git status", False),
        ("echo git checkout .", False),
    ],
)
def test_work_that_the_user_takes_back_is_abandoned(line, undoes):
    told = outcomes(turn(GERMAN), shell(line))
    assert told == [(0, "abandoned", "undone") if undoes else (0, "ok", "nothing followed")]


def test_work_the_agent_has_to_take_back_was_not_right_in_any_language():
    ask = turn("schreib die Doku für das Modul")
    back = turn("mach das bitte rückgängig", ran=[("git checkout -- docs/a.md", 0)])
    assert outcomes(ask, back) == [(0, "corrected", "undone")]


def test_the_agents_own_use_of_git_says_nothing():
    assert outcomes(turn("try the other branch of the parser", ran=[("git checkout -- .", 0)])) == [
        (0, "ok", "nothing followed")
    ]


def test_a_rewound_ask_is_abandoned_and_not_counted():
    one = session(
        turn("write docs for the parser", abandoned=True), turn("write docs for the parser in French")
    )
    assert [(o.turn, o.outcome, o.why) for o in find_outcomes(one)] == [
        (0, Outcome.ABANDONED, (Why.REWOUND,)),
        (1, Outcome.OK, (Why.SILENT,)),
    ]
    assert [(o.counted, o.failed) for o in find_asks(one)] == [(False, True), (True, False)]


@pytest.mark.parametrize(
    ("reply", "outcome", "why"),
    [
        ("no problem, ship it", "ok", "accepted"),
        ("没问题,发布吧", "ok", "accepted"),
        ("now also add one for the audit log", "ok", "built on"),
        ("commit it", "ok", "built on"),
        ("why under Unreleased?", "ok", "nothing followed"),
        ("continue", "ok", "nothing followed"),
        ("Group it by month", "corrected", "directed again"),
        ("Missing the downgrade path", "corrected", "directed again"),
        ("The key must include the tenant", "corrected", "directed again"),
        ("thanks, but it double counts refunds, that's wrong", "corrected", "directed again"),
        ("不对,按月统计", "corrected", "directed again"),
        ("never mind", "abandoned", "dropped"),
        ("算了", "abandoned", "dropped"),
    ],
)
def test_the_reply_tells_how_it_went(reply, outcome, why):
    assert outcomes(turn("Write a report of the refunds"), turn(reply)) == [(0, outcome, why)]


def test_what_was_corrected_stays_so_though_it_ended_well():
    told = outcomes(turn("Write a report of the refunds"), turn("Group it by month"), turn("thanks, perfect"))
    assert told == [(0, "corrected", "directed again")]


def test_going_on_takes_a_stop_back():
    told = outcomes(turn("Write a report of the refunds", signals=STOPPED), turn("continue"))
    assert told == [(0, "ok", "nothing followed")]


def test_no_answer_and_a_failing_check_leave_it_open():
    assert outcomes(turn("fix the login page", "")) == [(0, "unknown", "unanswered")]
    assert outcomes(turn("fix the login page", "", signals=(Signal.ERROR,))) == [
        (0, "unknown", "ended in an error")
    ]
    assert outcomes(turn("fix the login page", ran=[("pytest -q", 1)])) == [
        (0, "unknown", "ended in an error")
    ]
    assert outcomes(turn("fix the login page", ran=[("pytest -q", 1), ("pytest -q", 0)])) == [
        (0, "ok", "verified")
    ]


def test_what_no_person_typed_has_no_outcome():
    one = session(turn("fix the login page"))
    for kind in (Kind.HEADLESS, Kind.SUBAGENT, Kind.REPLAY):
        assert (
            find_outcomes(type(one)(**{**{f: getattr(one, f) for f in one.__struct_fields__}, "kind": kind}))
            == ()
        )


def test_an_ask_made_again_right_after_in_a_new_session_went_wrong():
    ask = "Write a report of the refunds per day"
    first = session(turn(ask), name="one")
    soon = session(turn(f"{ask}, in UTC"), name="two", started="2026-03-01T10:08:00.000Z")
    later = session(turn(ask), name="two", started="2026-03-01T18:00:00.000Z")
    accepted = session(turn(ask), turn("thanks, perfect"), name="one")
    for one, two, outcome in (
        (first, soon, Outcome.CORRECTED),
        (first, later, Outcome.OK),
        (accepted, soon, Outcome.OK),
    ):
        marked = mark_asked_again([*find_asks(one), *find_asks(two)])
        assert [o.outcome for o in marked] == [outcome, Outcome.OK]
        assert marked[0].failed is (outcome is Outcome.CORRECTED)


@pytest.mark.parametrize("text", ["continue", "继续", "Continue from where you left off.", "keep going"])
def test_automatic_prompts_are_no_asks_and_correct_nothing(text):
    assert list(find_asks(session(turn(text)))) == []
    [ask] = find_asks(session(turn("Write a report of the refunds"), turn(text), turn(text)))
    assert (ask.outcome, ask.failed, ask.lessons) == (Outcome.OK, False, ())


def test_the_outcomes_planted_in_a_corpus_are_found(tmp_path):
    generator = Path(__file__).parents[2] / "benchmarks" / "corpus.py"
    size = ["--files", "150", "--mb", "2", "--sidechains", "0", "--seed", "41"]
    subprocess.run(
        [sys.executable, str(generator), "--out", str(tmp_path), *size], check=True, capture_output=True
    )
    planted = [
        one
        for one in json.loads((tmp_path / "truth.json").read_text(encoding="utf-8"))["sessions"]
        if one["kind"] != "headless"
    ]
    told = [find_outcomes(read_file(SOURCES["claude"], tmp_path / one["file"])[0].session) for one in planted]
    assert all(len(found) == 1 for found in told)
    right = sum(found[0].outcome.value == one["outcome"] for found, one in zip(told, planted, strict=True))
    assert right / len(planted) >= 0.9


TURNS = st.builds(
    turn,
    st.sampled_from(
        ["", "no", "Write a test for the parser", "不对", "继续", "use pnpm, not npm", "\ud800", "x" * 50]
    )
    | st.text(max_size=60),
    st.sampled_from(["", "Done.", "Which one?"]),
    ran=st.lists(
        st.tuples(st.sampled_from(["pytest", "git checkout .", "npm i"]), st.sampled_from([None, 0, 1]))
    ),
    signals=st.lists(st.sampled_from(list(Signal)), max_size=3).map(tuple),
    refusals=st.lists(st.text(max_size=30), max_size=2).map(tuple),
    command=st.sampled_from([None, None, None, "!", "/clear", "/rewind", "/standup"]),
    typed=st.booleans(),
    abandoned=st.booleans(),
)


@given(st.lists(TURNS, max_size=6), st.none() | TURNS)
def test_no_session_crashes_it_and_every_ask_has_an_outcome(turns, before):
    one = session(*turns, before=before)
    asks = list(find_asks(one))
    assert [(ask.turn, ask.outcome) for ask in asks] == [(o.turn, o.outcome) for o in find_outcomes(one)]
    assert all(ask.judgement.why for ask in asks)
    assert len(mark_asked_again(asks)) == len(asks)
