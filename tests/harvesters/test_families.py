"""Asks with the same template and other values are one family; others are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_harvesters.cluster import Patterns, compare
from skillopt_harvesters.grouping import group
from skillopt_harvesters.minhash import sign
from skillopt_harvesters.normalise import fold, normalise
from skillopt_harvesters.terms import find_terms
from tests.harvesters.asked import ask, group_prompts, show

ALIKE = [
    (
        "Write the SQL query: how many orders did Ana place?",
        "Write the SQL query: total amount of orders from Oslo?",
    ),
    ("add a changelog entry for X", "add a changelog entry for Y and Z"),
    ("Please add a changelog entry for the retry queue.", "add a changelog entry for #1234"),
    ("Fix the failing test in tests/test_a.py", "Can you fix the failing tests in src/b_test.go?"),
    ("Bump version to 1.2.3", "bump the version to 2.0"),
    ("Greet Ana in our house style.", "Greet Bob in our house style."),
    ("Commit the tax rules work", "Make a commit for tax rules"),
    ("Rename `foo` to `bar`", "rename `a.b` to `c`"),
    ("为登录表单编写单元测试", "请帮我为搜索索引编写单元测试"),
    ("启用功能开关 a", "打开功能开关 b"),
    ("运行支付模块的测试", "执行订单模块的测试"),
    ("给部署脚本补充中文注释", "给检查工具补充中文注释"),
    ("Add the rich package to the project", "Add the httpx package to the project"),
    ("add an entry to CHANGELOG.md", "add a changelog entry for the new button"),
]
UNLIKE = [
    ("Write the SQL query: how many orders did Ana place?", "Write the unit test for the parser"),
    ("Document the tax rules", "Commit the tax rules"),
    ("Write a function that parses dates", "Write a function that sorts users"),
    ("explain the parser", "refactor the parser"),
    ("run the tests", "run the linter"),
    ("add a changelog entry for X", "add a migration for the audit log"),
    ("add docstrings to the tax rules", "add a migration for the tax rules"),
    ("为登录表单编写单元测试", "删除登录表单的旧图标"),
    ("启用功能开关 a", "禁用功能开关 a"),
    ("升级依赖 react", "降级依赖 react"),
    ("导入用户数据", "导出用户数据"),
    ("检查接口文档", "翻译接口文档"),
    ("更新依赖", "分析依赖"),
    ("部署后台服务", "重启后台服务"),
    ("修复登录页的样式问题", "优化登录页的样式问题"),
    ("给 server.py 加上日志", "删掉 server.py 的日志"),
    ("write a Makefile for this project", "write a Dockerfile for the worker"),
    ("Write a test for session handling", "Add a migration for session handling"),
    ("Write greet.py with a greet function", "greet Bob"),
    ("run the tests", "write tests for the parser"),
    ("bad key please", "bad request please"),
    ("why is the address book so slow?", "why does the address book open twice?"),
]
NOUNS = "parser|tax rules|retry queue|price cache|audit log|login form|job scheduler|geo lookup".split("|")


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_the_same_ask_with_other_values_is_one_family(one, other):
    assert len(group_prompts(one, other)) == 1


@pytest.mark.parametrize(("one", "other"), UNLIKE)
def test_another_ask_is_another_family(one, other):
    assert len(group_prompts(one, other)) == 2


@pytest.mark.parametrize(
    "templates",
    [
        ("write a test for {}", "run the tests for {}", "fix the test for {}"),
        ("add docstrings to {}", "add a migration for {}", "add a REST endpoint for {}", "add metrics to {}"),
        ("explain how {} works", "profile {} and find the hot spot", "document the {} module"),
        ("review my diff for {}", "review the pull request for {} like an attacker would"),
        ("为{}编写单元测试", "运行{}的单元测试", "修复{}的报错", "给{}补充中文注释"),
    ],
)
def test_what_is_done_to_the_same_things_stays_apart(templates):
    things = ["登录表单", "发票导出", "重试队列", "搜索索引", "价格缓存"] if "为" in templates[0] else NOUNS
    made = group_prompts(*(template.format(thing) for thing in things for template in templates))
    assert sorted(map(sorted, made)) == sorted(
        sorted(template.format(thing) for thing in things) for template in templates
    )


def test_chinese_deeds_on_the_same_things_stay_apart():
    deeds, things = ("优化", "分析", "检查"), ("首页", "购物车", "登录页", "订单列表")
    families = [[f"{deed}{thing}的加载速度" for thing in things] for deed in deeds]
    found = group_prompts(*(prompt for alike in zip(*families, strict=True) for prompt in alike))
    assert sorted(map(sorted, found)) == sorted(map(sorted, families))


def test_words_that_stand_with_everything_are_values_and_do_not_join_asks():
    asks = [f"{deed} {thing}" for thing in NOUNS for deed in ("delete", "rename", "move", "measure", "hide")]
    assert all(len({prompt.split()[0] for prompt in cluster}) == 1 for cluster in group_prompts(*asks))


def test_values_leave_the_skeleton():
    skeleton = normalise(
        "Please rename `a` in src/x.py to 'b', see https://h.org/1 and #12 for Ana in do_it()"
    )
    expected = "rename <code> in <file> to <str> see <url> and <id> for <name> in <name>"
    assert " ".join(skeleton) == expected


def test_near_identical_prompts_fold_to_the_same():
    assert fold("Please add a changelog entry for X!") == fold("add  changelog entry for x") != fold("add y")
    assert fold("请帮我修复登录表单。") == fold("修复登录表单") != fold("修复搜索索引")


def test_what_varies_little_by_little_does_not_chain_into_one_family():
    words = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnrst"]
    asks = [" ".join(words[at : at + 6]) for at in range(len(words) - 6)]
    made = group_prompts(*asks)
    assert max(map(len, made)) <= 5
    for cluster in made:
        assert compare(*(dict.fromkeys(one.split(), 1.0) for one in (cluster[0], cluster[-1]))) > 0.2


def test_long_prompts_of_one_vocabulary_do_not_chain():
    words = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnrst"]
    asks = [" ".join(words[at : at + 60]) for at in range(0, 90, 6)]
    made = group_prompts(*asks)
    assert len(made) > 3
    assert all(asks.index(cluster[-1]) - asks.index(cluster[0]) <= 4 for cluster in made)


def test_a_long_prompt_with_other_values_is_one_family():
    long = "Act as a release manager for {}. Go through every commit since the last tag, sort what changed, "
    long += (
        "leave out what no user notices, say for each entry what is different now and why one should care, "
    )
    long += "and finish with the version number you would choose for {} and the reason for it."
    assert len(group_prompts(*(long.format(thing, thing) for thing in NOUNS))) == 1


def test_a_slash_command_is_one_family_whatever_follows_it():
    assert len(group_prompts("/greet Ana", "/greet everybody in the team", "/standup Ana")) == 2


@pytest.mark.parametrize(
    "word",
    [
        lambda n: (f"verb{n % 997}", f"noun{n}", f"thing{n * 7}", f"place{n % 13}"),
        lambda n: ("write", "report", f"noun{n}", f"thing{n % 50}"),
        lambda n: (f"w{n}", f"w{n + 1}", f"w{n + 2}", f"w{n + 3}"),
    ],
    ids=["alike in one word", "alike in half", "alike to the last one"],
)
def test_an_ask_is_compared_with_no_more_than_eighty_others_however_many_there_are(word):
    patterns = Patterns()
    most = 0
    for n in range(4000):
        before = patterns.comparisons
        patterns.add(dict.fromkeys(word(n), 1.0))
        most = max(most, patterns.comparisons - before)
    assert most <= 80


@given(
    st.lists(
        st.sampled_from(["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]), max_size=8, unique=True
    ),
    st.data(),
)
def test_likeness_is_symmetric_and_at_most_one(words, data):
    one = dict.fromkeys(words, 1.0)
    other = dict.fromkeys(data.draw(st.permutations([*words, "eta"])), 0.5)
    assert compare(one, other) == compare(other, one) <= 1.0
    assert sign(one.keys()) == sign(set(one))


@given(st.text(max_size=400))
def test_no_prompt_crashes_what_groups_it(text):
    find_terms(normalise(text))
    group([ask(f"x{text}")])


@given(st.text("写修删除复编新增请帮我吗 a", min_size=1, max_size=12))
def test_no_chinese_prompt_crashes_what_groups_it(text):
    assert group_prompts(text, text)


@pytest.mark.parametrize("prompt", ["这个怎么写", "这个 bug 帮我修", "先别删", "写"])
def test_a_chinese_prompt_may_end_with_its_deed(prompt):
    assert group_prompts(prompt, prompt) == [[prompt, prompt]]


@given(st.lists(st.sampled_from([one for pair in ALIKE + UNLIKE for one in pair]), max_size=12), st.data())
def test_the_order_in_which_sessions_are_given_does_not_matter(prompts, data):
    asks = [ask(prompt, number) for number, prompt in enumerate(prompts)]
    assert show(group(data.draw(st.permutations(asks)))) == show(group(asks))
