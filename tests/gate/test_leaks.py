"""Held-out text inside a skill."""

from __future__ import annotations

import base64
import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_gate.leaks import CHARACTERS, WORDS, find_leaks

PROMPT = "Write the weekly sales report for the Nordics team and mail it to Ingrid before noon"


def test_a_copied_prompt_is_found_whole_whatever_its_case_and_spacing():
    skill = f"# Reports\n\nWhen asked: {PROMPT.upper().replace(' ', chr(10), 3)}, do so.\n"
    assert find_leaks(skill, [PROMPT]) == [PROMPT.casefold()]


def test_eight_words_in_a_row_are_a_leak_and_seven_are_not():
    words = PROMPT.split()
    assert find_leaks(" ".join(words[2 : 2 + WORDS]), [PROMPT]) == [" ".join(words[2 : 2 + WORDS]).casefold()]
    assert find_leaks(" ".join(words[2 : 1 + WORDS]), [PROMPT]) == []


def test_punctuation_between_the_words_hides_nothing():
    assert find_leaks(PROMPT.replace(" ", ", "), [PROMPT]) == [PROMPT.casefold()]


def test_a_long_key_without_spaces_is_found():
    key = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    assert find_leaks(f"Answer `{key}`.", [f"expects {key} at the end"]) == [key]
    assert find_leaks(f"Answer `{key}`.", [f"expects {key} at the end"], known=[f"use {key}"]) == []


def test_chinese_text_is_found_by_its_characters():
    prompt = (
        "请把本周北欧团队的销售数据整理成一份带有图表的报告并在中午之前发送给英格丽德和她的同事们以便周会讨论"
    )
    assert len(prompt) > CHARACTERS
    assert find_leaks(f"示例:{prompt}", [prompt]) == [prompt]


def test_short_shared_phrases_are_no_leak():
    assert find_leaks("Always run the tests before you commit.", ["Run the tests, then commit."]) == []


def test_wording_that_train_tasks_share_is_no_leak():
    shared = "please write the weekly report for the team and keep it short"
    skill = f"Asked to {shared}, start with the numbers."
    held_out = f"Good morning, {shared}; this one is about Finland."
    assert find_leaks(skill, [held_out]) != []
    assert find_leaks(skill, [held_out], known=[f"Hello! {shared.title()}. Thanks"]) == []


def test_each_passage_is_named_once_in_the_order_of_the_secrets():
    other = "Summarise the incident of last night for the people who were on call then"
    assert find_leaks(f"{other}. {PROMPT}.", [PROMPT, other, PROMPT]) == [PROMPT.casefold(), other.casefold()]


@given(st.text(max_size=300), st.lists(st.text(max_size=200), max_size=4))
def test_any_text_is_handled_and_known_text_is_never_a_leak(skill, secrets):
    assert find_leaks(skill, secrets, known=[skill]) == []
    for leak in find_leaks(skill, secrets):
        assert any(leak in " ".join(secret.casefold().split()) for secret in secrets)


@given(st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta"]), min_size=WORDS, max_size=30))
def test_a_secret_copied_verbatim_never_escapes(words):
    secret = " ".join(words)
    assert find_leaks(f"before {secret} after", [secret]) == [secret]


DISGUISES = {
    "accents": lambda text: text.replace("e", "é").replace("o", "ö"),
    "letters that look alike": lambda text: text.replace("e", "е").replace("o", "о").replace("a", "а"),
    "wide letters": lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "invisible characters": "\u200b".join,
    "one word a line, numbered": lambda text: "\n".join(
        f"{at}. {word}" for at, word in enumerate(text.split())
    ),
    "one word a line, as a list": lambda text: "\n".join(f"- {word}" for word in text.split()),
    "underscores": lambda text: text.replace(" ", "_"),
    "letters apart": " ".join,
    "no spaces": lambda text: text.replace(" ", ""),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 for links": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "hex": lambda text: text.encode().hex(),
    "percent": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "entities": lambda text: "".join(f"&#{ord(c)};" for c in text),
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "backwards": lambda text: text[::-1],
    "comments between the words": lambda text: text.replace(" ", " <!-- --> "),
    "other words here and there": lambda text: text.replace("weekly", "daily").replace("noon", "lunch"),
}


@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_disguise_hides_nothing(disguise):
    skill = f"# Reports\n\n- Know this one: {DISGUISES[disguise](PROMPT)}\n- Be brief.\n"
    assert find_leaks(skill, [PROMPT])
    assert find_leaks(skill, [PROMPT], known=[PROMPT]) == []
    assert find_leaks("# Reports\n\n- Start with the numbers.\n- Be brief.\n", [PROMPT]) == []


def test_speaking_of_the_same_thing_in_other_words_is_no_leak():
    skill = "When a sales report is due, fetch the numbers first, keep it short, and mail it before noon."
    assert find_leaks(skill, [PROMPT]) == []


@given(st.text(alphabet="абвгдеёжзийклмнопрстуфхцчшщъыьэюя ", min_size=60, max_size=200))
def test_words_of_other_scripts_are_found_as_they_are(prompt):
    if len("".join(prompt.split())) >= 60:
        assert find_leaks(f"- {prompt.upper()}", [prompt])
    assert find_leaks("- Пишите коротко.", [prompt]) == []


def test_a_long_skill_is_read_in_time_that_grows_with_its_length():
    words = [f"word{at % 977}" for at in range(20_000)]
    assert find_leaks(" ".join(words), [" ".join(reversed(words))]) == []
