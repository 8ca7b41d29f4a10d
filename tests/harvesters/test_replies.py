"""What a prompt is to the answer before it: a correction, or one of the many things that look like one."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_harvesters.corrections import find_corrections
from skillopt_harvesters.lexicons import LEXICONS, Lexicon
from skillopt_harvesters.lexicons.compiled import compile_lexicon
from skillopt_harvesters.replies import Reply, asks_back, classify_reply, is_automatic, lexicons

REPLIES = ("looked-at", "held-out")


def read_samples(data, name: str) -> list[dict[str, str]]:
    lines = (data.parent / "replies" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("name", REPLIES)
@pytest.mark.parametrize("chinese", [False, True], ids=["English", "Chinese"])
def test_nine_of_ten_corrections_are_told_from_other_replies(data, name, chinese):
    """The rules were written without a look at the held-out ones."""
    samples = [
        one
        for one in read_samples(data, name)
        if chinese == any("\u4e00" <= c <= "\u9fff" for c in one["text"])
    ]
    assert len(samples) > 25
    told = [
        (
            one["label"] == "correction",
            classify_reply(one["text"], asked=one["asked"], answer=one["answer"]) is Reply.CORRECTION,
        )
        for one in samples
    ]
    right = sum(wanted == got for wanted, got in told)
    precise = sum(wanted for wanted, got in told if got) / sum(got for _, got in told)
    assert right / len(told) >= 0.9
    assert precise >= 0.9


def test_a_series_of_like_asks_are_asks():
    asked = "Which command adds httpx as a dependency of this project?"
    assert classify_reply("the command for adding rich as a project dependency", asked=asked) is Reply.ASK


@pytest.mark.parametrize(
    "text",
    [
        "Danke, super",
        "Merci beaucoup",
        "ありがとう",
        "mach das kürzer",
        "No hay problema",
        "С этим всё хорошо",
    ],
)
def test_a_language_without_a_lexicon_is_left_to_structure(text):
    assert classify_reply(text, asked="schreib einen Test", answer="Fertig.") is Reply.UNCLEAR


@pytest.mark.parametrize(
    "text",
    [
        "ja",
        "ja, bitte",
        "nein, alles gut",
        "kein Problem, weiter",
        "sieht gut aus",
        "super, mach weiter",
        "oui, c'est bien",
        "perfecto",
        "va bene, avanti",
        "はい、お願いします",
        "いいえ、大丈夫です",
        "問題ないです",
        "нет, всё хорошо, спасибо",
        "아니요, 괜찮아요",
        "όλα καλά",
        "cảm ơn",
    ],
)
def test_an_english_ask_makes_no_english_of_the_reply(text):
    reply = classify_reply(text, asked="add a retry to the http client", answer="Added a retry and a test.")
    assert reply is not Reply.CORRECTION


@pytest.mark.parametrize(
    "text",
    [
        "brb",
        "I have to go, bye",
        "gotta run, see you tomorrow",
        "good, never seen it this clean",
        "it's not a problem, all fine",
        "have a nice weekend",
        "lol",
        "haha nice",
        "np",
        "let me check",
        "one sec",
        "let's continue tomorrow",
        "that makes sense now",
        "works on my machine",
        "I don't know",
        "not sure yet",
        "not a problem",
        "not too bad!",
        "I don't have anything to add",
        "never mind the formatting",
        "no need to change anything, merge",
        "there's no need to redo it",
        "No need to apologise. Go on.",
        "can't wait to use it",
        "you never disappoint",
        "I never expected it to be this easy",
        "that must be it, thanks!",
        "you're right, my test was wrong",
        "sorry, I pasted the wrong link earlier",
        "src/net.py",
        "https://example.com/spec",
        "先这样吧",
        "不是问题",
        "不急",
        "等一下我看看",
        "这次没有错",
        "不要紧",
        "别的没有了",
        "好的，不要动了，就这样",
        "the linter says:\n> never use fixtures, use factories\n\nwhat do you think?",
        'my boss wrote "No, that is wrong, always use tabs, not spaces". any thoughts?',
        'the docs say: fine. He said "you forgot the tests". is he right?',
        "同事说“不对，应该用 yarn”，你怎么看？",
    ],
)
def test_chat_and_what_others_said_correct_nothing(text):
    reply = classify_reply(text, asked="add a retry to the http client", answer="Added a retry and a test.")
    assert reply is not Reply.CORRECTION


@pytest.mark.parametrize(
    "text",
    [
        'I said "use tenacity", not a loop of your own',
        'you wrote "retires", that is wrong',
        'the reviewer said "use tenacity". you forgot that',
        "never use npm",
        "in src/http.py please, not net.py",
        "lol, that's wrong",
        "let me check: no, it still fails",
        "I never asked for a test",
        "not a loop, a decorator",
        "测试没过",
        "不是这个问题，应该用 tenacity",
        "you must stop using print",
        "µ is wrong, use the Greek letter",
        'it should say "no retries left" instead',
    ],
)
def test_words_in_quotes_do_not_hide_a_correction(text):
    reply = classify_reply(text, asked="add a retry to the http client", answer="Added a retry and a test.")
    assert reply is Reply.CORRECTION


CHAT = (
    "top notch / you saved my day / that was quick / I'll buy you a beer / the demo was a success / hm...\n"
    "the accountants will be thrilled / accounting signed off on it / Maria says hi / back from vacation\n"
    "the printer is jammed, unrelated / happy friday / we're all set / over to you / surprise me / noted\n"
    "whatever works / that's out of scope / parking this for now / let's park it / I'm done for today\n"
    "metrics look healthy / rolled out to 10% / CI takes forever today / dinner time / meeting in 5, later"
)
WORK = (
    "amounts need two decimals / the footer overlaps the table / page numbers are missing / use weasyprint\n"
    "put the logo top right / the total is off by one cent / sort by date / A4, not letter / bold the total\n"
    "write to a temp file first / file names should carry the invoice number / this crashes on empty invoices"
)


def test_a_plain_statement_corrects_only_when_it_is_about_the_work():
    asked = "build the export of invoices as PDF in billing/export.py"
    answer = "The export is in place: each invoice is rendered with reportlab, a test covers two pages."

    def corrects(text):
        return classify_reply(text, asked=asked, answer=answer) is Reply.CORRECTION

    assert [text for text in re.split(r" / |\n", CHAT) if corrects(text)] == []
    assert [text for text in re.split(r" / |\n", WORK) if not corrects(text)] == []


def test_a_pasted_failure_is_a_correction_in_any_language():
    trace = 'Traceback (most recent call last):\n  File "a.py", line 1\nValueError: x'
    assert classify_reply(f"beim Start:\n{trace}") is Reply.CORRECTION
    assert classify_reply("npm ERR! missing script: test") is Reply.CORRECTION


@pytest.mark.parametrize(
    "text",
    [
        "continue",
        "Continue.",
        "继续",
        "繼續",
        "Continue from where you left off.",
        "keep going",
        "please continue",
        "继续完成剩下的任务",
        "好的,继续",
        "go on",
        "thanks, go ahead",
    ],
)
def test_automatic_prompts_say_nothing(text):
    assert is_automatic(text)
    assert classify_reply(text) in {Reply.CONSENT, Reply.ACCEPTANCE}


@pytest.mark.parametrize(
    "text", ["continue the migration to Postgres 16", "", "继续优化登录页面", "run the tests"]
)
def test_prompts_with_something_to_do_are_not_automatic(text):
    assert not is_automatic(text)


def test_only_a_question_to_be_answered_counts_as_one():
    assert asks_back("Done. Should it return JSON or XML?")
    assert asks_back("完成。返回 JSON 还是 XML？")
    assert not asks_back("Done. Would you like me to add tests?")
    assert not asks_back("Why? Because it is faster.")
    assert not asks_back("")


def test_every_entry_of_every_lexicon_is_a_pattern_and_every_language_is_listed_once():
    for lexicon in LEXICONS:
        compile_lexicon(lexicon).compile_all()
    languages = [lexicon.language for lexicon in LEXICONS]
    assert len(set(languages)) == len(languages) >= 2


def test_a_further_language_is_one_lexicon(monkeypatch):
    monkeypatch.setattr("skillopt_harvesters.replies.LEXICONS", (*LEXICONS, make_german()))
    lexicons.cache_clear()
    try:
        said = "das ist falsch, nimm pnpm statt npm"
        assert classify_reply(said) is Reply.CORRECTION
        [correction] = find_corrections(said)
    finally:
        lexicons.cache_clear()
    assert (correction.wanted, correction.unwanted) == ("pnpm", "npm")


def make_german() -> Lexicon:
    return Lexicon(
        language="de",
        spaced=True,
        marks=("nicht", "das", "ist"),
        objections=("das ist falsch",),
        bare=r"\S{1,80}",
        end=r"(?=\s|\Z)",
        doing=("nimm",),
        contrast=("statt",),
        pairs=(r"\b{do}\s+{wanted}\s+{not}\s+{unwanted}{end}",),
    )


@given(st.text(max_size=400), st.text(max_size=100), st.text(max_size=100))
def test_no_text_crashes_the_reading_of_a_reply(text, asked, answer):
    assert classify_reply(text, asked=asked, answer=answer) in Reply
    is_automatic(text)


@pytest.mark.parametrize(
    "text",
    [
        "can't complain",
        "that's not wrong",
        "I have no objections",
        "the error is gone, thanks",
        "it no longer fails",
        "tests don't fail now",
        "you didn't break anything, nice",
        "nothing is broken",
        "oops, wrong chat",
        "you were right, I was wrong",
        "don't stop, continue",
        "don't change anything, it's perfect",
        "this couldn't be better",
        "没有报错了",
        "错误没有了，谢谢",
        "是我错了，你是对的",
        "我看错了，没问题",
        "发错了，忽略",
        "不是你的问题，是我的网络",
    ],
)
def test_what_went_wrong_before_or_with_the_user_is_no_correction(text):
    assert classify_reply(text, asked="write the config file", answer="Done.") is not Reply.CORRECTION


@pytest.mark.parametrize(
    "text",
    [
        "the error is gone but now the build fails",
        "nothing works",
        "it doesn't fail, and it should",
        "the tests no longer fail because you deleted them",
        "you were right about the port, but the host is wrong",
        "还是没有报错信息",
        "错误没有消失",
    ],
)
def test_what_still_is_wrong_is_a_correction(text):
    assert classify_reply(text, asked="write the config file", answer="Done.") is Reply.CORRECTION
