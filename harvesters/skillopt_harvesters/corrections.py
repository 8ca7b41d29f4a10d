"""Corrections in the user's own words: what was wanted, what was not.

A prompt that follows an agent's answer is a correction when it opens like one ("no, ...", "that's wrong",
"you forgot ...", "don't ...", "always ...") or gives a pair ("use X, not Y"). Only quoted, code-like or
short fragments are taken out of it; the rest of the sentence stays a quote.
"""

from __future__ import annotations

import re

import msgspec

from skillopt_harvesters import phrases as say
from skillopt_harvesters.redact import redact_within
from skillopt_harvesters.vocabulary import looks_like_command

MAX_QUOTE = 300
_MAX_TEXT = 4_000
_MAX_SENTENCE = 400


class Correction(msgspec.Struct, frozen=True):
    """What the user wanted and did not want; both None when only the complaint is clear.

    `general` is True for an instruction ("use X, not Y"), False for a fact about one answer ("it should be
    X"). `literal` is True when a fragment was quoted or looks like code or a number, so that it can be looked
    for as it stands. `quote` is redacted.
    """

    wanted: str | None
    unwanted: str | None
    quote: str
    general: bool = True
    literal: bool = False


def is_correction(text: str) -> bool:
    """Tell whether a prompt that follows an agent's answer corrects it."""
    return bool(find_corrections(text))


def find_corrections(text: str, *, refusal: bool = False) -> tuple[Correction, ...]:
    """Return the corrections in a prompt; empty when it is none.

    `refusal` says that the text is the reason for refusing a tool call, so that no opener is needed. A
    correction without a usable fragment is returned with both sides None.
    """
    text = text[:_MAX_TEXT].strip()
    if not text or (not refusal and not _opens_as_correction(text)):
        return ()
    found: list[Correction] = []
    for sentence in say.SENTENCE.split(text):
        if sentence.strip():
            found.extend(_find_in(sentence.strip()[:_MAX_SENTENCE], text))
    if found:
        return tuple(dict.fromkeys(found))
    return (Correction(None, None, redact_within(text, MAX_QUOTE)),)


def _opens_as_correction(text: str) -> bool:
    if say.FRIENDLY.match(text) or say.FRIENDLY_ALONE.match(text):
        return False
    return bool(say.OPENER.match(text) or say.PAIR_ALONE.match(text))


def _find_in(sentence: str, text: str) -> list[Correction]:
    quote = redact_within(text, MAX_QUOTE)
    for pattern in (say.PAIR_QUOTED, say.PAIR_AFTER_NO, *say.PAIRS):
        match = pattern.match(sentence) if pattern is say.PAIR_AFTER_NO else pattern.search(sentence)
        if match:
            wanted, unwanted = _clean(_tail(match["wanted"])), _clean(match["unwanted"])
            if wanted and unwanted and wanted != unwanted:
                literal = _is_literal(match["wanted"]) or _is_literal(match["unwanted"])
                return [Correction(wanted, unwanted, quote, _has_letter(wanted), literal)]
    found = _find_fact(sentence, quote)
    if found:
        return [found]
    wanted, wanted_literal = _first(sentence, "wanted", say.ALWAYS, say.ALWAYS_QUOTED, say.WANTED)
    unwanted, unwanted_literal = _first(sentence, "unwanted", say.UNWANTED, say.UNWANTED_QUOTED)
    if wanted == unwanted:
        wanted = None
    if wanted or unwanted:
        return [Correction(wanted, unwanted, quote, literal=wanted_literal or unwanted_literal)]
    return []


def _find_fact(sentence: str, quote: str) -> Correction | None:
    """Return what one answer should have been: "it should be X", "it must print X"."""
    match = say.SHOULD.search(sentence)
    printed = say.SHOULD_PRINT.search(sentence)
    if printed and not (match and match["wanted"][0] in "`\"“'"):
        wanted = _clean(printed["wanted"], whole=True)
        return Correction(wanted, None, quote, general=False, literal=True) if wanted else None
    if not match or not (_is_literal(match["wanted"]) or say.NAME.search(match["wanted"])):
        return None
    wanted = _clean(match["wanted"])
    unwanted = _clean(match["unwanted"] or "")
    return Correction(wanted, unwanted, quote, general=False, literal=True) if wanted else None


def _first(sentence: str, group: str, *patterns: re.Pattern[str]) -> tuple[str | None, bool]:
    for pattern in patterns:
        match = pattern.search(sentence)
        if match:
            fragment = _clean(match[group])
            if fragment:
                return fragment, _is_literal(match[group])
    return None, False


def _tail(fragment: str) -> str:
    """Return what a loose phrase leads to: "dates as 2024-01-31" is about the date."""
    if fragment[0] in "`\"“'" or looks_like_command(fragment):
        return fragment
    return say.LEADS_TO.split(fragment)[-1]


def _is_literal(fragment: str) -> bool:
    """Whether a fragment stands for itself: quoted, code or a number. "JSON" alone is a format, no text."""
    return bool(say.QUOTE_MARK.search(fragment) or say.CODE_MARK.search(fragment))


def _clean(fragment: str, *, whole: bool = False) -> str | None:
    """Return the fragment without its marks, or None when nothing can be checked by it.

    `whole` says that the fragment is text as it should be printed, with its commas and end marks.
    """
    fragment = fragment.strip()
    quoted = say.QUOTED_ALONE.search(fragment)
    if quoted:
        fragment = quoted[0][1:-1].strip()
    elif whole:
        fragment = fragment.rstrip(".,;:?").strip()
    else:
        fragment = say.NOUN_FOR.sub("", fragment, count=1).strip().rstrip(".,;:?!").strip()
        if fragment.count("(") < fragment.count(")"):
            fragment = fragment.rstrip(")")
    words = fragment.lower().split()
    usable = quoted or whole or not (words and words[0] in say.EMPTY_WORDS)
    if (
        not words
        or not usable
        or len(words) > say.MAX_WORDS + 20
        or all(word in say.EMPTY_WORDS for word in words)
    ):
        return None
    if len(fragment) < 2 and not fragment.isdigit() and not quoted:
        return None
    return fragment if "[redacted:" not in redact_within(fragment, MAX_QUOTE) else None


def _has_letter(text: str) -> bool:
    return any(character.isalpha() for character in text)
