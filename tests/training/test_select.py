"""Edits are ranked the same whatever order they arrive in, and clipped to the learning rate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_sleep.training.merging import dedupe
from skillopt_sleep.training.records import Edit
from skillopt_sleep.training.select import list_edits, order_edits, select_edits


def add(content, support=0, **more):
    return Edit(op="add", content=content, support=support, **more)


def contents(edits):
    return [edit.content for edit in edits]


def test_support_counts_first_then_failures_then_the_place_in_the_reply():
    edits = [
        add("d", 1, rank=1),
        add("c", 1),
        add("b", 2, source="success"),
        add("a", 2),
        add("e", 1, rank=1),
    ]
    assert contents(order_edits(edits)) == ["a", "b", "c", "d", "e"]


def test_a_models_ranking_goes_first_and_the_others_follow():
    selection = select_edits([add("a"), add("b"), add("c")], 2, ranking=[2])
    assert contents(selection.edits) == ["c", "a"]
    assert contents(selection.left_out) == ["b"]
    assert (selection.ranked, selection.faults) == (1, ())


def test_what_cannot_be_used_of_a_ranking_is_said():
    selection = select_edits([add("a"), add("b")], None, ranking=[1, 1, 7, -1, True, "0", 0])
    assert contents(selection.edits) == ["b", "a"]
    assert len(selection.faults) == 5
    assert "edit 1 is named twice" in selection.faults
    assert "7 is the number of no edit: they go from 0 to 1" in selection.faults


def test_a_rate_of_zero_selects_nothing_and_a_negative_one_is_an_error():
    selection = select_edits([add("a")], 0, ranking=[0])
    assert (selection.edits, contents(selection.left_out), selection.ranked) == ((), ["a"], 0)
    with pytest.raises(ValueError, match="-1"):
        select_edits([], -1)


def test_the_list_a_model_ranks_has_one_line_an_edit():
    edits = [add("Two\nlines.", 2), Edit(op="delete", target="Old  rule.", source="success")]
    assert list_edits(edits) == (
        '0: add "Two lines." (failure, support 2)\n1: delete at "Old rule." (success, support 0)'
    )


EDITS = st.lists(
    st.builds(
        Edit,
        op=st.sampled_from(["add", "replace", "delete"]),
        content=st.sampled_from(["a", "A", "b", "- a"]),
        target=st.sampled_from(["", "x", "y"]),
        support=st.integers(0, 2),
        source=st.sampled_from(["failure", "success"]),
        rank=st.integers(0, 2),
    ),
    max_size=8,
)


@given(EDITS, st.randoms(), st.integers(0, 9), st.lists(st.integers(-1, 9), max_size=6))
def test_the_order_of_arrival_makes_no_difference(edits, random, limit, ranking):
    shuffled = edits[:]
    random.shuffle(shuffled)
    selection = select_edits(edits, limit, ranking=ranking)
    assert selection == select_edits(shuffled, limit, ranking=ranking)
    assert len(selection.edits) == min(limit, len(edits))
    assert order_edits([*selection.edits, *selection.left_out]) == order_edits(edits)


def test_a_merged_edit_has_the_best_rank_and_the_failures_side():
    merged = dedupe([add("A rule.", source="success", rank=2), add("a rule", rank=1)])
    assert [(e.content, e.source, e.rank) for e in merged] == [("A rule.", "failure", 1)]
