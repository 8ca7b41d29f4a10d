"""The first and the last of many times."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_harvesters.times import first_and_last, to_utc

usual = st.datetimes().map(lambda time: f"{time:%Y-%m-%dT%H:%M:%S}.{time.microsecond // 1000:03d}Z".zfill(24))
times = st.lists(
    st.one_of(
        usual,
        usual,
        usual,
        st.none(),
        st.integers(0, 2**40),
        st.floats(),
        st.text("0123456789-T:.Z+", max_size=26),
        st.just("2026-13-01T10:00:00.000Z"),
        st.just("2026-01-01T10:00:00.000+"),
    ),
    max_size=6,
)


@given(times)
def test_the_first_and_the_last_are_those_of_all_times_read_one_by_one(written):
    wanted = [time for time in map(to_utc, written) if time]
    found = [time for time in first_and_last(written) if time]
    assert (min(found, default=None), max(found, default=None)) == (
        min(wanted, default=None),
        max(wanted, default=None),
    )


@pytest.mark.parametrize("odd", [None, 5, "2026-11-01", "9999-99-99T99:99:99.999Z"])
def test_an_odd_time_among_usual_ones_hides_none(odd):
    usual = ["2026-11-01T10:00:00.000Z", "2026-11-01T12:00:00.000Z"]
    found = first_and_last([usual[0], odd, usual[1]])
    assert {time for time in found if time} >= set(usual)
