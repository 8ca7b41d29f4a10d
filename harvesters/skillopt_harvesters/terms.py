"""What a skeleton says, word by word: the terms that families are found by.

English and Chinese have lists here; other languages are compared by the words themselves.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from skillopt_harvesters.normalise import FENCED, STOP_WORDS, is_cjk, stem

if TYPE_CHECKING:
    from collections.abc import Sequence

VALUE = "<>"
# Verbs that say little without what they are about.
_LIGHT_TEXT = "make do get give take put run use set show tell check look see go want need try keep work"
# Nouns that say little of what they stand with: "the parser stuff".
_EMPTY_TEXT = "work stuff thing bit part piece"
# Words people use for the same; the first of each line stands for all.
_SAME_TEXT = """
create add write draft generate produce author compose introduce
fix repair mend solve resolve correct debug troubleshoot
explain describe clarify
review audit critique
remove delete drop
upgrade bump
improve optimise optimize
summarise summarize
doc document docs documentation
reduce shrink slim trim minimise minimize smaller lighter
accelerate speed faster quicker
fail broken flaky
test pytest unittest jest vitest rspec junit
hour hourly
day daily
week weekly
month monthly
year yearly
写 编写 撰写 起草 生成 创建 新增 补充 加上 添加 增加
修 修复 修正 修理 解决
删 删除 移除 去掉 删掉 去除
启用 打开 开启
禁用 关闭 停用
启动
停止
升级
降级
导入
导出
安装
卸载
上传
下载
加密
解密
压缩
解压
显示
隐藏
备份
恢复
合并
拆分
运行 执行
检查 审查 审核 评审
分析
解释 讲解
翻译
润色
总结 概括
整理
修改
更新
优化
重构
部署
重启
提交
发布
回滚
"""
_PREPOSITIONS_TEXT = (
    "for to of in on at by from with into onto about as around covering over under via per using "
    "für von zu aus mit über auf para de del sobre con pour sur dans avec"
)
_ARTICLES = frozenset("the a an my our this these der die das le les el los las".split())
# Characters that carry grammar and no matter.
_PARTICLES = frozenset("的了吗呢吧啊呀请把给为对在和与是有个一下我你您这那里被让将帮着过并及或")
# After these comes what something is done to.
_MARKERS = frozenset("把给为对将")
PREPOSITIONS = frozenset(_PREPOSITIONS_TEXT.split())
# What an ask for something to be made may open with.
PRODUCING = frozenset("create make do give get need want".split())
LIGHT = frozenset(stem(word) for word in _LIGHT_TEXT.split()) | {"create"}
_EMPTY = frozenset(stem(word) for word in _EMPTY_TEXT.split())
_SAME = {stem(word): line.split()[0] for line in _SAME_TEXT.strip().splitlines() for word in line.split()}


_APOSTROPHE = re.compile("['’]")
# Words of two characters that are told apart as wholes: "启用" and "禁用" have one in common.
CJK_DEEDS = frozenset(filter(is_cjk, _SAME.values()))


class Term(NamedTuple):
    """One word that tells, in its common form; a value is `VALUE`.

    `tail` says that it stands behind a preposition, where values mostly are. Where nothing tells how far that
    reaches, it is the first word or character alone: in a script without spaces, and when an ask opens with
    what it is about ("the parser has no tests"). `closes` says that it ends a run of words that tell.
    """

    word: str
    tail: bool
    closes: bool = False


def find_terms(skeleton: Sequence[str]) -> tuple[Term, ...]:
    """Return the telling words of a skeleton in order: stop words left out, verbs of one deed made one."""
    terms: list[Term] = []
    tail = marked = articled = False
    tokens = iter(pairwise((*skeleton, "")))
    for token, following in tokens:
        if token == FENCED or token.startswith("/"):
            terms.append(Term(token, tail))
        elif token.startswith("<"):
            terms.append(Term(VALUE, tail))
        elif is_cjk(token):
            if following and token + following in _SAME:
                terms.append(Term(_SAME[token + following], marked))
                next(tokens)
            elif token not in _PARTICLES:
                terms.append(Term(token, marked))
            marked = token in _MARKERS
        elif token in STOP_WORDS or token in PREPOSITIONS:
            tail = tail or (token in PREPOSITIONS and bool(terms))
            articled = articled or token in _ARTICLES
        elif _APOSTROPHE.split(token)[0] not in STOP_WORDS:
            # "The parser has no tests", "why is the parser slow".
            opens_with_thing = not terms and articled
            closes = not following or following[0] == "<" or following in STOP_WORDS | PREPOSITIONS
            terms.append(Term(unify(_APOSTROPHE.split(token)[0]), tail or opens_with_thing, closes))
    return tuple(terms)


def unify(word: str) -> str:
    """Return the common form of a word: its stem, or the verb that stands for all of the same deed."""
    base = stem(word)
    return _SAME.get(base, base)


def weigh(word: str, *, opens: bool) -> float:
    """Return how much a word says about what is asked, 0 to 1; a light verb says little where it opens."""
    if word in _EMPTY or (opens and word in LIGHT):
        return 0.5
    if is_cjk(word):
        return 0.8 if word in CJK_DEEDS else 0.4
    return 1.0
