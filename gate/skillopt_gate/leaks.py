"""Text of held-out tasks that a skill copied: such a skill knows the answers instead of the way."""

from __future__ import annotations

import re
from collections.abc import Sequence

WORDS = 8
CHARACTERS = 40
_MOST_SPACES = 2

_WORD = re.compile(r"\w+")


def find_leaks(skill_text: str, secrets: Sequence[str], *, known: Sequence[str] = ()) -> list[str]:
    """Return the passages of `secrets` that `skill_text` repeats, in the order of the secrets, each once.

    A passage is at least `WORDS` words in a row (case, punctuation and spacing aside), or, where text has
    hardly any spaces such as paths, keys or Chinese, `CHARACTERS` characters. Passages that also occur
    in `known` are no leaks: wordings that train tasks share with held-out ones, and what the user said when
    correcting the agent. What counts as secret is the caller's to say. Linear in the length of all texts.
    """
    skill = _Shingles([skill_text])
    if not skill.words and not skill.characters:
        return []
    public = _Shingles(known)
    found: dict[str, None] = {}
    for secret in secrets:
        text = " ".join(secret.casefold().split())
        spans = _word_spans(text, skill.words, public.words)
        spans += _character_spans(text, skill.characters, public.characters)
        for start, end in _merge(spans):
            found.setdefault(text[start:end])
    return list(found)


class _Shingles:
    def __init__(self, texts: Sequence[str]) -> None:
        self.words: set[tuple[str, ...]] = set()
        self.characters: set[str] = set()
        for raw in texts:
            text = " ".join(raw.casefold().split())
            words = _WORD.findall(text)
            self.words.update(tuple(words[at : at + WORDS]) for at in range(len(words) - WORDS + 1))
            self.characters.update(text[at : at + CHARACTERS] for at in range(len(text) - CHARACTERS + 1))


def _word_spans(
    text: str, skill: set[tuple[str, ...]], public: set[tuple[str, ...]]
) -> list[tuple[int, int]]:
    places = list(_WORD.finditer(text))
    words = [place.group() for place in places]
    spans = []
    for at in range(len(words) - WORDS + 1):
        shingle = tuple(words[at : at + WORDS])
        if shingle in skill and shingle not in public:
            spans.append((places[at].start(), places[at + WORDS - 1].end()))
    return spans


def _character_spans(text: str, skill: set[str], public: set[str]) -> list[tuple[int, int]]:
    spans = []
    for at in range(len(text) - CHARACTERS + 1):
        shingle = text[at : at + CHARACTERS]
        if shingle in skill and shingle not in public and shingle.count(" ") <= _MOST_SPACES:
            spans.append((at, at + CHARACTERS))
    return spans


def _merge(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join overlapping spans, so that a long copied passage is reported once and whole."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
