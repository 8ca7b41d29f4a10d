"""Words: runs of them, by which copies and duplicates are recognised, and numbers with their nouns."""

from __future__ import annotations

import math
import re
import unicodedata

# Scripts written without spaces count by the character.
_UNSPACED = "぀-ヿ㐀-鿿가-힯"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")


def words(text: str) -> list[str]:
    """Return the case-folded words of the text, punctuation left out.

    Full-width and other compatibility letters, and invisible characters, would hide a copy: they make no
    difference.
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    return _WORD.findall("".join(c for c in plain if unicodedata.category(c) != "Cf"))


_COMMON = frozenset(
    words(
        """
    a about after again all also always an and any are as at be because been before being but by can
    could did do does doing don done each else every for from get give go had has have he her here him
    his how i if in into is it its just let like make may me more most must my never no nor not now of
    on once one only or other our out over please put same she should so some such than that the their
    them then there these they thing this those to too under until up use used using very want was way
    we were what when where which while who why will with without would write wrong yes you your
    """
    )
)


def content_words(text: str) -> set[str]:
    """Return the words that carry meaning: no function words, no single letters."""
    return {word for word in words(text) if word not in _COMMON and len(word) > 1}


def runs(text: str, length: int) -> set[tuple[str, ...]]:
    """Return every run of `length` consecutive words; empty when the text is shorter."""
    sequence = words(text)
    return {tuple(sequence[i : i + length]) for i in range(len(sequence) - length + 1)}


def count_tokens(text: str) -> int:
    """Return the size in tokens, by the rule of four characters to one."""
    return math.ceil(len(text) / 4)


def say_number(number: int, one: str, many: str = "") -> str:
    """Return the number with its noun, for example "1 step" or "12,000 tokens"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
