"""Whether a prompt asks again for what an earlier one asked: a sign that needs no language."""

from __future__ import annotations

import re
import unicodedata
from difflib import get_close_matches

from skillopt_harvesters.normalise import STOP_WORDS, strip_polite

_MAX_CHARACTERS = 2_000
_LEAST_WORDS = 3
_LEAST_CHARACTERS = 8
_LEAST_UNSPACED = 5
_SPARE = 8
_TYPO = 0.8
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u0e00-\u0e7f"
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+(?:['’./_-]\w+)*")
_ONE_UNSPACED = re.compile(rf"[{_UNSPACED}]")


def asks_again(new: str, old: str) -> bool:
    """Tell whether `new` repeats `old`, word for word or nearly: typing errors, a few words more or less.

    A word in another's place is another ask ("... for the parser", "... for the lexer"), and short routines
    ("run the tests") are repeated for their own sake.
    """
    one, other = _tokens(new), _tokens(old)
    if not _says_enough(other):
        return False
    if one == other:
        return True
    gone, come = set(other) - set(one), set(one) - set(other)
    for word in sorted(gone):
        typos = get_close_matches(word, sorted(come)[:50], n=1, cutoff=_TYPO) if word.isalpha() else []
        if typos and typos[0].isalpha() and len(word) > _LEAST_WORDS:
            gone.discard(word)
            come.discard(typos[0])
    if gone and come:
        return False
    known = set(other)
    return len(gone) * _SPARE <= len(known) and len(come) <= max(_LEAST_WORDS, len(known))


def _tokens(prompt: str) -> list[str]:
    text = strip_polite(unicodedata.normalize("NFKC", prompt[:_MAX_CHARACTERS]).strip())
    return [word for word in _TOKEN.findall(text.casefold()) if word not in STOP_WORDS]


def _says_enough(tokens: list[str]) -> bool:
    unspaced = sum(1 for token in tokens if _ONE_UNSPACED.fullmatch(token))
    spaced = len(tokens) - unspaced
    return unspaced >= _LEAST_UNSPACED or (
        spaced >= _LEAST_WORDS and sum(map(len, tokens)) >= _LEAST_CHARACTERS
    )
