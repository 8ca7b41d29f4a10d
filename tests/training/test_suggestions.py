"""Suggestions and drafts are read one by one, and a fault costs the entry it is in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_sleep.training.suggestions import read_draft, read_suggestions


def entry(instruction="Say it.", **more):
    return {"type": "add_rule", "instruction": instruction, **more}


def test_a_suggestion_keeps_what_it_says_and_where_it_comes_from():
    raw = entry(" Say it. ", title="Short", motivation="t1 failed", priority_hint="High", because=["c1", 7])
    (one,), faults = read_suggestions([raw], support=3, source="success")
    assert faults == ()
    assert (one.kind, one.instruction, one.title, one.motivation) == (
        "add_rule", "Say it.", "Short", "t1 failed",
    )  # fmt: skip
    assert (one.priority, one.because, one.support, one.source) == (0, ("c1",), 3, "success")


def test_each_suggestion_is_there_once_and_what_is_none_is_told():
    found, faults = read_suggestions(
        [entry(), entry("say  it"), 7, entry(" "), entry(type="destroy"), entry(type="clarify", title=None)]
    )
    assert [(s.kind, s.rank) for s in found] == [("add_rule", 0), ("clarify", 1)]
    assert [fault.split(":")[0] for fault in faults] == ["suggestion 3", "suggestion 4", "suggestion 5"]
    assert "one of add_rule, remove_rule" in faults[2]
    assert read_suggestions("none") == ((), ('"revise_suggestions" is no list',))


@pytest.mark.parametrize(
    ("entries", "text", "changes"),
    [
        ([{"new_skill": "# A\n", "change_summary": ["x ", 3]}], "# A\n", ("x",)),
        ([{"new_skill": " "}, 7, {"new_skill": "# B", "change_summary": "y"}], "# B", ("y",)),
    ],
)
def test_the_first_draft_with_a_text_is_taken_as_it_is(entries, text, changes):
    draft, fault = read_draft(entries)
    assert (draft.text, draft.changes, fault) == (text, changes, "")


def test_a_reply_without_a_draft_says_so():
    assert read_draft({}) == (None, '"skill_candidates" is no list')
    assert read_draft([{"title": "x"}])[0] is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "instruction", "title", "because", "priority_hint", "new_skill", "change_summary"]
            ),
            inner | st.sampled_from(["add_rule", "compress"]),
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_whatever_a_model_replies_it_is_read(value):
    found, faults = read_suggestions(value)
    assert len(found) + len(faults) <= max(len(value) if isinstance(value, list) else 1, 1)
    draft, fault = read_draft(value)
    assert (draft is None) == bool(fault)
