"""Held-out text inside a skill."""

from __future__ import annotations

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
