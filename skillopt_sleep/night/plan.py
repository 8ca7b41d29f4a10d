"""What a night works on. Pure: tasks, splits and settings in, a frozen plan out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec

from skillopt_gate.split import SplitItem, pick_gate_tasks, split
from skillopt_replay.skills import Skill, find_problems
from skillopt_replay.tasks import Task
from skillopt_sleep.config import Settings
from skillopt_sleep.errors import Explained
from skillopt_sleep.store.candidates import Carried
from skillopt_sleep.training.records import RejectedEdit


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a skill lives: `scope` is project or user, `live` the absolute path of its SKILL.md.

    `text` is what lies there now ("" when nothing does); `repository` is set for a project's skill.
    """

    scope: str
    live: str
    text: str
    repository: str | None = None


class SkillPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One skill's work tonight. With `carried` set, training is skipped and its evidence goes on.

    `rejected` are the edits turned down before this night: what happens to the skill while the night is
    worked on, or lies interrupted, does not change what the optimizer is asked.
    """

    skill: str
    title: str
    client: str
    place: Place
    train: tuple[Task, ...]
    gate: tuple[Task, ...]
    carried: Carried | None = None
    rejected: tuple[RejectedEdit, ...] = ()

    @property
    def base(self) -> str:
        """The digest of the incumbent, "" when there is none."""
        return Skill(self.skill, self.place.text).digest if self.place.text else ""


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    """A recurring ask left alone tonight, and why in one sentence."""

    skill: str
    title: str
    tasks: int
    reason: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A night's work, frozen when it begins; `splits` is the side of every task in it, by id."""

    skills: tuple[SkillPlan, ...]
    skipped: tuple[Skipped, ...]
    splits: dict[str, str]


def make_plan(
    tasks: Sequence[Task],
    assigned: Mapping[str, str],
    settings: Settings,
    *,
    seed: str,
    locate: Callable[[Sequence[Task]], Place],
    waiting: Callable[[str], Carried | None],
    rejected: Callable[[str], Sequence[RejectedEdit]],
    is_open: Callable[[str], bool],
    is_settled: Callable[[str, str, Sequence[str]], bool],
    suits: Callable[[Task], bool],
    is_there: Callable[[Task], bool] = lambda _: True,
) -> Plan:
    """Choose skills, train tasks and held-out tasks.

    A skill is taught by the tasks of one project (Task.root) a night; when the tasks have no root, by all.
    `locate` says where the skill of these tasks lives, `waiting` which candidate waits at a live path,
    `rejected` which edits were turned down there, and `is_open` whether the user still has a proposal for
    that path to decide. `is_settled` says that a skill passes these train tasks already, `suits` whether
    the target can be judged by a task's checks, `is_there` whether what the task works on still exists.
    Skills with most failed asks come first. A place that cannot be used, or a skill there that is no legal
    SKILL.md, costs the others nothing.
    """
    skills: list[SkillPlan] = []
    skipped: list[Skipped] = []
    sides = dict(assigned)
    for family in sorted(_group(tasks), key=_by_need):
        name = family[0].skill
        try:
            usable = _find_usable(family, suits, is_there)
            sides.update(_split(usable, sides, seed))
            held_out = [task for task in usable if sides[task.id] == "gate"]
            train = [task for task in usable if sides[task.id] == "train"]
            if len(held_out) < settings.gate.min_tasks or not train:
                raise _LeftAlone(
                    f"{len(held_out)} held-out and {len(train)} train tasks are too few: "
                    f"the gate needs {settings.gate.min_tasks} and training 1"
                )
            if len(skills) >= settings.night.skills:
                raise _LeftAlone("other skills come first tonight")
            if any(skill.skill == name for skill in skills):
                raise _LeftAlone("the skill is taught by the asks of another project tonight")
            place = _find_place(name, usable, locate)
            if is_open(place.live):
                raise _LeftAlone("its last proposal waits for your review")
            carried = waiting(place.live)
            if carried and not _is_of(carried, family):
                raise _LeftAlone("the candidate that waits there was taught by the asks of another project")
            planned = _plan_skill(
                place,
                train=train,
                held_out=held_out,
                carried=carried,
                rejected=rejected(place.live),
                settings=settings,
                seed=seed,
            )
            _require_work(planned, is_settled)
            skills.append(planned)
        except _LeftAlone as left:
            reason = " ".join(str(left).split())
            skipped.append(Skipped(skill=name, title=family[0].title, tasks=len(family), reason=reason))
    return Plan(skills=tuple(skills), skipped=tuple(skipped), splits=sides)


def _group(tasks: Sequence[Task]) -> list[list[Task]]:
    """Return the tasks by skill and project: those of two projects never teach or judge one candidate."""
    groups: dict[tuple[str, str | None], list[Task]] = {}
    for task in tasks:
        groups.setdefault((task.skill, task.root), []).append(task)
    return list(groups.values())


