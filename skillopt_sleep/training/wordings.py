"""Regular expressions in plain words: how an answer begins and ends, or what it may not hold."""

from __future__ import annotations

import re

# Only spaces and marks may stand before the first text or after the last one.
_ATOM = r"(?:\[(?:\\[^\w]|\\[snrt]|[^\]\\\w^])+\]|\\s)"
# What stands for something is one letter, and never read as several: two ways to read each double the time.
_LETTER = r"(?:<[\w ]+>|(?!<[\w ]+>)[\w #@:=<>/,;'\"!%&~-]|\\[^\w\s])"
_FLAGS = re.compile(r"\A\(\?[aimsux]+\)")
_WHOLE = re.compile(r"\A\\A\[\^((?:\\.|[^\]\\])+)\][*+]\\Z\Z")
_FIRST = re.compile(rf"\A\\A(?:{_ATOM}[*?])*(?P<text>{_LETTER}+)(?![*+?{{])")
_LAST = re.compile(rf"(?<!\\)(?P<text>{_LETTER}+)(?:{_ATOM}[*?])*\\Z\Z")
# A small model follows what an answer is sooner than what it is not.
_WITHOUT = {
    "a-z": "must be in UPPER CASE throughout, every letter of it",
    "A-Z": "must be in lower case throughout, every letter of it",
    "0-9": "must not hold a single digit",
    "\\d": "must not hold a single digit",
    "\\s": "must be in one piece, without a space",
    "\\n": "must be on one line",
    "a-zA-Z": "must not hold a single letter",
    "A-Za-z": "must not hold a single letter",
}

_BARE = (
    ", with no code fence (```) and no other text around it"  # what begins with anything else cannot match
)


def say_pattern(pattern: str) -> str:
    """Return what an answer that matches does ("must end with `DONE`"), "" when that is not plain."""
    plain = _FLAGS.sub("", pattern)
    if _has_branches(plain):
        return ""
    whole = _WHOLE.match(plain)
    if whole:
        return _WITHOUT.get(whole.group(1), "")
    first, last = _FIRST.match(plain), _LAST.search(plain)
    ends = [("begin", first), ("end", last)]
    said = [f"{verb} with `{_unescape(found['text'])}`" for verb, found in ends if found]
    return f"must {' and '.join(said)}{_BARE * bool(first)}" if said else ""


def _has_branches(pattern: str) -> bool:
    """Return whether the pattern has alternatives outside of its groups and classes."""
    bare = re.sub(r"\\.|\[[^\]]*\]", "", pattern)
    while (inner := re.sub(r"\([^()]*\)", "", bare)) != bare:
        bare = inner
    return "|" in bare


def _unescape(text: str) -> str:
    return re.sub(r"\\([^\w\s])", r"\1", text).strip()
