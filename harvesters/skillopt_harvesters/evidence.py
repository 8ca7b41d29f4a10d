"""What tells that asks in different words belong together: a loaded skill, or the same words said after them.

Only what is particular to a few patterns speaks for them. "No, that's wrong" follows anything, and a skill
that is loaded whatever is asked says nothing about the ask; both are left out by what they say and by how
many patterns share them.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from skillopt_harvesters.cluster import Core, compare
from skillopt_harvesters.corrections import find_corrections
from skillopt_harvesters.normalise import FENCED, is_cjk, normalise
from skillopt_harvesters.terms import LIGHT, VALUE, find_terms, unify
from skillopt_harvesters.vocabulary import looks_like_command

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from skillopt_harvesters.asks import Occurrence

# How much a clue speaks for two patterns being one, how much it takes, and how much between akin ones.
_WEAK, _MIDDLING, _SURE = 0.25, 0.5, 1.0
_ENOUGH, _ENOUGH_FOR_AKIN = 0.75, 0.5
_AKIN = 0.25
_ONCE = 0.5
_FEW = 6
_LOADED_SHARE = 1 / 4
_SAID_SHARE = 1 / 20
_LIFT = 5
# What people say when anything is wrong.
_GENERIC_TEXT = (
    "wrong right correct incorrect again still try retry fix broken broke break fail fails failing failed "
    "error errors work working worked miss missed missing forget forgot use using used make change changed "
    "need needs want stop undo revert redo like expect expected good bad better thing things way bug issue "
    "problem same different answer result output code file files test tests run ran running yes nope okay "
    "sorry wait instead rather really never always mean meant said told ask asked read look check add added "
    "remove removed do done not commit push pull request merge branch perfect ship nice "
    "great thanks thank cool awesome looks lgtm welcome now then next also"
)
_GENERIC = frozenset(unify(word) for word in _GENERIC_TEXT.split()) | frozenset(
    "不对错重来再试次还没改行好这样要别又是有问题失败"
)


class Clue(msgspec.Struct, frozen=True):
    """One thing seen with several patterns.

    `weight` says how much two patterns sharing it speaks for their being one; at `_SURE` no more is needed.
    `words` are those of the clue itself, `skill` is the name when it is a loaded skill or a slash command.
    """

    key: str
    weight: float
    words: frozenset[str]
    skill: str | None = None


def find_clues(occurrence: Occurrence) -> Iterator[Clue]:
    """Yield what an ask's session shows about its kind: skills, slash commands and what was said after it."""
    names = list(occurrence.skills)
    if occurrence.prompt.startswith("/"):
        names.append(occurrence.skeleton[0].lstrip("/"))
    for name in names:
        words = re.split(r"[-_.]", name.rsplit(":", 1)[-1].lower())
        yield Clue(f"skill {name}", _SURE, frozenset(map(unify, words)), name)
    for text in occurrence.said:
        clue = find_said(text)
        if clue is not None:
            yield clue


def find_said(text: str) -> Clue | None:
    """Return the clue in words said after an ask; None when they could follow any.

    "Use pnpm, not npm" is weak: it is said whatever the ask was about. What corrects nothing may be a next
    step, which many asks have in common.
    """
    words = frozenset(term.word for term in find_terms(normalise(text)) if term.word != VALUE)
    telling = words - _GENERIC
    # Two characters of a script without spaces are about one word.
    said = sum(0.5 if is_cjk(word) else 1.0 for word in telling)
    if said < 1:
        return None
    weight = (_WEAK, _MIDDLING, _SURE)[min(int(said), 3) - 1]
    corrections = find_corrections(text)
    if any(looks_like_command(part) for one in corrections for part in (one.wanted, one.unwanted) if part):
        weight = _WEAK
    elif not corrections:
        weight = min(weight, _MIDDLING)
    return Clue("said " + " ".join(sorted(words)), weight, telling)


class Seen(msgspec.Struct, frozen=True):
    """One pattern: its core, in how many sessions it was asked, and in how many each clue was seen."""

    core: Core
    sessions: int
    clues: dict[Clue, int]


class Link(NamedTuple):
    """Two patterns, by number, that are one kind of ask; `alike` when their own words say so too."""

    one: int
    other: int
    alike: bool


