"""From asks to clusters: patterns of like templates, joined where evidence says they are one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from skillopt_harvesters.boilerplate import strip_boilerplate
from skillopt_harvesters.cluster import Core, Patterns
from skillopt_harvesters.evidence import Link, Seen, count_clues, find_links
from skillopt_harvesters.frames import Frames
from skillopt_harvesters.kin import find_kin
from skillopt_harvesters.leftovers import Wording, place_leftovers
from skillopt_harvesters.phrases import Worded, find_phrase, find_special
from skillopt_harvesters.seconds import Second, find_refinements, find_seconds
from skillopt_harvesters.terms import find_terms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from skillopt_harvesters.asks import Occurrence

_MOST_PATTERNS = 12


class Pattern(msgspec.Struct, frozen=True):
    """Asks of one template, oldest first, and the words of that template with their weights."""

    core: Core
    asks: tuple[Occurrence, ...]


class Cluster(msgspec.Struct, frozen=True):
    """Asks for the same kind of thing, by patterns; the pattern that was asked first is in front."""

    patterns: tuple[Pattern, ...]

    @property
    def asks(self) -> list[Occurrence]:
        """All asks, oldest first."""
        return sorted((one for pattern in self.patterns for one in pattern.asks), key=when)


def when(occurrence: Occurrence) -> tuple[str, str, int]:
    """Return what occurrences are ordered by: time, then session and turn."""
    return (occurrence.started or "", occurrence.session, occurrence.turn)


def group(occurrences: Iterable[Occurrence], *, keep: Collection[str] = ()) -> list[Cluster]:
    """Return the clusters of asks, the one asked first in front.

    What only refines another ask is left out, unless its folded words are in `keep`. Nothing is compared with
    everything: the work grows with the number of distinct asks.
    """
    ordered = sorted(occurrences, key=when)
    seconds = find_seconds(ordered)
    patterns, alike = _find_patterns(ordered)
    said_after: dict[int, list[str]] = {}
    for second in seconds:
        said_after.setdefault(id(second.before), []).append(second.ask.prompt)
    links = find_links(
        [
            Seen(
                pattern.core,
                len({one.session for one in pattern.asks}),
                count_clues(pattern.asks, said_after),
            )
            for pattern in patterns
        ]
    )
    links += [Link(one, other, alike=True) for one, other in alike]
    links += [Link(one, other, alike=True) for one, other in find_special(list(map(_word, patterns)))]
    sizes = [len({one.folded for one in pattern.asks}) for pattern in patterns]
    for find in (find_kin, place_leftovers):
        joined = _join(len(patterns), links)
        worded = [[Wording(patterns[at].core, sizes[at]) for at in numbers] for numbers in joined]
        links += [Link(joined[one][0], joined[other][0], alike=True) for one, other in find(worded)]
    clusters = [Cluster(tuple(patterns[at] for at in numbers)) for numbers in _join(len(patterns), links)]
    return _leave_out(seconds, clusters, keep)


def _leave_out(
    seconds: Sequence[Second], clusters: Sequence[Cluster], keep: Collection[str]
) -> list[Cluster]:
    kinds = {
        one.folded: number
        for number, cluster in enumerate(clusters)
        for pattern in cluster.patterns
        for one in pattern.asks
    }
    refining = find_refinements(seconds, kinds).difference(keep)
    kept = []
    for cluster in clusters:
        patterns = [
            msgspec.structs.replace(p, asks=tuple(one for one in p.asks if one.folded not in refining))
            for p in cluster.patterns
        ]
        if any(pattern.asks for pattern in patterns):
            kept.append(Cluster(tuple(pattern for pattern in patterns if pattern.asks)))
    return kept


def _find_patterns(occurrences: Sequence[Occurrence]) -> tuple[list[Pattern], list[tuple[int, int]]]:
    skeletons = strip_boilerplate(
        {one.folded: one.prompt for one in occurrences}, {one.folded: one.skeleton for one in occurrences}
    )
    terms = {folded: find_terms(skeleton) for folded, skeleton in skeletons.items()}
    frames = Frames(list(terms.values()))
    found = Patterns()
    numbers = {folded: found.add(frames.find_core(words)) for folded, words in terms.items()}
    members: list[list[Occurrence]] = [[] for _ in found.founders]
    for one in occurrences:
        members[numbers[one.folded]].append(one)
    patterns = [Pattern(found.find_middle(number), tuple(asks)) for number, asks in enumerate(members)]
    return patterns, list(found.find_alike())


def _word(pattern: Pattern) -> Worded:
    skeletons = {one.folded: one.skeleton for one in pattern.asks}
    return Worded(pattern.core, [find_phrase(find_terms(skeleton)) for skeleton in skeletons.values()])


def _join(count: int, links: Iterable[Link]) -> list[list[int]]:
    """Return the patterns by cluster. Evidence alone makes none of very many patterns."""
    parents = list(range(count))
    sizes = [1] * count

    def root(number: int) -> int:
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    for link in links:
        first, second = sorted((root(link.one), root(link.other)))
        if first == second or (not link.alike and sizes[first] + sizes[second] > _MOST_PATTERNS):
            continue
        parents[second] = first
        sizes[first] += sizes[second]
    clusters: dict[int, list[int]] = {}
    for number in range(count):
        clusters.setdefault(root(number), []).append(number)
    return list(clusters.values())
