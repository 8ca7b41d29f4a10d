"""The optimizer is told how far an answer was from what was wanted, and never what was wanted."""

from __future__ import annotations

import pytest

from skillopt_replay.tasks import Contains, Exact, JsonSchema, Matches
from skillopt_sleep.training.deviations import tell_deviation
from skillopt_sleep.training.traces import render
from tests.training.test_traces import make_trace

OBJECT = JsonSchema(schema='{"type": "object"}')
BARE = Matches(pattern=r"(?s)\A\s*\{.*\}\s*\Z")
FENCED = '```json\n{"a": 1}\n```'


@pytest.mark.parametrize("check", [BARE, Exact(text='{"a": 1}'), Matches(pattern=r"1\}\s*\Z")])
def test_a_code_fence_around_what_was_asked_for_is_named(check):
    assert (
        tell_deviation(check, FENCED)
        == "the answer is in a code fence (```), and must stand there without one"
    )


def test_so_is_the_talk_beside_the_fence():
    assert "with other text beside it" in tell_deviation(BARE, f"Here it is:\n\n{FENCED}\n\nAnything else?")


@pytest.mark.parametrize(
    ("answer", "where"),
    [
        ("She lives in Oslo", "before"),
        ("Oslo, since 1999", "after"),
        ("She lives in Oslo.", "before and after"),
    ],
)
def test_a_right_text_between_other_text_is_told_without_the_text(answer, where):
    told = tell_deviation(Exact(text="Oslo"), answer)
    assert told == f"the right text is in it, with other text {where} it that must not be there"


def test_that_only_the_case_is_wrong_is_told():
    assert tell_deviation(Exact(text="REFUND"), "Refund") == "it is right but for upper and lower case"


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        (Exact(text="Oslo"), "Bergen"),
        (Exact(text="Oslo"), "Osloer Strasse"),
        (Exact(text="4"), "In these 24 houses 4 of them, or more, had a garden"),
        (Exact(text="Oslo", negate=True), "It is Oslo."),
        (Exact(text=" "), "It is Oslo."),
        (Exact(text="Oslo"), " \n"),
        (OBJECT, "no JSON at all"),
        (OBJECT, FENCED),
        (Matches(pattern=r"^\{"), FENCED),
        (Matches(pattern=r"\A[^a-z]*\Z"), FENCED),
        (Matches(pattern=r"\A```sql"), FENCED),
        (Matches(pattern=r"\A~~~"), "~~~\nx\n~~~"),
        (Matches(pattern=r"~~~\Z"), "~~~\nx\n~~~"),
        (Matches(pattern=r"DONE\Z"), f"DONE\n{FENCED}"),
        (Matches(pattern="DONE"), FENCED),
        (Contains(text="x"), FENCED),
    ],
)
def test_where_nothing_certain_can_be_said_nothing_is(check, answer):
    assert tell_deviation(check, answer) == ""


def test_the_optimizer_reads_it_below_what_was_not_met_once():
    trace = make_trace(Exact(text="Oslo"), Exact(text="oslo", ignore_case=True))
    text = render([trace], 1000, show_form=True)
    assert text.count("Why: the right text is in it, with other text before and after it") == 1
    assert "Why:" not in render([trace], 1000)
    assert "oslo" not in text.casefold()


@pytest.mark.parametrize(
    ("gold", "answer"), [("cat", "It is a cat"), ("42", "= 42"), ("YES", "yes"), ("7", "```\n7\n```")]
)
def test_a_short_answer_that_is_said_to_be_there_is_masked(gold, answer):
    text = render([make_trace(Exact(text=gold), answer=answer)], 1000, show_form=True)
    assert "Why:" in text
    assert gold.casefold() not in text.partition("What it answered:")[2].partition("Not met")[0].casefold()
