"""A long paste with a short ask before or behind it is that ask."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_harvesters import Signal, find_outcomes, mine
from skillopt_harvesters.asks import find_asks
from skillopt_harvesters.pastes import MAX_ASK, ask_of, shorten
from skillopt_harvesters.turns import MAX_PROMPT
from tests.support.sessions import session, turn

LOG = "\n".join(f"2026-11-01T10:00:{n % 60:02} INFO worker {n} took job {n * 7}" for n in range(1000))
CODE = "\n".join(f"def f_{n}(a, b):\n    return a + b * {n}  # {n}\n" for n in range(900))
ASK = "Please explain why this is so slow"


@pytest.mark.parametrize("paste", [LOG, CODE, f"```\n{CODE}\n```", "x" * 40_000])
@pytest.mark.parametrize(
    "form", ["{ask}\n\n{paste}", "{ask}:\n{paste}", "{paste}\n\n{ask}", "{ask}\n\n{paste}\n\n{ask}\n"]
)
def test_the_words_around_a_long_paste_are_the_ask(paste, form):
    prompt = form.format(ask=ASK, paste=paste)
    assert len(prompt) > MAX_ASK
    assert ask_of(prompt).rstrip(":") == ASK


@pytest.mark.parametrize("paste", [LOG, CODE, f"```\n{CODE}\n```", "x" * 40_000, "word " * 9_000])
def test_a_paste_alone_asks_for_nothing(paste):
    assert ask_of(paste) == ""


def test_short_prompts_are_what_they_are():
    assert ask_of("fix it") == shorten("fix it") == "fix it"


def test_the_same_ask_over_different_pastes_recurs(transcript, read):
    sessions = []
    for number in range(3):
        t = transcript()
        t.user(f"{LOG}\n{number}\n\n{ASK}" if number else f"{ASK}:\n{CODE}")
        t.agent("It waits.")
        sessions.append(read(t))
    assert {len(list(find_asks(one))) for one in sessions} == {1}
    mined = mine(sessions)
    assert len({task.family for task in mined}) == 1
    assert all(ASK in task.prompt and len(task.prompt) <= MAX_ASK for task in mined)


def test_the_ends_of_an_endless_prompt_are_kept_and_no_half_of_a_secret(transcript, read):
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    for shift in range(0, 200, 7):
        t = transcript()
        cut = "x " * ((MAX_PROMPT * 3 // 4 - 100 + shift) // 2)
        rest = "y " * 50_000
        tail = "z " * ((MAX_PROMPT // 4 - 100 + shift) // 2)
        t.user(f"{ASK}\n\n{cut}{secret} {rest}{secret} {tail}\n\n{ASK}")
        [kept] = read(t).prompts
        assert len(kept) <= MAX_PROMPT
        assert kept.startswith(ASK)
        assert kept.endswith(ASK)
        assert not any(secret[at : at + 8] in kept for at in range(4, len(secret) - 8))


def test_an_unrelated_ask_after_an_interruption_is_an_ask_of_its_own():
    stopped = turn("Refactor the parser module", "", signals=(Signal.INTERRUPTION,))
    then = turn("Write the release notes for version 1.4")
    found = [(one.turn, one.outcome.value) for one in find_outcomes(session(stopped, then))]
    assert found == [(0, "abandoned"), (1, "ok")]
    assert [one.prompt for one in find_asks(session(stopped, then))] == [stopped.prompt, then.prompt]


@pytest.mark.parametrize(
    "then",
    [
        "only the lexer",
        "Refactor only the parser's lexer",
        "Write a test for the parser first",
        "use black for it",
        "write that to a file instead",
        "Create a branch before you touch parser.py",
        "nur den Lexer",
        "go on",
    ],
)
def test_what_refers_to_what_was_stopped_directs_it_again(then):
    stopped = turn("Refactor the parser module", "", signals=(Signal.INTERRUPTION,))
    assert len(find_outcomes(session(stopped, turn(then)))) == 1


@pytest.mark.parametrize("command", ["/review", "/init", "/security-review"])
def test_a_built_in_command_is_an_ask_only_with_words_that_make_one(command):
    plain = [session(turn("", command=command), name=name) for name in "ab"]
    assert mine(plain) == []
    asked = [session(turn("look at the error handling", command=command), name=name) for name in "ab"]
    assert [task.prompt for task in mine(asked)] == [f"{command} look at the error handling"]
    between = session(turn("Write a test for the parser"), turn("", command=command), turn("no, use black"))
    assert [one.value for one in find_outcomes(between)[0].why] == ["nothing followed"]


@pytest.mark.parametrize("command", ["/plan", "/goal", "/fleet", "/autopilot", "/subtask"])
def test_words_behind_a_command_that_carries_any_ask_are_the_ask(command):
    ask = "look at the error handling of the parser"
    same = [session(turn(ask, command=command), name="a"), session(turn(ask), name="b")]
    assert [task.prompt for task in mine(same)] == [ask]
    others = [
        session(turn(text, command=command), name=text)
        for text in ("translate the handbook into French", "speed up the image upload")
    ]
    assert mine(others) == []


@given(st.text(max_size=300), st.integers(0, 3))
def test_no_text_crashes_the_reading_of_a_paste(text, times):
    long = text + ("\n" + text) * (times * 200)
    assert len(shorten(long)) <= max(MAX_ASK, len(text))
    ask_of(long)
