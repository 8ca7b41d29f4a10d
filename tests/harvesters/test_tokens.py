"""Sums of the tokens of many model calls."""

from __future__ import annotations

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from skillopt_harvesters import Tokens
from skillopt_harvesters.tokens import add_counts, add_tokens, bound

counts = st.one_of(st.none(), st.integers(0, 10**9), st.integers(-(2**60), 2**60))


@given(st.lists(st.tuples(counts, counts, counts, counts), max_size=5))
def test_a_sum_leaves_out_what_no_model_call_can_have_taken(told):
    parts = [
        SimpleNamespace(input=one, output=two, cache_read=three, cache_write=four)
        for one, two, three, four in told
    ]
    assert add_counts(parts) == add_tokens(map(bound, parts))
    assert add_counts([]) == Tokens()
