"""What a correction teaches: a command, a tool or a text, and whether the recorded session had met it."""

from __future__ import annotations

import msgspec
import pytest

from skillopt_harvesters import mine
from skillopt_harvesters.asks import find_asks
from skillopt_replay.tasks import Check, CommandMatched, CommandSucceeds, Contains, Exact, ToolCalled
from tests.support.sessions import REFUSED, STOPPED, session, turn


def checks_of(*turns):
    return [check for ask in find_asks(session(*turns)) for lesson in ask.lessons for check in lesson.checks]


def brief(checks):
    subjects = ("name", "command", "text")
    return [
        (type(c), next(getattr(c, s) for s in subjects if hasattr(c, s)), c.negate, c.met_before)
        for c in checks
    ]


@pytest.mark.parametrize(
    "words",
    [
        "don't use the WebSearch tool",
        "never use the web_search tool",
        "不要使用 WebSearch 工具",
        "The WebSearch tool is forbidden",
        "don't use WebSearch",
    ],
)
def test_a_rule_about_a_tool_is_checked_by_its_name(words):
    checks = checks_of(turn("Look up the latest httpx", tools=["WebSearch"]), turn(words))
    assert brief(checks) == [(ToolCalled, "WebSearch", True, False)]


def test_a_tool_instead_of_a_command_and_the_other_way_round():
    checks = checks_of(
        turn("Find all usages of Money", ran=[("grep -rn Money .", 0)]),
        turn("use the Grep tool instead of grep"),
    )
    assert brief(checks) == [(ToolCalled, "Grep", False, False), (CommandMatched, "grep", True, False)]
    checks = checks_of(turn("Find all usages of Money", tools=["Grep"]), turn("use `rg`, not the Grep tool"))
    assert brief(checks) == [(CommandMatched, "rg", False, False), (ToolCalled, "Grep", True, False)]


@pytest.mark.parametrize(
    ("before", "words", "after"),
    [
        ("def getUserName(): ...", "no, use snake_case not camelCase", "def get_user_name(): ..."),
        ("Here it is in prose: we met.", "no, bullets instead of prose", "- we met"),
        ("x = 'a', with double quotes", "no, use single quotes not double quotes", "x = 'a'"),
        ("Indented by 4 spaces.", "no, use tabs not spaces", "done"),
        ("getJson(function(){})", "use async/await, not callbacks", "await getJson()"),
        ("48 miles", "it should be `48.28`", "48.3"),
    ],
)
def test_what_a_right_answer_lacks_is_not_looked_for(before, words, after):
    assert checks_of(turn("Write it", before), turn(words, after)) == []
    wrong = [turn("Write it", before), turn(words, after), turn("no, that's still wrong", "sorry")]
    assert checks_of(*wrong), "nobody took that answer for right"
    named = "snake_case bullets single quotes tabs async/await `48.28`"
    assert checks_of(turn("Write it", before), turn(words, named)), "this one has it"


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("don't run git push", "git push"),
        ("never use sed -i", "sed -i"),
        ("No, never git push --force to main", "git push --force"),
        ("永远不要运行 git push", "git push"),
        ("别用 sed -i 了", "sed -i"),
    ],
)
def test_a_forbidden_command_is_checked_as_a_command(words, command):
    checks = checks_of(turn("Rename foo everywhere", ran=[(f"cd x && {command} a", 0)]), turn(words))
    assert brief(checks) == [(CommandMatched, command, True, False)]


def test_a_check_that_the_recorded_session_failed_or_met_is_marked_so():
    ran_npm = turn("install the packages", ran=[("npm install", 0)])
    assert [c.met_before for c in checks_of(ran_npm, turn("no, use pnpm, not npm"))] == [False, False]
    ran_both = turn("install the packages", ran=[("pnpm install", 0), ("npm test", 0)])
    assert [c.met_before for c in checks_of(ran_both, turn("no, use pnpm, not npm"))] == [True, False]
    wrote = turn("which command adds httpx?", "pip install httpx")
    assert brief(checks_of(wrote, turn("No, use `uv add`, not `pip install`.", "uv add httpx"))) == [
        (Contains, "uv add", False, False),
        (Contains, "pip install", True, False),
    ]
    assert brief(checks_of(turn("Convert 30 miles", "48"), turn("No, 48.28, not 48", "48.28"))) == [
        (Exact, "48.28", False, False)
    ]


