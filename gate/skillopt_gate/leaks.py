"""Text of held-out tasks that a skill copied: such a skill knows the answers instead of the way."""

from __future__ import annotations

import re
from collections.abc import Sequence

from skillopt_gate.disguises import list_readings, simplify, squeeze

WORDS = 8
CHARACTERS = 40
# Letters and digits without anything between them: about ten words.
LETTERS = 48
# A passage that was reworded here and there still shares most of its runs of three words.
_RUN = 3
_FEWEST_RUNS = 10
_REWORDED = 0.5
_MOST_SPACES = 2

_WORD = re.compile(r"\w+")


def find_leaks(skill_text: str, secrets: Sequence[str], *, known: Sequence[str] = ()) -> list[str]:
    """Return the passages of `secrets` that `skill_text` repeats, in the order of the secrets, each once.

    A passage is at least `WORDS` words in a row (case, punctuation and spacing aside), or, where text has
    hardly any spaces such as paths, keys or Chinese, `CHARACTERS` characters, or `LETTERS` letters and digits
    in a row whatever stands between them. Accents, invisible characters, letters that look alike and the
    usual encodings hide nothing. A secret of which half the runs of three words are there was copied too,
    reworded here and there; a free paraphrase is not found.

    Passages that also occur in `known` are no leaks: wordings that train tasks share with held-out ones, and
    what the user said when correcting the agent. What counts as secret is the caller's to say. Linear in the
    length of all texts.
    """
    skill = _Shingles(list_readings(skill_text))
    public = _Shingles(known)
    found: dict[str, None] = {}
    for secret in secrets:
        text = " ".join(secret.casefold().split())
        spans = _word_spans(text, skill, public)
        spans += _character_spans(text, skill.characters, public.characters)
        spans += _letter_spans(text, skill.letters, public.letters)
        for start, end in _merge(spans):
            found.setdefault(text[start:end])
    return list(found)


class _Shingles:
    def __init__(self, texts: Sequence[str]) -> None:
        self.words: set[tuple[str, ...]] = set()
        self.runs: set[tuple[str, ...]] = set()
        self.characters: set[str] = set()
        self.letters: set[str] = set()
        for raw in texts:
            text = " ".join(raw.casefold().split())
            words = _WORD.findall(simplify(text))
            self.words.update(_list_runs(words, WORDS))
            self.runs.update(_list_runs(words, _RUN))
            self.characters.update(text[at : at + CHARACTERS] for at in range(len(text) - CHARACTERS + 1))
            letters, _ = squeeze(text)
            self.letters.update(letters[at : at + LETTERS] for at in range(len(letters) - LETTERS + 1))


def _list_runs(words: Sequence[str], length: int) -> list[tuple[str, ...]]:
    return [tuple(words[at : at + length]) for at in range(len(words) - length + 1)]


def _word_spans(text: str, skill: _Shingles, public: _Shingles) -> list[tuple[int, int]]:
    places = list(_WORD.finditer(text))
    words = [simplify(place.group()) for place in places]

    def span(at: int, length: int) -> tuple[int, int]:
        return places[at].start(), places[at + length - 1].end()

    spans = [
        span(at, WORDS)
        for at, run in enumerate(_list_runs(words, WORDS))
        if run in skill.words and run not in public.words
    ]
    own = [(at, run) for at, run in enumerate(_list_runs(words, _RUN)) if run not in public.runs]
    shared = [at for at, run in own if run in skill.runs]
    if len(own) >= _FEWEST_RUNS and len(shared) >= _REWORDED * len(own):
        spans.append((places[shared[0]].start(), places[shared[-1] + _RUN - 1].end()))
    return spans


def _character_spans(text: str, skill: set[str], public: set[str]) -> list[tuple[int, int]]:
    spans = []
    for at in range(len(text) - CHARACTERS + 1):
        shingle = text[at : at + CHARACTERS]
        if shingle in skill and shingle not in public and shingle.count(" ") <= _MOST_SPACES:
            spans.append((at, at + CHARACTERS))
    return spans


def _letter_spans(text: str, skill: set[str], public: set[str]) -> list[tuple[int, int]]:
    letters, places = squeeze(text)
    spans = []
    for at in range(len(letters) - LETTERS + 1):
        shingle = letters[at : at + LETTERS]
        if shingle in skill and shingle not in public:
            spans.append((places[at], places[at + LETTERS - 1] + 1))
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
