"""Sentences that people put behind whatever they ask: rules of the house, the format of the answer.

Two long prompts that share them are not the same ask. A sentence that stands behind asks for different deeds
says nothing about either.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillopt_harvesters.normalise import FENCED, normalise
from skillopt_harvesters.terms import find_terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Shorter asks are told by their words as they are.
_LONG = 25
_MOST_SENTENCES = 200
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s*(?=\s|[\u3400-\u9fff])|\n+")


def strip_boilerplate(
    prompts: Mapping[str, str], skeletons: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Return the skeletons of asks, by key, without the sentences that other deeds are followed by as well.

    What an ask opens with always stays.
    """
    long = {
        key: _split(prompts[key])
        for key, skeleton in skeletons.items()
        if len(skeleton) >= _LONG and skeleton[0] != FENCED and not skeleton[0].startswith("/")
    }
    deeds: dict[str, set[str]] = {}
    for key, sentences in long.items():
        deed = _find_deed(skeletons[key])
        for sentence in sentences[1:]:
            deeds.setdefault(_fold(sentence), set()).add(deed)
    stripped = dict(skeletons)
    for key, sentences in long.items():
        kept = [sentence for sentence in sentences[1:] if len(deeds[_fold(sentence)]) < 2]
        if len(kept) < len(sentences) - 1:
            stripped[key] = normalise(" ".join([sentences[0], *kept]))
    return stripped


def _split(prompt: str) -> Sequence[str]:
    sentences = [sentence for sentence in _SENTENCE_END.split(prompt, _MOST_SENTENCES) if sentence.strip()]
    return sentences or [prompt]


def _fold(sentence: str) -> str:
    return " ".join(sentence.casefold().split())


def _find_deed(skeleton: tuple[str, ...]) -> str:
    terms = find_terms(skeleton[:_LONG])
    return terms[0].word if terms else ""
