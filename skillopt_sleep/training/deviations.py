"""How far an answer is from what a check wants, in words: what would have to go, or be written otherwise.

Nothing of what is wanted is told, only what the answer has too much of. A small model that sees a wrong
answer and the form of a right one seldom finds the difference by itself.
"""

from __future__ import annotations

import re

from skillopt_replay.tasks import Check, Exact, Matches
from skillopt_sleep.training.wordings import say_pattern

_FENCED = re.compile(
    r"(?P<before>.*?)^[ \t]*(?P<mark>```|~~~)[^\n]*\n(?P<code>.*?)^[ \t]*(?P=mark)", re.M | re.S
)
# Of other patterns it is unknown whether a fence is in their way.
_BEGINS = re.compile(r"must begin with `(?!~~~)")
_ENDS = re.compile(r"must end with `.*(?<!~~~)`\Z")
_SHORT = 3  # so few characters are in a longer text by chance
_IN_FENCE = "the answer is in a code fence (```), and must stand there without one"
_BESIDE_FENCE = "the answer is in a code fence (```) with other text beside it; neither may be there"
_LOUD_OR_QUIET = "it is right but for upper and lower case"
_AROUND = "the right text is in it, with other text {where} it that must not be there"


def tell_deviation(check: Check, answer: str) -> str:
    """Return what keeps the answer from meeting the check that it failed, "" where that cannot be told."""
    if check.negate or not answer.strip():
        return ""
    if isinstance(check, Exact):
        return _tell_exact(check, answer.strip())
    if isinstance(check, Matches):
        said, fence = say_pattern(check.pattern), _tell_fence(answer)
        if _BEGINS.match(said) or (_ENDS.match(said) and fence == _IN_FENCE):
            return fence
    return ""  # JSON is found in a fence as well


def _tell_fence(answer: str) -> str:
    found = _FENCED.match(answer)
    if not found:
        return ""
    alone = not found["before"].strip() and not answer[found.end() :].strip()
    return _IN_FENCE if alone else _BESIDE_FENCE


def _tell_exact(check: Exact, answer: str) -> str:
    wanted = check.text.strip()
    if not wanted:
        return ""
    if not check.ignore_case and answer.casefold() == wanted.casefold():
        return _LOUD_OR_QUIET
    found = _FENCED.match(answer)
    if found and found["code"].strip() == wanted:
        return _tell_fence(answer)
    flags = re.IGNORECASE if check.ignore_case else 0
    place = re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", answer, flags)
    if place is None or (len(wanted) < _SHORT and len(answer) > len(wanted) + 2 * _SHORT):
        return ""
    sides = [
        name for name, text in (("before", answer[: place.start()]), ("after", answer[place.end() :])) if text
    ]
    return _AROUND.format(where=" and ".join(sides)) if sides else ""
