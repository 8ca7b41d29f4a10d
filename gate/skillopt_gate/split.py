"""Which tasks are learned from and which ones judge; and which of the judging ones run tonight."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256

import msgspec

TRAIN = "train"
GATE = "gate"
GATE_SHARE = 0.6
GUARD_SHARE = 1 / 3


class SplitItem(msgspec.Struct, frozen=True, kw_only=True):
    """A task as a split sees it; `group` names what must stay together (one session, one project)."""

    id: str
    group: str
    failed_before: bool = False


class _Group(msgspec.Struct):
    name: str
    failed: int = 0
    passed: int = 0

    @property
    def size(self) -> int:
        return self.failed + self.passed


def split(
    tasks: Sequence[SplitItem],
    *,
    seed: str,
    gate_share: float = GATE_SHARE,
    assigned: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return "train" or "gate" for each task id: whole groups, about `gate_share` of the tasks in gate.

    `assigned` holds earlier answers, by task id or by group: they stay, so a task added later moves no
    other one. When a group has grown together from both sides it is all train, since what was learned
    from once can judge no more. Groups that are new go where they best even out the shares of past
    failures and of past passes; chance (a hash with `seed`) decides their order and nothing else does.
    From two new groups on, neither side stays empty; a lone first group is train, because the tasks of
    later days can still judge what it taught.
    """
    if not 0.0 < gate_share < 1.0:
        raise ValueError(f"gate_share {gate_share} must lie between 0 and 1")
    groups: dict[str, _Group] = {}
    for task in tasks:
        group = groups.setdefault(task.group, _Group(task.group))
        if task.failed_before:
            group.failed += 1
        else:
            group.passed += 1
    sides = _earlier(tasks, assigned or {})
    new = sorted(
        (group for group in groups.values() if group.name not in sides),
        key=lambda group: (-group.size, _rank(seed, group.name)),
    )
    filled = {GATE: _Group(GATE), TRAIN: _Group(TRAIN)}
    for group in groups.values():
        if group.name in sides:
            _add(filled[sides[group.name]], group)
    for group in new:
        at_gate = _fill(filled[GATE], group) / gate_share
        at_train = _fill(filled[TRAIN], group) / (1 - gate_share)
        sides[group.name] = GATE if at_gate <= at_train else TRAIN
        _add(filled[sides[group.name]], group)
    _fill_empty_side(sides, new)
    return {task.id: sides[task.group] for task in tasks}


def fingerprint(sides: Mapping[str, str]) -> str:
    """Return a digest of a split: equal exactly when every task is on the same side."""
    digest = sha256()
    for task, side in sorted(sides.items()):
        digest.update(f"{len(task)}:{task}={side}\n".encode())
    return digest.hexdigest()


def pick_gate_tasks(
    candidates: Sequence[SplitItem], *, seen: Collection[str], limit: int, seed: str
) -> list[str]:
    """Return up to `limit` ids of gate tasks for tonight, in the order to run them.

    Two thirds are past failures, where a gain can show; one third are past passes, which guard against
    regressions. Tasks already `seen` by this candidate's evidence add nothing to it, so they are never
    taken for their evidence: only guard seats that no fresh pass fills go to seen passes. Seats that are
    left go to whatever is fresh. No fresh task at all: an empty list, since a night would teach nothing.
    """
    if limit < 1:
        raise ValueError("limit must be at least 1")
    known = set(seen)
    ordered = sorted(candidates, key=lambda task: _rank(seed, task.id))
    fresh = [task for task in ordered if task.id not in known]
    if not fresh:
        return []
    failures = [task.id for task in fresh if task.failed_before]
    passes = [task.id for task in fresh if not task.failed_before]
    old_passes = [task.id for task in ordered if task.id in known and not task.failed_before]
    seats = round(limit * GUARD_SHARE)
    guards = (passes + old_passes)[:seats]
    chosen = failures[: limit - len(guards)]
    spare = [task for task in passes if task not in guards]
    guards += spare[: limit - len(chosen) - len(guards)]
    return list(_interleave(chosen, guards))


def _earlier(tasks: Iterable[SplitItem], assigned: Mapping[str, str]) -> dict[str, str]:
    sides: dict[str, str] = {}
    for task in tasks:
        for key in (task.id, task.group):
            side = assigned.get(key)
            if side is None:
                continue
            if side not in (TRAIN, GATE):
                raise ValueError(f"{key} is assigned to {side!r}; a side is {TRAIN!r} or {GATE!r}")
            if side == TRAIN or task.group not in sides:
                sides[task.group] = side
    return sides


def _add(side: _Group, group: _Group) -> None:
    side.failed += group.failed
    side.passed += group.passed


def _fill(side: _Group, group: _Group) -> int:
    """Return how full `side` would be with `group`: in all, and in the kinds of tasks the group has."""
    return (
        group.size * (side.size + group.size)
        + group.failed * (side.failed + group.failed)
        + group.passed * (side.passed + group.passed)
    )


def _fill_empty_side(sides: dict[str, str], new: Sequence[_Group]) -> None:
    if len(sides) == 1 and len(new) == 1:
        sides[new[0].name] = TRAIN
        return
    for side, other in ((TRAIN, GATE), (GATE, TRAIN)):
        if side not in sides.values() and new and len(sides) > 1:
            smallest = min(new, key=lambda group: (group.size, group.name))
            if sides[smallest.name] == other:
                sides[smallest.name] = side


def _rank(seed: str, name: str) -> bytes:
    return sha256(f"{len(seed)}:{seed}{name}".encode()).digest()


def _interleave(first: Sequence[str], second: Sequence[str]) -> Iterable[str]:
    """Mix two lists evenly, so that a night stopped early has seen both kinds."""
    places = [((at + 0.5) / len(first), 0, name) for at, name in enumerate(first)]
    places += [((at + 0.5) / len(second), 1, name) for at, name in enumerate(second)]
    return (name for _, _, name in sorted(places))