def test_what_the_agent_did_after_it_was_told_is_not_held_against_the_check():
    told = turn("no, use pnpm, not npm", ran=[("pnpm install", 0)])
    checks = checks_of(turn("install the packages", ran=[("npm install", 0)]), told)
    assert [c.met_before for c in checks] == [False, False]


def test_a_refused_call_counts_as_what_the_agent_would_have_done():
    refused = turn(
        "install the packages",
        ran=[("npm install", None)],
        signals=REFUSED,
        refusals=("use pnpm, not npm",),
    )
    assert brief(checks_of(refused)) == [
        (CommandMatched, "pnpm", False, False),
        (CommandMatched, "npm", True, False),
    ]


def test_nothing_recorded_tells_nothing():
    refused = turn("install the packages", "", signals=REFUSED, refusals=("use pnpm, not npm",))
    assert [c.met_before for c in checks_of(refused)] == [None, None]


def test_what_is_said_after_an_interruption_teaches_without_an_opener():
    checks = checks_of(
        turn("format the parser", ran=[("npx prettier .", None)], signals=STOPPED),
        turn("go with `black .` please"),
    )
    assert brief(checks) == [(CommandMatched, "black .", False, False)]


def test_the_contrast_in_an_ask_made_again_teaches():
    ask = "add httpx as a dependency of the project"
    checks = checks_of(turn(ask, ran=[("pip install httpx", 0)]), turn(f"{ask}, use uv add, not pip install"))
    assert brief(checks) == [
        (CommandMatched, "uv add", False, False),
        (CommandMatched, "pip install", True, False),
    ]


def test_a_verification_the_user_ruled_out_is_no_check():
    asked = turn("run the checks of this project", ran=[("pytest -q", 0)])
    told = turn("No, use `make check`, not `pytest`", ran=[("make check", 0)])
    plain = session(turn("run the checks of this project", ran=[("pytest -q", 0)]), name="b")
    [task] = mine([session(asked, told, name="a"), plain])
    assert brief(task.checks) == [
        (CommandMatched, "make check", False, False),
        (CommandMatched, "pytest", True, False),
        (CommandSucceeds, "make check", False, True),
    ]


def test_every_check_says_whose_words_it_rests_on():
    one = turn("install the packages", ran=[("npm install", 0), ("make test", 0)])
    sessions = [session(one, turn("no, use pnpm, not npm"), name="a"), session(one, name="b")]
    [task] = mine(sessions)
    assert [(c.origin.session, c.origin.turn, c.origin.quote) for c in task.checks] == [
        ("a", 1, "no, use pnpm, not npm"),
        ("a", 1, "no, use pnpm, not npm"),
        ("a", 0, "install the packages"),
    ]
    assert [c.met_before for c in task.checks] == [False, False, True]


def test_the_mark_does_not_make_a_check_another_one():
    told = turn("no, use pnpm, not npm")
    failed = session(turn("install the packages", ran=[("npm install", 0)]), told, name="a")
    met = session(turn("install the packages", ran=[("pnpm install", 0)]), told, name="b")
    [task] = mine([failed, met])
    assert brief(task.checks) == [
        (CommandMatched, "pnpm", False, False),
        (CommandMatched, "npm", True, False),
    ]


def test_commands_that_ended_well_become_checks_back_to_the_last_failure():
    ran = [
        ("ruff check .", 0),
        ("pytest -q", 1),
        ("pytest -q", 0),
        ("mypy", 0),
        ("rm -rf build", 0),
        ("pytest", None),
    ]
    [ask] = find_asks(session(turn("fix the login page", ran=ran)))
    assert ask.verifications == ("pytest -q", "mypy")
    [ask] = find_asks(session(turn("fix the login page", ran=[*ran, ("ruff check .", 1)])))
    assert ask.verifications == ()


def test_a_taken_back_correction_teaches_nothing():
    told = turn("no, use pnpm, not npm", abandoned=True)
    assert checks_of(turn("install the packages", ran=[("npm install", 0)]), told) == []


def test_checks_stored_before_there_was_a_mark_still_decode():
    old = b'{"type":"command","negate":true,"origin":{"session":"a","turn":1,"quote":"q"},"command":"npm"}'
    check = msgspec.json.decode(old, type=Check)
    assert (check.command, check.met_before) == ("npm", None)
    assert isinstance(msgspec.json.decode(b'{"type":"run","command":"pytest"}', type=Check), CommandSucceeds)
