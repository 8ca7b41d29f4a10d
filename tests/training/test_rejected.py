"""What was turned down is remembered once, with what was measured, the most telling first."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from skillopt_sleep.training.records import Edit, RejectedEdit
from skillopt_sleep.training.rejected import RejectedEdits, remember_rejected, render_rejected


def remember(*edits, known=None, **more):
    return remember_rejected(known or RejectedEdits(), edits, **more)


def test_the_users_word_comes_first_then_what_did_most_harm_then_what_was_not_measured():
    memory = remember(
        RejectedEdit("unmeasured", "hides text"),
        RejectedEdit("useless", "no gain", 0.0),
        RejectedEdit("harmful", "worse", -0.4),
        RejectedEdit("later", "torn"),
        RejectedEdit("refused", "not here", by_user=True),
        RejectedEdit("lucky", "broke one task", 0.1),
    )
    assert [e.content for e in memory.edits] == [
        "refused", "harmful", "useless", "lucky", "later", "unmeasured",
    ]  # fmt: skip


def test_an_edit_is_kept_once_with_its_newest_reason_and_what_was_measured_of_it():
    memory = remember(
        RejectedEdit("Use tabs.", "worse", -0.25), RejectedEdit("- use  TABS", "says so already")
    )
    assert memory.edits == (RejectedEdit("- use  TABS", "says so already", -0.25),)
    memory = remember(RejectedEdit("Use tabs!", "no gain", 0.0, shared=True), known=memory)
    assert memory.edits == (RejectedEdit("Use tabs!", "no gain", -0.25),), "an effect of its own counts more"
    memory = remember(RejectedEdit("Use tabs.", "no", by_user=True), known=memory)
    memory = remember(RejectedEdit("Use tabs.", "worse", -0.5), known=memory)
    assert memory.edits == (RejectedEdit("Use tabs.", "no", -0.5, by_user=True),)


def test_only_the_most_telling_are_kept():
    memory = remember(*(RejectedEdit(f"rule {n}", "worse", -n / 100) for n in range(30)), capacity=3)
    assert [e.content for e in memory.edits] == ["rule 29", "rule 28", "rule 27"]


def test_an_edit_that_was_turned_down_is_known_again_in_other_case_and_punctuation():
    memory = remember(RejectedEdit("Use `tabs`.", "worse"), RejectedEdit("", "worse", target="Old rule."))
    assert memory.knows(Edit(op="add", content="- use tabs"))
    assert memory.knows(Edit(op="replace", content="use tabs", target="x"))
    assert memory.knows(Edit(op="delete", target="old rule"))
    assert not memory.knows(Edit(op="delete", target="Another rule."))
    assert not memory.knows(Edit(op="add", content="Use spaces."))


def test_what_the_optimizer_is_told_fits_and_says_what_was_measured():
    told = render_rejected(
        [
            RejectedEdit("Use\ntabs.", "it broke\ntask 3", -0.125),
            RejectedEdit("Be kind.", "no gain", 0.0, shared=True),
            RejectedEdit("Too long. " * 400, "worse"),
            RejectedEdit("", "by the user: keep it", by_user=True, target="Old rule."),
        ]
    )
    assert told.split("\n") == [
        '- "Use tabs." was turned down: it broke task 3 (with it the score fell by 0.125)',
        '- "Be kind." was turned down: no gain (with it and other edits the score stayed the same)',
        '- deleting "Old rule." was turned down: by the user: keep it',
    ]
    assert render_rejected([RejectedEdit("a", "b"), RejectedEdit("c", "d")], count=1).count("\n") == 0
    assert render_rejected([]) == ""


REJECTED = st.builds(
    RejectedEdit,
    st.sampled_from(["a", "A.", "b", "- b", "", "..."]),
    st.sampled_from(["worse", "no gain"]),
    st.sampled_from([None, -0.5, 0.0, 0.5]),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["", "x", "X", "y"]),
)


@given(st.lists(REJECTED, max_size=10), st.lists(REJECTED, max_size=10))
def test_the_memory_survives_being_stored_and_does_not_grow_by_repetition(first, second):
    memory = remember(*first)
    stored = msgspec.json.decode(msgspec.json.encode(memory), type=RejectedEdits)
    assert stored == memory
    assert {e.by_user for e in remember(*first, known=memory).edits} == {e.by_user for e in memory.edits}
    assert len(remember(*first, known=memory).edits) == len(memory.edits)
    both = remember(*second, known=memory)
    assert len(both.edits) == len(remember(*first, *second).edits)
    for edit in (*first, *second):
        assert both.knows(Edit(op="replace", content=edit.content, target=edit.target))
