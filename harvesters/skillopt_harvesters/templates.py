"""What asks of one pattern have in common, as a text with slots, and what stood in the slots."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from skillopt_harvesters.fences import find_fenced
from skillopt_harvesters.normalise import STOP_WORDS, stem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

STOP_STEMS = frozenset(map(stem, STOP_WORDS))
QUOTES = "`\"'“‘"
_ENDS = ".,;:!?`\"'”’"
_MAX_TEXT = 2_000
_TOKEN = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]|[^\s\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+"
)
_WORD = re.compile(r"[^\W_](?:[\w'’./-]*\w)?")


class Template(msgspec.Struct, frozen=True):
    """A prompt with slots: `text.format(*values)` is the prompt, or the first 2,000 characters of it."""

    text: str
    values: tuple[str, ...]


def find_shared(prompts: Iterable[str]) -> frozenset[str]:
    """Return the stems that more than half of the prompts have."""
    counts: Counter[str] = Counter()
    total = 0
    for prompt in prompts:
        total += 1
        counts.update({one for token in _TOKEN.findall(prompt[:_MAX_TEXT]) for one in find_stems(token)})
    return frozenset(word for word, count in counts.items() if 2 * count > total)


def find_stems(token: str) -> list[str]:
    """Return the stems of the words in a token that stands between spaces."""
    return [stem(word.casefold()) for word in _WORD.findall(token)]


def make_template(prompt: str, shared: Collection[str]) -> Template:
    """Return the prompt with slots for all words that are not `shared`."""
    fenced = find_fenced(prompt)
    if fenced is not None:
        return _fill(prompt[:_MAX_TEXT], [(fenced.at, fenced.at + len(fenced.words))])
    if prompt.startswith("/"):
        name = prompt.split(maxsplit=1)[0]
        rest = prompt[len(name) :].lstrip()
        return _fill(prompt[:_MAX_TEXT], [(len(prompt) - len(rest), len(prompt))] if rest else [])
    return _fill(prompt[:_MAX_TEXT], _find_slots(prompt[:_MAX_TEXT], shared))


def _find_slots(prompt: str, shared: Collection[str]) -> list[tuple[int, int]]:
    """Return where the slots are: runs of words that are not shared, but not the stop words at their ends."""
    slots: list[tuple[int, int]] = []
    opens = True
    for match in _TOKEN.finditer(prompt):
        words = list(_WORD.finditer(match[0]))
        stems = find_stems(match[0])
        quoted = match[0][0] in QUOTES
        telling = quoted or not all(one in STOP_STEMS for one in stems)
        if words and telling and not all(one in shared for one in stems):
            start, stop = match.start() + words[0].start(), match.start() + words[-1].end()
            if opens or quoted:
                slots.append((start, stop))
            else:
                slots[-1] = (slots[-1][0], stop)
            opens = match[0][-1] in _ENDS
        else:
            # Stop words between two of a run belong to it; shared words end it.
            opens = opens or (telling and bool(words))
    return slots


def _fill(prompt: str, slots: list[tuple[int, int]]) -> Template:
    text, values, end = "", [], 0
    for number, (start, stop) in enumerate(slots):
        text += _escape(prompt[end:start]) + f"{{{number}}}"
        values.append(prompt[start:stop])
        end = stop
    return Template(text + _escape(prompt[end:]), tuple(values))


def _escape(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
