"""Families of recurring asks, and where each recurs.

A family may span projects, so that a reader sees what is asked everywhere. What recurs, what was corrected
and which skill it belongs to is told for each project by itself, unless the user says that they are one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from skillopt_harvesters.asks import Occurrence
from skillopt_harvesters.digests import digest
from skillopt_harvesters.grouping import Cluster, Pattern, when
from skillopt_harvesters.mining import Mining
from skillopt_harvesters.templates import Template, find_shared, make_template
from skillopt_replay.tasks import Task

_MAX_VALUES = 50


class Variable(msgspec.Struct, frozen=True):
    """A template with slots, {0} and so on, and what stood in them: one tuple a wording, 50 at most."""

    template: str
    values: tuple[tuple[str, ...], ...]


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of ask that came up in several sessions, in `projects`, oldest first.

    `wordings` are the distinct prompts, `variables` the template of each pattern of them. `tasks` are those
    of the projects in which it recurs; none when it recurs in no single one.
    """

    id: str
    title: str
    wordings: tuple[str, ...]
    variables: tuple[Variable, ...]
    sessions: tuple[str, ...]
    projects: tuple[str, ...]
    tasks: tuple[Task, ...] = ()


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A family's asks in one project, oldest first. `root` is the project, None when unknown or all are one.

    `recurred` is the place in time at which it had been asked in enough sessions.
    """

    root: str | None
    asks: tuple[Occurrence, ...]
    recurred: tuple[str, str, int]


def find_parts(asks: Iterable[Occurrence], how: Mining) -> list[Part]:
    """Return the projects' shares of a family that recur, or that have tasks already."""
    by_place: dict[tuple[str, str], list[Occurrence]] = {}
    for one in asks:
        by_place.setdefault(how.find_place(one), []).append(one)
    parts = []
    for own in by_place.values():
        first: dict[str, Occurrence] = {}
        for one in own:
            if one.counted:
                first.setdefault(one.session, one)
        if first and (len(first) >= how.min_occurrences or how.find_known(own)):
            enough = list(first.values())[: how.min_occurrences][-1]
            parts.append(Part(root=how.find_root(own[0]), asks=tuple(own), recurred=when(enough)))
    return parts


def describe_patterns(cluster: Cluster) -> tuple[dict[str, Template], tuple[Variable, ...]]:
    """Return the template of each wording, by its folded form, and the variable part of each pattern."""
    templates: dict[str, Template] = {}
    variables = []
    for pattern in cluster.patterns:
        prompts = find_wordings(pattern.asks)
        shared = find_shared(prompts.values())
        own = {folded: make_template(prompt, shared) for folded, prompt in prompts.items()}
        templates.update(own)
        [(text, _)] = Counter(template.text for template in own.values()).most_common(1)
        values = [template.values for template in own.values() if template.text == text]
        variables.append(Variable(text, tuple(dict.fromkeys(values))[:_MAX_VALUES]))
    return templates, tuple(variables)


def find_wordings(asks: Iterable[Occurrence]) -> dict[str, str]:
    """Return the distinct prompts as they were first typed, by their folded form, oldest first."""
    wordings: dict[str, str] = {}
    for one in asks:
        wordings.setdefault(one.folded, one.prompt)
    return wordings


def find_main(cluster: Cluster) -> Pattern:
    """Return the pattern asked in most sessions, the older one of equals."""
    return max(cluster.patterns, key=lambda pattern: len({one.session for one in pattern.asks}))


def group_sessions(parts: Sequence[Part]) -> dict[str, str]:
    """Return each session's group: sessions that share a task, directly or over others, have the same.

    A group is named by its earliest session.
    """
    counted = [[one for one in part.asks if one.counted] for part in parts]
    order: dict[str, tuple[str, str]] = {}
    for one in (one for asks in counted for one in asks):
        mark = (one.started or "", one.session)
        order[one.session] = min(order.get(one.session, mark), mark)
    parents = {session: session for session in order}

    def root(session: str) -> str:
        while parents[session] != session:
            parents[session] = parents[parents[session]]
            session = parents[session]
        return session

    for asks in counted:
        first_with: dict[str, str] = {}
        for one in asks:
            ends = [root(first_with.setdefault(one.folded, one.session)), root(one.session)]
            older, newer = sorted(ends, key=order.__getitem__)
            parents[newer] = older
    return {session: digest("group", root(session)) for session in parents}
