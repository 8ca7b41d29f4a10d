"""Recurring tasks from sessions.

A family is a cluster of asks that people made in several sessions; each distinct wording of it in a project
is a task. Only what the user typed becomes a check, and only for tasks of the project it was typed in.

A task's id follows from its project and its wording alone, so that what it was used for is never forgotten,
whatever sessions are added. Its family and its skill are named by the earliest asks. New sessions may show
that two families are one, and older ones that turn up late may found a family anew: what was found before
and is given as known stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from skillopt_harvesters.asks import Occurrence, find_asks, mark_asked_again
from skillopt_harvesters.attribution import Attribution, Loads, SkillOrigin, find_skill
from skillopt_harvesters.checks import build_checks, find_rules, find_wishes
from skillopt_harvesters.digests import digest
from skillopt_harvesters.families import (
    Family,
    Part,
    Variable,
    describe_patterns,
    find_main,
    find_parts,
    find_wordings,
    group_sessions,
)
from skillopt_harvesters.grouping import Cluster, group, when
from skillopt_harvesters.mining import Known, Mining
from skillopt_harvesters.names import Names, name_skill
from skillopt_harvesters.records import Session
from skillopt_harvesters.templates import Template
from skillopt_harvesters.titles import clip_title, make_title
from skillopt_replay.tasks import Task

_TITLED_WORDINGS = 20
_PLAIN = Mining()


def mine(sessions: Iterable[Session], how: Mining = _PLAIN) -> list[Task]:
    """Return the recurring tasks in the order of their first occurrence.

    Sessions of programs, sub-agents and own replays are passed over. A task whose family yields nothing to
    check has no checks.
    """
    found = [task for family in find_families(sessions, how) for task in family.tasks]
    return sorted(found, key=lambda task: (task.started or "", task.id))


def find_families(sessions: Iterable[Session], how: Mining = _PLAIN) -> list[Family]:
    """Return what `how.min_occurrences` sessions or more have in common, across projects, oldest first."""
    asks = mark_asked_again(sorted((one for session in sessions for one in find_asks(session)), key=when))
    loads = Loads(asks)
    found = [one for cluster in group(asks, keep=how.find_known(asks)) if (one := _describe(cluster, how))]
    parts = sorted(((part, one) for one in found for part in one.parts), key=lambda pair: pair[0].recurred)
    groups = group_sessions([part for part, _ in parts])
    names = Names()
    for part, one in parts:
        for known in how.find_known(part.asks).values():
            names.reserve(known.skill, one.id, part.root)
    tasks: dict[int, list[Task]] = {}
    for part, one in parts:
        skill = _attribute(part, one, loads, names, how)
        tasks.setdefault(id(one), []).extend(_build_tasks(part, one, skill, groups, how))
    return [
        Family(
            id=one.id,
            title=one.title,
            wordings=tuple(find_wordings(one.asks).values()),
            variables=one.variables,
            sessions=tuple(dict.fromkeys(ask.session for ask in one.asks if ask.counted)),
            projects=tuple(dict.fromkeys(how.root_of(ask.project) for ask in one.asks if ask.project)),
            tasks=tuple(tasks.get(id(one), ())),
        )
        for one in found
    ]


class _Found(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster that recurs, with what is the same for all its tasks."""

    id: str
    title: str
    asks: tuple[Occurrence, ...]
    words: frozenset[str]
    skeletons: tuple[tuple[str, ...], ...]
    templates: dict[str, Template]
    variables: tuple[Variable, ...]
    parts: tuple[Part, ...]


def _describe(cluster: Cluster, how: Mining) -> _Found | None:
    """Return what there is to say of a cluster; None of one that does not recur."""
    asks = tuple(cluster.asks)
    parts = find_parts(asks, how)
    if not parts and len({one.session for one in asks if one.counted}) < how.min_occurrences:
        return None
    known = next((one for part in parts for one in how.find_known(part.asks).values()), None)
    templates, variables = describe_patterns(cluster)
    first = cluster.patterns[0]
    return _Found(
        id=known.family if known else digest("family", *asks[0].skeleton),
        title=_title(cluster, how),
        asks=asks,
        words=frozenset(first.core),
        skeletons=tuple(dict.fromkeys(one.skeleton for one in first.asks)),
        templates=templates,
        variables=variables,
        parts=tuple(parts),
    )


def _title(cluster: Cluster, how: Mining) -> str:
    prompts = list(find_wordings(find_main(cluster).asks).values())
    title = make_title(prompts)
    if how.titler is None:
        return title
    return clip_title(how.titler(title, prompts[:_TITLED_WORDINGS])) or title


def _attribute(part: Part, one: _Found, loads: Loads, names: Names, how: Mining) -> Attribution:
    """Return the skill for those of the part's tasks that were not found before."""
    skills = how.skills
    if skills is not None:
        client = part.asks[0].client
        skills = [record for record in skills if record.is_for(part.root, client)]
    plain = name_skill(one.skeletons, one.id, make_title([one.asks[0].prompt]))
    found = find_skill(part.asks, one.words, loads, skills, plain)
    if found is not None and found.origin is SkillOrigin.LOADED:
        return found
    known = next(iter(how.find_known(part.asks).values()), None)
    if known is not None:
        return Attribution(known.skill, SkillOrigin(known.skill_origin))
    return found or Attribution(names.find(plain, one.id, part.root), SkillOrigin.NEW)


def _build_tasks(
    part: Part, found: _Found, skill: Attribution, groups: Mapping[str, str], how: Mining
) -> Iterator[Task]:
    rules, wishes = find_rules(part.asks), find_wishes(part.asks)
    corrections = tuple(dict.fromkeys(lesson.origin for one in part.asks for lesson in one.lessons))
    known = how.find_known(part.asks)
    wordings: dict[str, list[Occurrence]] = {}
    for one in part.asks:
        wordings.setdefault(one.folded, []).append(one)
    for folded, own in wordings.items():
        counted = [one for one in own if one.counted]
        if not counted:
            continue
        first = counted[0]
        placed = next((one for one in counted if one.project), first)
        before = known.get(folded)
        template = found.templates[folded]
        yield Task(
            id=how.name_task(first),
            family=before.family if before else found.id,
            title=found.title,
            prompt=first.prompt,
            sessions=tuple(dict.fromkeys(one.session for one in counted)),
            occurrences=len(counted),
            client=first.client,
            skill=before.skill if before else skill.skill,
            group=groups[first.session],
            checks=build_checks(first.prompt, own, rules, wishes),
            project=placed.project,
            root=part.root,
            commit=placed.commit,
            started=first.started,
            corrections=corrections,
            failed_before=any(one.failed for one in own),
            template=template.text,
            values=template.values,
            skill_origin=_tell_origin(before, skill),
        )


def _tell_origin(before: Known | None, skill: Attribution) -> str:
    # A skill that was new has been made since, when it is loaded now.
    if before is None or before.skill == skill.skill:
        return skill.origin.value
    return before.skill_origin
