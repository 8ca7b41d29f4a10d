"""Prompts with their values taken out, so that the same ask looks the same."""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import lru_cache
from itertools import islice

from skillopt_harvesters.fences import find_fenced

MAX_TOKENS = 200
# Marks the skeleton of a template whose values stand in a fence.
FENCED = "<fenced>"
_MAX_CHARACTERS = 8_000
_MOST_WORDS = 20_000

# Placeholders, in the order they are tried; the text of each alternative stands for a value.
_VALUE = re.compile(
    r"(?P<code>```.*?(?:```|\Z)|`[^`\n]+`)"
    r"|(?P<url>\bhttps?://\S+)"
    r"|(?P<str>\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|(?<!\w)'[^'\n]{1,200}'(?!\w))"
    r"|(?P<file>@[\w./-]*\w|(?:~|\.{1,2})?/[\w.~-]+(?:/[\w.~@-]+)*/?|\b[\w-]{1,80}(?:/[\w.-]+)+"
    r"|\b[\w-]{1,80}\.(?:py|pyi|js|jsx|ts|tsx|go|rs|rb|java|kt|c|h|cc|cpp|hpp|cs|php|swift|sh|sql|css"
    r"|scss|html|json"
    r"|jsonl|yaml|yml|toml|ini|cfg|lock|txt|csv|xml|md|rst|ipynb|vue|svelte|tf|proto|png|jpg|svg|pdf)\b"
    r"|\b[A-Z]:\\\S+)"
    r"|(?P<id>\b[0-9a-f]{7,64}\b(?<=[0-9a-f])(?<![a-f]{7})|#\d+\b|\b[A-Z]{2,10}-\d+\b)"
    r"|(?P<num>(?<![A-Za-z_])v?\d[\d.,:/_-]*(?:%|[a-z]{1,3}\b)?)"
    r"|(?P<name>\b\w+\(\)|\b[a-z0-9]+(?:_[A-Za-z0-9]+)+\b|\b_\w+\b|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z0-9]+[A-Z]\w*"
    r"|\b[A-Z0-9]+(?:_[A-Z0-9]+)+\b|\b[a-z]\w*(?:\.[a-z_]\w*)+\b)",
    re.DOTALL,
)
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_TOKEN = re.compile(rf"<[a-z]+>|[{_CJK}]|[^\W_]+(?:['’][a-z]+)?", re.IGNORECASE)
_CJK_CHARACTER = re.compile(rf"[{_CJK}]")
# A Dockerfile and a Makefile are kinds of things, and so are files with names in capitals: CHANGELOG.md.
_PROPER = re.compile(r"(?<=[a-z,] )(?![A-Z][a-z]+file\b)[A-Z][a-z]+\b")
_KIND_OF_FILE = re.compile(r"(?<![\w./-])([A-Z]{4,20})\.(?:md|rst|txt)\b")
_POLITE = re.compile(
    r"(?:(?:hi|hey|hello|ok|okay|so|please|bitte|pls|plz|kindly|thanks|great|now|then|again)\b[\s,.!:-]*"
    r"|(?:can|could|would|will) you\b[\s,]*|i(?:'d| would) like (?:you )?to\b\s*"
    r"|i (?:want|need) (?:you )?to\b\s*|i (?:want|need)\b\s*|let(?:'|’)?s\b\s*|help me(?: to)?\b\s*"
    r"|go ahead and\b\s*|your task is to\b\s*|you (?:should|need to|must)\b\s*"
    r"|(?:请|麻烦|拜托)(?:你|您)?(?:帮(?:我|忙))?(?:一下)?[\s,，]*|(?:能不能|能否|可以)?(?:帮我|帮忙)(?:一下)?[\s,，]*"
    r"|(?:我想|我要|我需要)(?:你|让你)?[\s,，]*)+",
    re.IGNORECASE,
)
# Only so much of a prompt's end is looked at: a search through all of it would take its length squared.
_END = 80
_POLITE_END = re.compile(
    r"(?:[\s,.!]*\b(?:please|bitte|pls|plz|thanks|thank you|thx|for me|now)"
    r"|[\s,，。!！]*(?:谢谢(?:你|您)?|好吗|可以吗|吧|吗))"
    r"[\s.!?。！？]*\Z",
    re.IGNORECASE,
)
_STOP_TEXT = (
    "a an the this that these those it its my our your their his her i me we us you they he she to "
    "of in on at by "
    "for from with without into onto about as and or but if so than then is are was were be been "
    "being am do does "
    "did done have has had will would can could should shall may might must not no there here what "
    "which who whom "
    "when where why how all any some each every both just also only very too more most please now "
    "again still up "
    "out off over via per let lets many much s t d m re ve ll"
)
STOP_WORDS = frozenset(_STOP_TEXT.split())


