"""Whatever both sides changed, the merge is byte for byte the one anyone would make by hand."""

from __future__ import annotations

from hypothesis import example, given, settings

from skillopt_staging.merge import merge
from tests.support.slots import change, changes, gaps, make, merge_values, styles

LF = ("\n", False, True)


@given(sizes=gaps, base=styles, live=styles, text=styles, ours=changes, theirs=changes)
@settings(max_examples=80)
@example([1] * 5, LF, LF, LF, ["put", "keep", "cut", "keep"], ["keep", "put", "keep", "put"])
@example(
    [1] * 5, LF, ("mixed", True, False), LF, ["put", "keep", "cut", "keep"], ["keep", "add", "keep", "put"]
)
@example(
    [1] * 5, LF, ("\r\n", True, False), LF, ["cut", "keep", "put", "keep"], ["keep", "put", "add", "keep"]
)
def test_each_slot_is_as_the_side_has_it_that_changed_it(sizes, base, live, text, ours, theirs):
    old = make(sizes, base)
    now = old.fill(change(old.values(), ours, "ours")).restyle(live)
    wanted = old.fill(change(old.values(), theirs, "theirs")).restyle(text)
    outcome = merge(old.write(), now.write(), wanted.write())
    expected = merge_values(old.values(), now.values(), wanted.values())
    if expected is None:
        assert outcome.data is None
        assert outcome.conflicts > 0
        written = [text for value in now.values() for text in value if text.startswith("ours")]
        assert all(text.encode() in outcome.marked for text in written)
    else:
        assert outcome.data == now.fill(expected).write()
