"""Which tasks are learned from and which ones judge; and which of the judging ones run tonight.

Four sides: what is learned from (train), what candidates are raced on (val), what judges them (gate), and
what is sealed until a skill is released (test).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256

import msgspec

TRAIN = "train"
VAL = "val"
GATE = "gate"
TEST = "test"
# By how much each side has seen: a group that has grown together from two sides belongs to the first.
SIDES = (TRAIN, VAL, GATE, TEST)
GATE_SHARE = 0.6
# Fewer groups than this leave the side empty: train comes first, then gate, val and test.
FEWEST_GROUPS = {TRAIN: 1, GATE: 2, VAL: 5, TEST: 8}
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
    val_share: float = 0.0,
    test_share: float = 0.0,
    assigned: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the side of each task id: whole groups, about the given shares of the tasks, the rest train.

    `assigned` holds earlier answers, by task id or by group: they stay, so a task added later moves no
    other one. When a group has grown together from two sides it goes to the one that has seen more (train,
    then val, gate, test), since what was learned from once can judge no more. Groups that are new go where
    they best even out the shares of past failures and of past passes; chance (a hash with `seed`) decides
    their order and nothing else does. Val and test stay empty while there are fewer than `FEWEST_GROUPS`.
    From two new groups on, neither train nor gate stays empty; a lone first group is train, because the
    tasks of later days can still judge what it taught. Raises ValueError for shares that leave no train.
    """
    shares = _shares(gate_share, val_share, test_share)
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
    filled = {side: _Group(side) for side in SIDES}
    for group in groups.values():
        if group.name in sides:
            _add(filled[sides[group.name]], group)
    # Ties go to the gate: that is what lacks tasks first.
    open_sides = [
        side
        for side in (GATE, TRAIN, VAL, TEST)
        if shares[side] and len(groups) >= (FEWEST_GROUPS[side] if side in {VAL, TEST} else 1)
    ]
    for group in new:
        side = min(open_sides, key=lambda side: _fill(filled[side], group) / shares[side])
        sides[group.name] = side
        _add(filled[side], group)
    _fill_empty_side(sides, new)
    return {task.id: sides[task.group] for task in tasks}


def _shares(gate: float, val: float, test: float) -> dict[str, float]:
    if not 0.0 < gate < 1.0:
        raise ValueError(f"gate_share {gate} must lie between 0 and 1")
    for name, share in (("val_share", val), ("test_share", test)):
        if not 0.0 <= share < 1.0:
            raise ValueError(f"{name} {share} must be at least 0 and below 1")
    train = 1.0 - gate - val - test
    if train <= 0.0:
        raise ValueError("the shares of val, gate and test leave nothing to learn from")
    return {TRAIN: train, VAL: val, GATE: gate, TEST: test}


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
            if side not in SIDES:
                raise ValueError(f"{key} is assigned to {side!r}; a side is one of: {', '.join(SIDES)}")
            sides[task.group] = min(side, sides.get(task.group, side), key=SIDES.index)
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