def fold(prompt: str) -> str:
    """Return the prompt without what near-identical ones differ in: case, articles, politeness, end marks."""
    text = strip_polite(unicodedata.normalize("NFKC", prompt).strip())
    words = (word for word in text.casefold().split() if word not in {"a", "an", "the"})
    return " ".join(words).rstrip(" .!?,;:。！？，；：")


def strip_polite(text: str) -> str:
    """Take "please", "can you" and the like off the ends of a prompt."""
    polite = _POLITE.match(text)
    text = text[polite.end() :] if polite else text
    return text[:-_END] + _POLITE_END.sub("", text[-_END:])


def normalise(prompt: str) -> tuple[str, ...]:
    """Return the skeleton: lower-case tokens, values replaced by <code>, <file>, <name> and so on.

    A capitalised word inside a sentence counts as a name. Long prompts are cut to `MAX_TOKENS` tokens. A
    template around the user's words in a fence is `FENCED` and the template's tokens.
    """
    fenced = find_fenced(prompt)
    if fenced is not None:
        return _normalise_template(fenced.template)
    return _tokenise(strip_polite(unicodedata.normalize("NFKC", prompt[:_MAX_CHARACTERS]).strip()))


@lru_cache(maxsize=64)
def _normalise_template(template: str) -> tuple[str, ...]:
    return (FENCED, *_tokenise(unicodedata.normalize("NFKC", template[:_MAX_CHARACTERS])))


def _tokenise(text: str) -> tuple[str, ...]:
    text = _KIND_OF_FILE.sub(r"\1", text)
    text = _VALUE.sub(lambda match: f" <{match.lastgroup}> ", text)
    text = _PROPER.sub("<name>", text)
    tokens: list[str] = []
    for match in islice(_TOKEN.finditer(text), MAX_TOKENS * 2):
        # The same few thousand words make up all prompts: each is kept once.
        token = sys.intern(match[0].casefold())
        if not (token.startswith("<") and tokens and tokens[-1] == token):
            tokens.append(token)
    return tuple(tokens[:MAX_TOKENS])


def content_words(skeleton: tuple[str, ...]) -> list[str]:
    """Return the stemmed words that say what is asked: no stop words, no placeholders."""
    return [stem(token) for token in skeleton if not token.startswith("<") and token not in STOP_WORDS]


@lru_cache(maxsize=_MOST_WORDS)
def stem(word: str) -> str:
    """Take common English endings off, lightly: tests and test, failing and fail are one."""
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            base = word[: -len(ending)]
            if ending in {"ing", "ed"} and len(base) > 3 and base[-1] == base[-2] and base[-1] not in "ls":
                base = base[:-1]
            return base.rstrip("e") if len(base) > 3 else base
    return word.rstrip("e") if len(word) > 4 else word


@lru_cache(maxsize=_MOST_WORDS)
def is_cjk(token: str) -> bool:
    """Tell a character of a script that writes no spaces; one of them alone says little."""
    return bool(_CJK_CHARACTER.fullmatch(token))
