"""Splits by group that stay put, and the tasks of a night."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_gate.sealed import SealBroken, open_sealed
from skillopt_gate.split import (
    FEWEST_GROUPS,
    GATE,
    TEST,
    TRAIN,
    VAL,
    SplitItem,
    fingerprint,
    pick_gate_tasks,
    split,
)


def item(name, group=None, failed=False):
    return SplitItem(id=name, group=group or f"group of {name}", failed_before=failed)


items = st.lists(
    st.builds(
        SplitItem,
        id=st.text(min_size=1, max_size=4),
        group=st.sampled_from([f"g{at}" for at in range(9)]),
        failed_before=st.booleans(),
    ),
    max_size=40,
    unique_by=lambda task: task.id,
)


@given(items)
def test_groups_are_never_torn_apart_and_every_task_has_a_side(tasks):
    sides = split(tasks, seed="s")
    assert set(sides) == {task.id for task in tasks}
    for group in {task.group for task in tasks}:
        assert len({sides[task.id] for task in tasks if task.group == group}) == 1


@given(items)
def test_two_groups_are_enough_for_both_sides(tasks):
    sides = set(split(tasks, seed="s").values())
    if len({task.group for task in tasks}) >= 2:
        assert sides == {TRAIN, GATE}


@given(items, st.randoms(use_true_random=False))
def test_the_order_of_tasks_changes_nothing(tasks, random):
    shuffled = list(tasks)
    random.shuffle(shuffled)
    assert split(shuffled, seed="s") == split(tasks, seed="s")


@given(items, items)
def test_tasks_that_come_later_move_no_other(tasks, later):
    first = split(tasks, seed="s")
    known = {task.id for task in tasks}
    groups = {task.group for task in tasks}
    more = tasks + [task for task in later if task.id not in known]
    second = split(more, seed="s", assigned=first)
    for task in tasks:
        assert second[task.id] == first[task.id]
    for task in more:
        if task.group in groups:
            owner = next(old for old in tasks if old.group == task.group)
            assert second[task.id] == first[owner.id]


@pytest.mark.parametrize("number", [5, 10, 20, 50, 101])
def test_about_sixty_percent_go_to_the_gate_with_failures_on_both_sides(number):
    tasks = [item(f"t{at}", failed=at % 2 == 0) for at in range(number)]
    sides = split(tasks, seed="s")
    gate = [task for task in tasks if sides[task.id] == GATE]
    assert abs(len(gate) - 0.6 * number) <= 1
    assert abs(sum(task.failed_before for task in gate) - 0.6 * number / 2) <= 1.5


def test_tasks_that_come_one_a_day_still_end_up_near_sixty_percent():
    assigned: dict[str, str] = {}
    tasks = []
    for day in range(40):
        tasks.append(item(f"t{day}", failed=day % 3 != 0))
        assigned = split(tasks, seed="s", assigned=assigned)
    assert abs(sum(side == GATE for side in assigned.values()) - 24) <= 1


def test_one_large_group_does_not_starve_the_gate():
    tasks = [item(f"big{at}", group="big") for at in range(10)] + [item(f"t{at}") for at in range(10)]
    sides = split(tasks, seed="s")
    assert 8 <= sum(side == GATE for side in sides.values()) <= 14


def test_a_lone_group_is_learned_from_and_the_next_one_judges():
    first = split([item("a")], seed="s")
    assert first == {"a": TRAIN}
    assert split([item("a"), item("b")], seed="s", assigned=first) == {"a": TRAIN, "b": GATE}


def test_different_seeds_give_different_splits_and_the_same_seed_the_same():
    tasks = [item(f"t{at}") for at in range(30)]
    assert split(tasks, seed="one") == split(tasks, seed="one")
    assert split(tasks, seed="one") != split(tasks, seed="two")


def test_a_group_that_grew_together_from_both_sides_is_train():
    tasks = [item("a", group="both"), item("b", group="both"), item("c")]
    for earlier in ({"a": GATE, "b": TRAIN, "c": GATE}, {"a": TRAIN, "b": GATE, "c": GATE}):
        assert split(tasks, seed="s", assigned=earlier) == {"a": TRAIN, "b": TRAIN, "c": GATE}


def test_assignments_may_also_be_kept_by_group():
    assert split([item("new", group="g")], seed="s", assigned={"g": GATE}) == {"new": GATE}


def test_an_unknown_side_is_refused():
    with pytest.raises(ValueError, match="assigned to 'exam'"):
        split([item("a")], seed="s", assigned={"a": "exam"})
    with pytest.raises(ValueError, match="gate_share"):
        split([item("a")], seed="s", gate_share=1.0)


def test_no_tasks_is_an_empty_split():
    assert split([], seed="s") == {}


def test_a_fingerprint_tells_splits_apart_and_not_their_order():
    assert fingerprint({"a": GATE, "b": TRAIN}) == fingerprint({"b": TRAIN, "a": GATE})
    assert fingerprint({"a": GATE, "b": TRAIN}) != fingerprint({"a": TRAIN, "b": GATE})
    assert fingerprint({"a": GATE}) != fingerprint({"a": GATE, "b": GATE})


def tasks_of(failures, passes):
    return [item(f"f{at}", failed=True) for at in range(failures)] + [item(f"p{at}") for at in range(passes)]


def kinds(chosen):
    return sum(name[0] == "f" for name in chosen), sum(name[0] == "p" for name in chosen)


def test_a_night_is_two_thirds_past_failures_and_one_third_past_passes():
    chosen = pick_gate_tasks(tasks_of(20, 20), seen=(), limit=12, seed="night 1")
    assert kinds(chosen) == (8, 4)
    assert chosen != pick_gate_tasks(tasks_of(20, 20), seen=(), limit=12, seed="night 2")


def test_a_night_stopped_half_way_has_run_both_kinds():
    chosen = pick_gate_tasks(tasks_of(20, 20), seen=(), limit=12, seed="s")
    assert kinds(chosen[:6]) == (4, 2)


def test_what_is_short_is_filled_with_what_is_fresh():
    assert kinds(pick_gate_tasks(tasks_of(2, 20), seen=(), limit=12, seed="s")) == (2, 10)
    assert kinds(pick_gate_tasks(tasks_of(20, 1), seen=(), limit=12, seed="s")) == (11, 1)
    assert kinds(pick_gate_tasks(tasks_of(3, 2), seen=(), limit=12, seed="s")) == (3, 2)


def test_seen_passes_stand_guard_and_seen_failures_are_not_paid_for_again():
    seen = {f"f{at}" for at in range(10)} | {f"p{at}" for at in range(10)}
    chosen = pick_gate_tasks(tasks_of(14, 10), seen=seen, limit=12, seed="s")
    assert kinds(chosen) == (4, 4)
    assert {name for name in chosen if name[0] == "f"} == {"f10", "f11", "f12", "f13"}


def test_without_a_fresh_task_there_is_nothing_to_run():
    tasks = tasks_of(5, 5)
    assert pick_gate_tasks(tasks, seen=[task.id for task in tasks], limit=12, seed="s") == []
    assert pick_gate_tasks([], seen=(), limit=12, seed="s") == []


@given(items, st.integers(min_value=1, max_value=20), st.randoms(use_true_random=False))
def test_a_night_never_exceeds_its_limit_repeats_a_task_or_wastes_a_fresh_seat(tasks, limit, random):
    seen = {task.id for task in tasks if random.random() < 0.4}
    chosen = pick_gate_tasks(tasks, seen=seen, limit=limit, seed="s")
    fresh = {task.id for task in tasks} - seen
    assert len(chosen) == len(set(chosen)) <= limit
    if len(chosen) < limit and fresh:
        assert fresh <= set(chosen)


def test_a_limit_below_one_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        pick_gate_tasks(tasks_of(1, 1), seen=(), limit=0, seed="s")


FOUR = {"gate_share": 0.5, "val_share": 0.15, "test_share": 0.1}


@given(items)
def test_val_and_test_stay_empty_while_groups_are_few(tasks):
    sides = split(tasks, seed="s", **FOUR)
    groups = len({task.group for task in tasks})
    if groups < FEWEST_GROUPS[VAL]:
        assert set(sides.values()) <= {TRAIN, GATE}
    if groups < FEWEST_GROUPS[TEST]:
        assert TEST not in sides.values()
    if groups >= 2:
        assert {TRAIN, GATE} <= set(sides.values())


def test_shares_are_met_when_there_is_enough():
    tasks = [item(f"t{at}", failed=at % 3 == 0) for at in range(200)]
    sides = split(tasks, seed="s", **FOUR)
    shares = {side: sum(one == side for one in sides.values()) / 200 for side in (TRAIN, VAL, GATE, TEST)}
    assert shares == pytest.approx({TRAIN: 0.25, VAL: 0.15, GATE: 0.5, TEST: 0.1}, abs=0.02)
    failures = [task for task in tasks if task.failed_before]
    assert sum(sides[task.id] == GATE for task in failures) / len(failures) == pytest.approx(0.5, abs=0.05)


@given(items, items)
def test_with_four_sides_too_tasks_that_come_later_move_no_other(tasks, later):
    first = split(tasks, seed="s", **FOUR)
    known, groups = {task.id for task in tasks}, {task.group for task in tasks}
    more = tasks + [task for task in later if task.id not in known and task.group not in groups]
    second = split(more, seed="s", assigned=first, **FOUR)
    assert {task.id: second[task.id] for task in tasks} == first


def test_a_group_that_grew_together_goes_to_the_side_that_has_seen_more():
    tasks = [item("a", group="both"), item("b", group="both")]
    for one, other, side in ((TEST, GATE, GATE), (TEST, VAL, VAL), (GATE, VAL, VAL), (TEST, TRAIN, TRAIN)):
        assert set(split(tasks, seed="s", assigned={"a": one, "b": other}).values()) == {side}


def test_shares_that_leave_nothing_to_learn_from_are_refused():
    with pytest.raises(ValueError, match="nothing to learn from"):
        split([item("a")], seed="s", gate_share=0.6, val_share=0.2, test_share=0.2)
    with pytest.raises(ValueError, match="val_share"):
        split([item("a")], seed="s", val_share=-0.1)


def test_the_sealed_side_is_opened_once_for_each_split():
    looks = open_sealed(None, "one")
    assert (looks.test, looks.gate) == (1, 0)
    with pytest.raises(SealBroken, match="opened before"):
        open_sealed(looks, "one")
    looked = looks.look().look()
    assert looked.gate == 2
    again = open_sealed(looked, "another")
    assert (again.split, again.test, again.gate) == ("another", 1, 2)