def _is_of(carried: Carried, family: Sequence[Task]) -> bool:
    """Say whether a candidate was taught or judged by these tasks' sessions, as far as it tells."""
    judged = {task.task for task in carried.tasks}
    taught = {session for edit in carried.edits for session in edit.sessions}
    if not judged and not taught:
        return True
    return any(task.id in judged or not taught.isdisjoint(task.sessions) for task in family)


class _LeftAlone(Exception):
    """Why a skill is not worked on tonight, in one sentence."""


def _find_usable(
    family: Sequence[Task], suits: Callable[[Task], bool], is_there: Callable[[Task], bool]
) -> list[Task]:
    usable = [task for task in family if task.checks]
    if not usable:
        raise _LeftAlone("nothing in its sessions says what a right result looks like")
    usable = [task for task in usable if suits(task)]
    if not usable:
        raise _LeftAlone("its checks look at files or run something, which a chat model as target cannot")
    usable = [task for task in usable if is_there(task)]
    if not usable:
        raise _LeftAlone(f"the folder of its project, {family[0].project}, is not there any more")
    return usable


def _find_place(name: str, tasks: Sequence[Task], locate: Callable[[Sequence[Task]], Place]) -> Place:
    try:
        place = locate(tasks)
    except Exception as error:
        if not isinstance(error, Explained):
            raise
        raise _LeftAlone(f"{error.message} ({error.hint})" if error.hint else error.message) from error
    problems = find_problems(Skill(name, place.text)) if place.text else []
    if problems:
        raise _LeftAlone(f"{place.live} is no legal SKILL.md: {'; '.join(problems)} (mend or remove it)")
    return place


def _require_work(planned: SkillPlan, is_settled: Callable[[str, str, Sequence[str]], bool]) -> None:
    if not planned.gate:
        raise _LeftAlone("its candidate waits for held-out tasks it has not been measured on")
    learned = [task.id for task in planned.train]
    if planned.carried is None and is_settled(planned.place.live, planned.base, learned):
        raise _LeftAlone("an earlier night found that every train task passes already; it waits for new asks")


def mark_splits(tasks: Sequence[Task], splits: Mapping[str, str]) -> list[Task]:
    """Return the tasks with their side filled in; "" for those no night has looked at."""
    return [msgspec.structs.replace(task, split=splits.get(task.id, "")) for task in tasks]


def _plan_skill(
    place: Place,
    *,
    train: Sequence[Task],
    held_out: Sequence[Task],
    carried: Carried | None,
    rejected: Sequence[RejectedEdit],
    settings: Settings,
    seed: str,
) -> SkillPlan:
    first = train[0]
    plan = SkillPlan(
        skill=first.skill,
        title=first.title,
        client=first.client,
        place=place,
        train=(),
        gate=(),
        carried=carried,
        rejected=tuple(rejected),
    )
    # A one-night test looks at tonight alone, and a candidate for another text than what is live is
    # outdated; so tasks of earlier nights are as good as new.
    goes_on = carried is not None and carried.base == plan.base and settings.gate.mode == "evidence"
    seen = carried.evidence.seen if carried and carried.evidence and goes_on else ()
    items = [SplitItem(id=t.id, group=t.group, failed_before=t.failed_before) for t in held_out]
    chosen = pick_gate_tasks(items, seen=frozenset(seen), limit=settings.gate.tasks, seed=seed)
    by_id = {task.id: task for task in held_out}
    judging = {session for task in held_out for session in task.sessions}
    # Tasks the agent got wrong teach most, then the newest.
    taught = sorted(train, key=lambda t: (not t.failed_before, _newest_first(t), t.id))
    return msgspec.structs.replace(
        plan,
        train=tuple(_for_training(task, judging) for task in taught[: settings.training.tasks]),
        gate=tuple(msgspec.structs.replace(by_id[name], split="gate") for name in chosen),
    )


def _for_training(task: Task, judging: Collection[str]) -> Task:
    """Return the task without the words of held-out sessions, unless its own checks rest on them."""
    own = {check.origin for check in task.checks}
    words = tuple(o for o in task.corrections if o in own or o.session not in judging)
    return msgspec.structs.replace(task, split="train", corrections=words)


def _split(tasks: Sequence[Task], sides: Mapping[str, str], seed: str) -> dict[str, str]:
    items = [SplitItem(id=t.id, group=t.group, failed_before=t.failed_before) for t in tasks]
    return split(items, seed=seed, assigned=sides)


def _by_need(family: Sequence[Task]) -> tuple[int, int, str, str]:
    first = family[0]
    return (-sum(task.failed_before for task in family), -len(family), first.skill, first.root or "")


def _newest_first(task: Task) -> tuple[int, ...]:
    return tuple(-ord(character) for character in task.started or "")
