"""The form of what checks want is told, the answers are not."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from skillopt_replay.tasks import Contains, Exact, JsonSchema, Matches
from skillopt_sleep.training import make_task
from skillopt_sleep.training.forms import find_forms, tell_common


def tell(*checks):
    tasks = [make_task(f"t{number}", f"Ask {number}.", check) for number, check in enumerate(checks)]
    forms = find_forms(tasks)
    return [forms.get(check) for check in checks]


def test_of_an_exact_text_only_marks_and_kinds_of_words_are_told():
    (told,) = tell(Exact(text="=SUM(B2:B133)"))
    assert told == (
        "the final answer must be `=<WORD>(<WORD><number>:<WORD><number>)`,"
        " with nothing before or after it, and no code fence"
    )
    assert "<WORD>-<5 digits>" in tell(Exact(text="ROM-00007"))[0]
    assert "be `<Word> <number>`, " in tell(Exact(text="Rome 7"))[0]
    assert "be `<word>.`, " in tell(Exact(text="Rome.", ignore_case=True))[0]


def test_a_bare_word_or_number_is_told_in_words():
    assert tell(Exact(text="Rome", ignore_case=True), Exact(text="1987")) == [
        "the final answer must be one word alone, with nothing before or after it, and no code fence",
        "the final answer must be one number alone, with nothing before or after it, and no code fence",
    ]
    assert "in capital letters" in tell(Exact(text="BUG"))[0]
    assert "a few words alone" in tell(Exact(text="the cat sat down"))[0]


def test_several_forms_of_exact_texts_are_told_as_one_sentence():
    answers = ("Oslo", "1987", "1990", "the old mill")
    tasks = [make_task(f"t{n}", f"Ask {n}.", Exact(text=text)) for n, text in enumerate(answers)]
    assert tell_common(tasks) == [
        "the final answer must be one number alone or one word alone, with a capital letter or a few words"
        " alone, with nothing before or after it, and no code fence"
    ]


def test_checks_in_different_places_are_told_one_after_the_other():
    checks = (Matches(pattern=r"\A[^a-z]*\Z"), Matches(pattern=r"DONE\Z"))
    tasks = [make_task(f"t{n}", f"Ask {n}.", *checks) for n in range(3)]
    assert tell_common(tasks) == [
        "the final answer must be in UPPER CASE throughout, every letter of it",
        "the final answer must end with `DONE`",
    ]
    assert tell_common([make_task("t", "Ask.", Contains(text="x"))]) == []


def test_a_long_text_is_told_as_words():
    assert "`<words>.`" in tell(Exact(text="the cat sat on the mat."))[0]


def test_words_that_the_texts_of_three_tasks_have_are_their_form():
    told = tell(*[Exact(text=f"total: {number}") for number in (3, 5, 8)])
    assert "`total: <number>`" in told[0]
    told = tell(*[Exact(text=f"total: {number}") for number in (3, 5, 5)])
    assert "total" not in told[0]
    assert "7" not in tell(*[Exact(text=f"{word}7") for word in ("b", "c", "d")])[0]


def test_one_answer_of_all_tasks_stays_hidden():
    assert "yes" not in tell(*[Exact(text="yes", ignore_case=True)] * 4)[0]


def test_a_text_of_marks_alone_has_no_form_apart_from_itself():
    assert tell(Exact(text="{}")) == [None]


@given(st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=2))
def test_no_word_or_number_of_an_answer_is_told(answers):
    for answer, told in zip(answers, tell(*[Exact(text=answer) for answer in answers]), strict=True):
        shown = (told or "").partition("`")[2].rpartition("`")[0]  # a few forms are told in words alone
        rest = re.sub(r"<(word|WORD|Word|words|number|\d+ digits)>", "", shown)
        assert not any(map(str.isalnum, rest)), answer


def test_a_pattern_is_told_when_three_tasks_share_it():
    shared = Matches(pattern=r"(\S+\s+){4}\S")
    assert tell(shared, shared, shared)[0] == (
        r"the final answer must match the regular expression `(\S+\s+){4}\S`"
    )
    assert tell(shared, shared) == [None, None]


def test_of_patterns_that_differ_what_they_share_is_told():
    told = tell(*[Matches(pattern=rf"#### {number}\Z") for number in (3, 15, 8)])
    assert told[0] == "the final answer must end with `#### <number>`"
    assert tell(Matches(pattern=r"#### 3\Z")) == [None]


def test_of_a_json_schema_the_keys_that_all_have_and_their_types_are_told():
    def schema(item, path="", **more):
        properties = {"item": {"const": item}, "qty": {"type": "integer"}, **more}
        return JsonSchema(schema=json.dumps({"type": "object", "properties": properties}), path=path)

    told = tell(schema("mug"), schema("lamp", note={"enum": ["soon"]}), schema("chair"))
    form = '{"item": <text>, "qty": <integer>}'
    assert told == [f"the whole answer must be {form} and nothing else: raw JSON, without Markdown"] * 3
    assert tell(schema("mug")) == [None]
    told = tell(*[schema(item, path="order.json") for item in ("mug", "lamp", "chair")])
    assert told[0] == f"the result must be JSON: {form}"


def test_what_must_not_be_has_no_form():
    assert tell(*[Exact(text=f"total: {number}", negate=True) for number in range(3)]) == [None] * 3


def test_what_only_the_tasks_in_hand_share_is_an_answer_and_stays_hidden():
    def ask(*checks):
        return [make_task(f"t{number}", f"Ask {number}.", check) for number, check in enumerate(checks)]

    refund, bug = Matches(pattern=r"\Arefund\Z"), Matches(pattern=r"\Abug\Z")
    tasks = ask(refund, refund, refund, bug)
    assert find_forms(tasks[:3], tasks) == {}
    assert tell_common(tasks[:3], tasks) == []
    tasks = ask(*[Exact(text=f"{word}, {who} is") for word in ("yes", "no") for who in ("he", "she", "it")])
    (told,) = set(find_forms(tasks[:3], tasks).values())
    assert "`<word>, <word> is`" in told
    tasks = ask(*[Matches(pattern=f"{end} {n}\\Z") for end in ("total", "sum") for n in (3, 5, 8)])
    assert set(find_forms(tasks[:3], tasks).values()) == {"the final answer must end with `<word> <number>`"}


def test_a_key_that_only_the_tasks_in_hand_want_is_not_told():
    def want(*keys):
        return JsonSchema(schema=json.dumps({"properties": {key: {"type": "string"} for key in keys}}))

    checks = [*[want("name", "oslo")] * 3, want("name", "bergen"), JsonSchema(schema="{"), want()]
    tasks = [make_task(f"t{number}", f"Ask {number}.", check) for number, check in enumerate(checks)]
    (told,) = set(find_forms(tasks[:3], tasks).values())
    assert '{"name": <text>}' in told
