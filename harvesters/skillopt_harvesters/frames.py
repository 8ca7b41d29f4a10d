"""Which words of an ask are its template and which the values in it.

A frame is an ask with one stretch of words left out. Frames that many different asks share are templates,
and what they leave out are values: "add docstrings to ..." stands with as many modules as there are, while
"add ... tax rules" stands with the few things one does to tax rules.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from skillopt_harvesters.normalise import is_cjk
from skillopt_harvesters.terms import CJK_DEEDS, LIGHT, PRODUCING, VALUE, Term, weigh

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_TERMS = 24
_GAP, _GAP_CJK = 4, 8
# How likely a gap is a value, by where it stands; and what an unlikely one must score to be taken for one.
_LIKELY, _UNSURE, _UNLIKELY, _SURE = 2.0, 0.75, 0.5, 0.75
_CJK_LENGTH = 0.5
_LEAST_SAID, _MUCH_SAID, _PAIR_SUPPORT = 1.0, 2.0, 3
_VALUE_RATIO, _VALUE_OPENERS = 2, 2
_TAIL_WEIGHT = 0.5
# Of words that no other ask has, or that many deeds take; of others that no other ask has.
_LOOSE_TAIL, _RARE = 0.15, 0.6
_MANY_DEEDS = 3
# Of words that are values wherever a frame tells, where they stand without a preposition.
_THING = 0.3
_HELPER_WEIGHT = 0.1
_FILTER_BITS = 1 << 25


class Frame(NamedTuple):
    """An ask without the words from `start` to `end`; `key` is the same for the same words that stay."""

    start: int
    end: int
    key: int


class Frames:
    """The frames of some distinct asks, given as their terms; a bounded number of them per ask."""

    def __init__(self, asks: Sequence[tuple[Term, ...]]) -> None:
        self._hashes: dict[str, int] = {VALUE: 0}
        self._openers = _find_openers(asks)
        self._deeds = frozenset(terms[0].word for terms in asks if terms and not terms[0].tail) - LIGHT
        self._support = self._count(asks)
        self._values: frozenset[str] = frozenset()
        self._values = self._learn(asks)
        self._chosen = {terms: self._choose(terms) for terms in asks}
        self._kept = self._find_kept()
        self._things = self._find_things()

    def is_value(self, word: str) -> bool:
        """Tell whether a word mostly stands where frames have their values."""
        return word in self._values

    def find_core(self, terms: tuple[Term, ...]) -> dict[str, float]:
        """Return the words of an ask's template in order, each with its weight, 0 to 1.

        Of an ask like no other these are all words that are no known values. Those that stand where values
        mostly do weigh half, and words that no other ask has still less: no template has shown them yet.
        """
        frame = self._chosen[terms] if terms in self._chosen else self._choose(terms)
        if frame is not None:
            left_out = terms[frame.start : frame.end]
            # A deed that opens a Chinese ask is no value, however many deeds its things take.
            kept = [terms[0].word] if frame.start == 0 and terms[0].word in CJK_DEEDS else []
            kept += [term.word for term in left_out if term.word in self._kept.get(frame.key, ())]
            said = (*_constant(terms, frame), *kept)
            core = {word: 1.0 for word in said if not self.is_value(word)}
        else:
            telling = [term for term in terms if term.word != VALUE]
            left = [term for term in telling if not self.is_value(term.word)] or telling
            core = {}
            light = bool(left) and left[0].word in LIGHT
            for term in left:
                # What a light verb is about says what is asked, however rare it is.
                tells = not core or (light and term.closes)
                core.setdefault(term.word, self._weigh_place(term, tells=tells))
                light = light and not (term.closes and len(core) > 1)
        weighed = {
            word: weight * weigh(word, opens=not place) for place, (word, weight) in enumerate(core.items())
        }
        opening = list(core)[:2]
        # "Make a commit", "do a review": the deed is the noun.
        if len(opening) == 2 and opening[0] in PRODUCING and self._is_deed(opening[1], terms):
            weighed[opening[0]] = _HELPER_WEIGHT
        if any(term.word == VALUE for term in terms):
            weighed[VALUE] = _TAIL_WEIGHT
        return weighed

    def _is_deed(self, word: str, terms: tuple[Term, ...]) -> bool:
        return word in self._deeds and not all(term.tail for term in terms if term.word == word)

    def _weigh_place(self, term: Term, *, tells: bool) -> float:
        """Return how much a word says by its place, in an ask that no frame explains.

        Behind a preposition a word that one deed alone takes ("deploy to staging") may be of the template.
        """
        deeds = len(self._openers[term.word])
        if term.word in self._things and not tells:
            return _LOOSE_TAIL if term.tail else _THING
        if term.tail:
            return _TAIL_WEIGHT if 0 < deeds < _MANY_DEEDS else _LOOSE_TAIL
        return 1.0 if deeds or tells else _RARE

    def _count(self, asks: Sequence[tuple[Term, ...]]) -> dict[int, int]:
        """Return the support of every frame that more than one ask has.

        Most frames are those of one ask. A first pass marks the others in a bit field, so that memory is
        needed for them alone.
        """
        once, twice = bytearray(_FILTER_BITS >> 3), bytearray(_FILTER_BITS >> 3)
        for terms in asks:
            for key in {frame.key for frame in self._cut(terms)}:
                at, bit = (key % _FILTER_BITS) >> 3, 1 << (key & 7)
                if once[at] & bit:
                    twice[at] |= bit
                once[at] |= bit
        support: dict[int, int] = {}
        for terms in asks:
            for key in {frame.key for frame in self._cut(terms)}:
                if twice[(key % _FILTER_BITS) >> 3] & 1 << (key & 7):
                    support[key] = support.get(key, 0) + 1
        return support

    def _cut(self, terms: tuple[Term, ...]) -> Iterator[Frame]:
        """Yield the ask with each short stretch left out, when at least two words stay."""
        if len(terms) > MAX_TERMS:
            return
        sums = list(accumulate((self._hash(term.word) for term in terms), initial=0))
        said = list(accumulate((term.word != VALUE for term in terms), initial=0))
        for start, term in enumerate(terms):
            most = _GAP_CJK if is_cjk(term.word) else _GAP
            for end in range(start + 1, min(start + most, len(terms)) + 1):
                if said[-1] - said[end] + said[start] > 1:
                    yield Frame(start, end, sums[-1] - sums[end] + sums[start])

    def _hash(self, word: str) -> int:
        found = self._hashes.get(word)
        if found is None:
            digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=7).digest()
            found = self._hashes[word] = int.from_bytes(digest, "big")
        return found

    def _learn(self, asks: Sequence[tuple[Term, ...]]) -> frozenset[str]:
        """Return the words that stand for values in the best frames far more often than they stay.

        What is said with one deed alone is no value but what the deed is about.
        """
        constants: Counter[str] = Counter()
        values: Counter[str] = Counter()
        openers: dict[str, set[str]] = {}
        for terms in asks:
            frame = self._choose(terms)
            if frame is None:
                continue
            constant = _constant(terms, frame)
            constants.update(set(constant))
            left_out = {term.word for term in terms[frame.start : frame.end]} - {VALUE}
            values.update(left_out)
            for word in left_out:
                if len(openers.setdefault(word, set())) < _VALUE_OPENERS:
                    openers[word].add(constant[0])
        return frozenset(
            word
            for word, count in values.items()
            if count > _VALUE_RATIO * constants[word] and len(openers[word]) >= _VALUE_OPENERS
        )

    def _find_kept(self) -> dict[int, frozenset[str]]:
        """Return by frame the words that all of its asks have where it has its value: "... per day"."""
        kept: dict[int, frozenset[str]] = {}
        asks: Counter[int] = Counter()
        for terms, frame in self._chosen.items():
            if frame is not None:
                words = frozenset(term.word for term in terms[frame.start : frame.end]) - {VALUE}
                kept[frame.key] = words & kept.get(frame.key, words)
                asks[frame.key] += 1
        return {key: words for key, words in kept.items() if words and asks[key] > 1}

    def _find_things(self) -> frozenset[str]:
        """Return the words that the frames of other asks leave out, each time."""
        said: set[str] = set()
        left_out: Counter[str] = Counter()
        for terms, frame in self._chosen.items():
            if frame is not None:
                kept = self._kept.get(frame.key, frozenset())
                said.update(_constant(terms, frame), kept)
                left_out.update({term.word for term in terms[frame.start : frame.end]})
        return frozenset(word for word, count in left_out.items() if count > 1 and word not in said)

    def _choose(self, terms: tuple[Term, ...]) -> Frame | None:
        """Return the frame that explains most: many words that stay, in many asks, around a likely value."""
        best, best_score = None, 0.0
        for frame in self._cut(terms):
            support = self._support.get(frame.key, 0)
            if support < 2:
                continue
            place = _judge_place(terms, frame)
            said = self._weigh(terms, frame)
            if said < _LEAST_SAID or (said < _MUCH_SAID and support < _PAIR_SUPPORT and place < _LIKELY):
                continue
            # What opens an ask is mostly the deed: "delete the tax rules" is not about tax rules alone.
            if frame.start == 0 and place == _UNLIKELY and said < _MUCH_SAID:
                continue
            length = sum(_CJK_LENGTH if is_cjk(t.word) else 1.0 for t in terms[frame.start : frame.end])
            score = said**1.5 * (support - 1) * place / (3 + length)
            if place <= _UNLIKELY and score < _SURE:
                continue
            # Of equals the later gap, since values mostly come last.
            if score >= best_score:
                best, best_score = frame, score
        return best

    def _weigh(self, terms: tuple[Term, ...], frame: Frame) -> float:
        """Return how much the words that stay say; one light verb and one other word are the least."""
        said = -0.5
        opens = True
        for term in (*terms[: frame.start], *terms[frame.end :]):
            if term.word == VALUE:
                continue
            if not self.is_value(term.word):
                said += weigh(term.word, opens=opens) * (_TAIL_WEIGHT if term.tail else 1.0)
            opens = False
        return said


def _find_openers(asks: Sequence[tuple[Term, ...]]) -> dict[str, frozenset[str]]:
    """Return some of the words that open the asks a word is in, none when it is in one ask alone."""
    found: dict[str, frozenset[str]] = {}
    seen: dict[str, str] = {}
    for terms in asks:
        for word in {term.word for term in terms}:
            if word not in seen:
                seen[word] = terms[0].word
                found[word] = frozenset()
            elif len(found[word]) < _MANY_DEEDS:
                found[word] |= {seen[word], terms[0].word}
    return found


def _constant(terms: tuple[Term, ...], frame: Frame) -> tuple[str, ...]:
    stays = (*terms[: frame.start], *terms[frame.end :])
    return tuple(term.word for term in stays if term.word != VALUE)


def _judge_place(terms: tuple[Term, ...], frame: Frame) -> float:
    """Return how likely a gap is to be a value, by where it stands: mostly behind a preposition."""
    stays = (*terms[: frame.start], *terms[frame.end :])
    if all(term.tail for term in stays if term.word != VALUE):
        return 0.0
    if terms[frame.start].tail:
        return _LIKELY
    if any(term.tail for term in stays):
        return _UNLIKELY
    if frame.start > 0:
        return 1.0
    return _UNSURE if is_cjk(terms[0].word) else _UNLIKELY
