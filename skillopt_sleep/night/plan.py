"""What a night works on. Pure: tasks, splits and settings in, a frozen plan out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec

from skillopt_gate.split import SplitItem, pick_gate_tasks, split
from skillopt_replay.skills import Skill, find_problems
from skillopt_replay.tasks import Task, needs_judge
from skillopt_sleep.errors import Explained
from skillopt_sleep.night.past import went_wrong
from skillopt_sleep.night.planned import NOTHING_FRESH, Place, Plan, SkillPlan, Skipped
from skillopt_sleep.settings import Gate, Settings
from skillopt_sleep.store.candidates import Carried
from skillopt_sleep.store.memories import Learned
from skillopt_sleep.training.records import RejectedEdit


def make_plan(
    tasks: Sequence[Task],
    assigned: Mapping[str, str],
    settings: Settings,
    *,
    seed: str,
    locate: Callable[[Sequence[Task]], Place],
    waiting: Callable[[str], Carried | None],
    rejected: Callable[[str], Sequence[RejectedEdit]],
    learned: Callable[[str], Learned] = lambda _: Learned(),
    is_open: Callable[[str], bool],
    is_settled: Callable[[str, str, Sequence[str]], bool],
    suits: Callable[[Task], bool],
    is_there: Callable[[Task], bool] = lambda _: True,
) -> Plan:
    """Choose skills, train tasks and held-out tasks.

    A skill is taught by the tasks of one project (Task.root) a night; when the tasks have no root, by all.
    `locate` says where the skill of these tasks lives, `waiting` which candidate waits at a live path,
    `rejected` which edits were turned down there, `learned` what the last night left there, and `is_open`
    whether the user still has a proposal for that path to decide. `is_settled` says that a skill passes
    these train tasks already, `suits` whether the target can be judged by a task's checks, `is_there`
    whether what the task works on still exists.
    Skills with most failed asks come first. A place that cannot be used, or a skill there that is no legal
    SKILL.md, costs the others nothing.
    """
    skills: list[SkillPlan] = []
    skipped: list[Skipped] = []
    sides = dict(assigned)
    for family in sorted(group_tasks(tasks), key=_by_need):
        name = family[0].skill
        try:
            usable = _find_usable(family, suits, is_there)
            sides.update(_split(usable, sides, seed, settings.gate))
            held_out = [task for task in usable if sides[task.id] == "gate"]
            train = [task for task in usable if sides[task.id] == "train"]
            if len(held_out) < settings.gate.min_tasks or not train:
                judged = sum(bool(t.checks) and needs_judge([t]) and not suits(t) for t in family)
                more = f"; {judged} more only a model could judge, and none is set (judge.model)"
                raise _LeftAlone(
                    f"too few tasks: {len(held_out)} held-out and {len(train)} to train on, "
                    f"where {settings.gate.min_tasks} and 1 are needed{more if judged else ''}"
                )
            if sum(bool(skill.gate) for skill in skills) >= settings.night.skills:
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
                val=[task for task in usable if sides[task.id] == "val"],
                sealed=[task for task in usable if sides[task.id] == "test"],
                carried=carried,
                rejected=rejected(place.live),
                learned=learned(place.live),
                settings=settings,
                seed=seed,
            )
            _require_work(planned, is_settled)
            skills.append(planned)
        except _LeftAlone as left:
            reason = " ".join(str(left).split())
            skipped.append(Skipped(skill=name, title=family[0].title, tasks=len(family), reason=reason))
    return Plan(skills=tuple(skills), skipped=tuple(skipped), splits=sides)


def group_tasks(tasks: Sequence[Task]) -> list[list[Task]]:
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
    suited = [task for task in usable if suits(task)]
    if not suited:
        if needs_judge(usable):
            raise _LeftAlone("only a model could judge its results, and none is set (judge.model)")
        raise _LeftAlone("its checks look at files or run something, which a chat model as target cannot")
    usable = suited
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
    if not planned.gate and not planned.renewed:
        raise _LeftAlone(NOTHING_FRESH)
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
    val: Sequence[Task],
    sealed: Sequence[Task],
    carried: Carried | None,
    rejected: Sequence[RejectedEdit],
    learned: Learned,
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
        learned=learned,
    )
    # A one-night test looks at tonight alone, and a candidate for another text than what is live is
    # outdated; so tasks of earlier nights are as good as new.
    goes_on = carried is not None and carried.base == plan.base and settings.gate.mode == "evidence"
    seen = carried.evidence.seen if carried and carried.evidence and goes_on else ()
    items = _itemize(held_out)
    limit = settings.gate.tasks
    chosen = pick_gate_tasks(items, seen=frozenset(seen), limit=limit, seed=seed)
    again = [name for name in pick_gate_tasks(items, seen=(), limit=limit, seed=seed) if name not in chosen]
    by_id = {task.id: msgspec.structs.replace(task, split="gate") for task in held_out}
    unseen = [*held_out, *val, *sealed]
    judging = {session for task in unseen for session in task.sessions}
    # Tasks the agent got wrong teach most, then the newest.
    taught = sorted(train, key=lambda t: (not went_wrong(t), _newest_first(t), t.id))
    return msgspec.structs.replace(
        plan,
        train=tuple(_for_training(task, judging) for task in taught[: settings.training.tasks]),
        gate=tuple(by_id[name] for name in chosen),
        renewed=tuple(by_id[name] for name in again[: limit - len(chosen)]) if seen else (),
        val=tuple(msgspec.structs.replace(task, split="val") for task in val[: settings.training.tasks]),
        sealed=len(sealed),
        hidden=tuple(task.prompt for task in unseen if task.id not in chosen),
    )


def _for_training(task: Task, judging: Collection[str]) -> Task:
    """Return the task without the words of held-out sessions, unless its own checks rest on them."""
    own = {check.origin for check in task.checks}
    words = tuple(o for o in task.corrections if o in own or o.session not in judging)
    return msgspec.structs.replace(task, split="train", corrections=words)


def _split(tasks: Sequence[Task], sides: Mapping[str, str], seed: str, gate: Gate) -> dict[str, str]:
    found = split(
        _itemize(tasks), seed=seed, assigned=sides, val_share=gate.val_share, test_share=gate.sealed_share
    )
    # The group's side as well: when its tasks are gone, or read otherwise, what its sessions say later stays
    # where it was.
    return found | {task.group: found[task.id] for task in tasks}


def _itemize(tasks: Sequence[Task]) -> list[SplitItem]:
    return [SplitItem(id=task.id, group=task.group, failed_before=went_wrong(task)) for task in tasks]


def _by_need(family: Sequence[Task]) -> tuple[int, int, str, str]:
    first = family[0]
    return (-sum(went_wrong(task) for task in family), -len(family), first.skill, first.root or "")


def _newest_first(task: Task) -> tuple[int, ...]:
    return tuple(-ord(character) for character in task.started or "")