def find_links(patterns: Sequence[Seen]) -> list[Link]:
    """Return which patterns are one kind of ask, the best founded first.

    A clue that more than a few patterns share counts only among those whose own words it can be told by.
    """
    where: dict[Clue, dict[int, int]] = {}
    for number, seen in enumerate(patterns):
        for clue, count in seen.clues.items():
            where.setdefault(clue, {})[number] = count
    weights: dict[tuple[int, int], float] = {}
    alike: set[tuple[int, int]] = set()
    total = sum(seen.sessions for seen in patterns)
    for clue, counts in where.items():
        holders = [n for n, count in counts.items() if count >= _find_least(clue, patterns[n].sessions)]
        if len(holders) < 2:
            continue
        inside = sum(patterns[number].sessions for number in holders)
        with_inside = sum(counts[number] for number in holders)
        if is_habit(with_inside, inside, sum(counts.values()) - with_inside, total - inside):
            continue
        if len(holders) <= _FEW:
            pairs = list(combinations(holders, 2))
            alike.update(pair for pair in pairs if _are_akin(patterns, pair))
        else:
            fitting = _find_fitting(clue, holders, patterns)
            pairs = [(fitting[0], number) for number in fitting[1:]]
            alike.update(pairs)
        # What is loaded in every session there is cannot be told from a habit, unless the asks name it.
        named = any(_names(clue, patterns[number]) for number in holders)
        most = clue.weight if named or clue.skill is None or 3 * (total - inside) >= inside else _ONCE
        for pair in pairs:
            weight = min(most, *(_weigh(clue, counts[number], patterns[number]) for number in pair))
            weights[pair] = weights.get(pair, 0.0) + weight
    found = [
        pair
        for pair, weight in weights.items()
        if weight >= (_ENOUGH_FOR_AKIN if pair in alike else _ENOUGH) and not _are_templates(patterns, pair)
    ]
    found.sort(key=lambda pair: (-weights[pair], pair))
    return [Link(one, other, (one, other) in alike) for one, other in found]


def _find_least(clue: Clue, sessions: int) -> float:
    """Return in how many of its sessions a pattern must have a clue to be a holder of it."""
    if clue.skill is not None:
        return max(_LOADED_SHARE * sessions, 1 if sessions < 4 else 2)
    return _SAID_SHARE * sessions


def _weigh(clue: Clue, count: int, seen: Seen) -> float:
    """Return how much a clue says of a pattern: a skill loaded once may have been loaded by mistake."""
    once = clue.skill is not None and count < 2 and not _names(clue, seen)
    return min(clue.weight, _ONCE) if once else clue.weight


def _names(clue: Clue, seen: Seen) -> bool:
    return bool((clue.words - LIGHT) & seen.core.keys())


def is_habit(with_inside: int, inside: int, with_outside: int, outside: int) -> bool:
    """Say whether something is nearly as frequent elsewhere as here, as what is always done is.

    The numbers are sessions or asks: those here and elsewhere, and how many of each have it.
    """
    return with_outside * inside * _LIFT > with_inside * outside


def _find_fitting(clue: Clue, numbers: list[int], patterns: Sequence[Seen]) -> list[int]:
    """Return the holders of a widespread clue that share words, when they are most of them."""
    counts = Counter(word for number in numbers for word in patterns[number].core)
    telling = {word for word, count in counts.items() if 2 * count > len(numbers)} | clue.words
    telling -= {VALUE, *LIGHT}
    fitting = [number for number in numbers if telling & patterns[number].core.keys()]
    return fitting if 2 * len(fitting) > len(numbers) else []


def _are_akin(patterns: Sequence[Seen], pair: tuple[int, int]) -> bool:
    one, other = (patterns[number].core for number in pair)
    return compare(one, other) >= _AKIN


def _are_templates(patterns: Sequence[Seen], pair: tuple[int, int]) -> bool:
    """Say whether both are long templates around a fence: those are told apart by their own words alone."""
    return all(FENCED in patterns[number].core for number in pair)


def count_clues(occurrences: Iterable[Occurrence], then: Mapping[int, Sequence[str]]) -> dict[Clue, int]:
    """Return each clue of a pattern's asks with the number of sessions it was seen in.

    `then` has the words that were said after an ask, by the ask's id().
    """
    sessions: dict[Clue, set[str]] = {}
    for occurrence in occurrences:
        said = filter(None, map(find_said, then.get(id(occurrence), ())))
        for clue in (*find_clues(occurrence), *said):
            sessions.setdefault(clue, set()).add(occurrence.session)
    return {clue: len(seen) for clue, seen in sessions.items()}
