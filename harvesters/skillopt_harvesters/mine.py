"""Recurring tasks from sessions.

A family is a cluster of asks that people made in several sessions; each distinct wording of it is a task.
Only what the user typed becomes a check. A task's id follows from its wording alone, so that what it was used
for is never forgotten, whatever sessions are added. A family is named by the skeleton of its earliest ask,
and later asks never move earlier ones; an older session that turns up late can found it anew, under a new id.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

from skillopt_harvesters.asks import Occurrence, find_asks, mark_asked_again
from skillopt_harvesters.checks import build_checks, find_rules
from skillopt_harvesters.cluster import Families
from skillopt_harvesters.normalise import STOP_WORDS, stem, strip_polite
from skillopt_replay.skills import MAX_NAME
from skillopt_replay.tasks import Origin, Task

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from skillopt_harvesters.records import Session

_WORD = re.compile(r"[^\W_](?:[\w'’./-]*\w)?")
_GAP = "…"
_TITLE_LENGTH = 80
_NAME_WORDS = 3
_NAMING_WORDINGS = 3
# The Agent Skills specification keeps these out of names.
_RESERVED = frozenset({"anthropic", "claude"})


def mine(sessions: Iterable[Session], *, min_occurrences: int = 2) -> list[Task]:
    """Return the tasks that recur in at least `min_occurrences` distinct sessions of a person.

    Sessions of programs, sub-agents and own replays are passed over. Tasks come in the order of their first
    occurrence. A task whose family yields nothing to check has no checks.
    """
    occurrences = [occurrence for session in sessions for occurrence in find_asks(session)]
    occurrences.sort(key=lambda one: (one.started or "", one.session, one.turn))
    occurrences = mark_asked_again(occurrences)
    families = Families()
    members: dict[int, list[Occurrence]] = {}
    for occurrence in occurrences:
        members.setdefault(families.add(occurrence.skeleton), []).append(occurrence)
    recurring = {
        number: group
        for number, group in members.items()
        if len({one.session for one in group if one.counted}) >= min_occurrences
    }
    groups = _group_sessions(recurring.values())
    tasks: list[Task] = []
    names: dict[str, str] = {}
    for number, group in recurring.items():
        leader = families.leaders[number]
        family = _digest("family", *leader)
        wordings = list(dict.fromkeys(one.skeleton for one in group))
        name = name_skill(leader, wordings, family)
        if names.setdefault(name, family) != family:
            name = f"{name[: MAX_NAME - 5]}-{family[:4]}"
        tasks.extend(_build_tasks(group, family, name, groups))
    return sorted(tasks, key=lambda task: (task.started or "", task.id))


def _build_tasks(
    family_of: Sequence[Occurrence], family: str, skill: str, groups: dict[str, str]
) -> list[Task]:
    rules = find_rules(family_of)
    corrections = _unique([lesson.origin for one in family_of for lesson in one.lessons])
    wordings: dict[str, list[Occurrence]] = {}
    for occurrence in family_of:
        wordings.setdefault(occurrence.folded, []).append(occurrence)
    title = make_title([group[0].prompt for group in wordings.values()])
    tasks = []
    for folded, own in wordings.items():
        counted = [one for one in own if one.counted]
        if not counted:
            continue
        first = counted[0]
        placed = next((one for one in counted if one.project), first)
        tasks.append(
            Task(
                id=_digest("task", folded),
                family=family,
                title=title,
                prompt=first.prompt,
                sessions=tuple(dict.fromkeys(one.session for one in counted)),
                occurrences=len(counted),
                client=first.client,
                skill=skill,
                group=groups[first.session],
                checks=build_checks(first.prompt, own, rules),
                project=placed.project,
                commit=placed.commit,
                started=first.started,
                corrections=corrections,
                failed_before=any(one.failed for one in own),
            )
        )
    return tasks


def _group_sessions(families: Iterable[Sequence[Occurrence]]) -> dict[str, str]:
    """Return each session's group: sessions that share a task, directly or over others, have the same.

    A group is named by its earliest session.
    """
    counted = [[one for one in family if one.counted] for family in families]
    order: dict[str, tuple[str, str]] = {}
    for one in (one for family in counted for one in family):
        mark = (one.started or "", one.session)
        order[one.session] = min(order.get(one.session, mark), mark)
    parents = {session: session for session in order}

    def root(session: str) -> str:
        while parents[session] != session:
            parents[session] = parents[parents[session]]
            session = parents[session]
        return session

    for family in counted:
        first_with: dict[str, str] = {}
        for one in family:
            ends = [root(first_with.setdefault(one.folded, one.session)), root(one.session)]
            older, newer = sorted(ends, key=order.__getitem__)
            parents[newer] = older
    return {session: _digest("group", root(session)) for session in parents}


def make_title(prompts: Sequence[str]) -> str:
    """Return a short title: the most typical wording, with an ellipsis for what the others do not share."""
    prompts = [strip_polite(prompt) or prompt for prompt in prompts]
    if prompts[0].startswith("/"):
        return prompts[0].split()[0]
    shared = Counter(
        word for prompt in prompts for word in {stem(word.casefold()) for word in _WORD.findall(prompt)}
    )

    def is_shared(word: str) -> bool:
        return shared[stem(word.casefold())] * 2 > len(prompts)

    def share(prompt: str) -> float:
        telling = [word for word in _WORD.findall(prompt) if word.casefold() not in STOP_WORDS]
        return sum(map(is_shared, telling)) / max(len(telling), 1)

    typical = max(prompts, key=share).splitlines()[0]
    kept: list[str] = []
    for token in typical.split():
        words = _WORD.findall(token)
        if words and all(is_shared(word) or word.casefold() in STOP_WORDS for word in words):
            kept.append(token)
        elif not kept or kept[-1] != _GAP:
            kept.append(_GAP)
    if sum(is_shared(word) for word in _WORD.findall(" ".join(kept))) < 2:
        kept = typical.split()
    while len(kept) > 1 and (kept[-1] == _GAP or kept[-1].casefold() in STOP_WORDS):
        kept.pop()
    title = " ".join(kept[1:] if kept[0] == _GAP and len(kept) > 1 else kept)
    return title[:1].upper() + title[1:_TITLE_LENGTH].rstrip()


def name_skill(leader: tuple[str, ...], wordings: Sequence[tuple[str, ...]], family: str) -> str:
    """Return a legal skill name from the first telling words of a family's earliest ask.

    `wordings` are the family's distinct skeletons, earliest first. Words that the two after the earliest do
    not share are values rather than names. Later wordings have no say, so that the skill keeps its name
    while the family grows.
    """
    if leader and leader[0].startswith("/"):
        words = [leader[0]]
    else:
        others = {stem(token) for wording in wordings[1:_NAMING_WORDINGS] for token in wording}
        words = [token for token in leader if token[0] != "<" and token not in STOP_WORDS and len(token) > 1]
        shared = [token for token in words if stem(token) in others]
        words = shared if len(shared) > 1 else words
    plain = unicodedata.normalize("NFKD", " ".join(words[:_NAME_WORDS])).encode("ascii", "ignore").decode()
    parts = [part for part in re.split(r"[^a-z0-9]+", plain.lower()) if part and part not in _RESERVED]
    name = "-".join(parts)[:MAX_NAME].strip("-")
    return name or f"task-{family[:8]}"


def _unique(origins: list[Origin]) -> tuple[Origin, ...]:
    return tuple(dict.fromkeys(origins))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:12]
