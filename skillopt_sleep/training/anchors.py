"""Find the one place of a body that an edit's target means, whatever its case and whitespace."""

from __future__ import annotations

from typing import NamedTuple

from skillopt_sleep.training.markdown import ITEM

_PLAIN = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "\u00a0": " "})


class Anchor(NamedTuple):
    """Where a target was found; `exact` when it agrees with the text in every character."""

    start: int
    end: int
    exact: bool


class AnchorMissed(Exception):
    """The target is nowhere in the body, or in several places; the message says which."""


def find_anchor(body: str, target: str) -> Anchor:
    """Return the place of the target in the body.

    An exact match wins over one that only agrees after folding case, whitespace, quotes and dashes. A
    match never begins or ends inside a word. A list bullet in front of the target is no part of it.
    Raises AnchorMissed when there is no match or more than one.
    """
    wanted = strip_bullet(target)
    if not wanted:
        raise AnchorMissed("the target is empty")
    matches = find_all(body, target)
    if not matches:
        raise AnchorMissed("the target is not in the skill")
    if len(matches) > 1:
        raise AnchorMissed(f"the target is in the skill {len(matches)} times: quote more of it")
    start, end = matches[0]
    return Anchor(start, end, body[start:end] == wanted)


def find_all(body: str, target: str) -> list[tuple[int, int]]:
    """Return every place where the target stands in the body, as `find_anchor` looks for it."""
    wanted = strip_bullet(target)
    return (_search(body, wanted) or _search_folded(body, wanted)) if wanted else []


def strip_bullet(text: str) -> str:
    """Return the text without outer whitespace and without the bullet in front."""
    first, _, rest = text.strip().partition("\n")
    item = ITEM.match(first.rstrip())
    return f"{item['text']}\n{rest}".strip() if item else text.strip()


def _search(text: str, wanted: str) -> list[tuple[int, int]]:
    matches = []
    start = text.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        if not _cuts_word(text, start) and not _cuts_word(text, end):
            matches.append((start, end))
        start = text.find(wanted, start + 1)
    return matches


def _cuts_word(text: str, offset: int) -> bool:
    return 0 < offset < len(text) and text[offset - 1].isalnum() and text[offset].isalnum()


def _search_folded(body: str, wanted: str) -> list[tuple[int, int]]:
    folded, origins = _fold(body)
    pattern, _ = _fold(wanted)
    matches = []
    for start, end in _search(folded, pattern.strip()):
        # Folding can make two characters of one (ß to ss): a match must not begin or end between them.
        begins_whole = start == 0 or origins[start - 1] != origins[start]
        ends_whole = end == len(folded) or origins[end] != origins[end - 1]
        if begins_whole and ends_whole:
            matches.append((origins[start], origins[end - 1] + 1))
    return matches


def _fold(text: str) -> tuple[str, list[int]]:
    """Return the folded text, and for each of its characters the offset it came from."""
    folded: list[str] = []
    origins: list[int] = []
    for offset, character in enumerate(text):
        for part in character.translate(_PLAIN).casefold():
            blank = part.isspace()
            if blank and folded and folded[-1] == " ":
                continue
            folded.append(" " if blank else part)
            origins.append(offset)
    return "".join(folded), origins
