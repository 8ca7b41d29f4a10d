"""Times as clients write them, and as a damaged file may hold them."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skillopt_harvesters.times import to_utc


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-11-29T19:55:28.617Z", "2026-11-29T19:55:28.617Z"),
        ("2026-11-29T19:55:28.617123Z", "2026-11-29T19:55:28.617Z"),
        ("2026-11-29T19:55:28Z", "2026-11-29T19:55:28.000Z"),
        ("2026-11-29T21:55:28.6+02:00", "2026-11-29T19:55:28.600Z"),
        ("2026-11-29T19:55:28", "2026-11-29T19:55:28.000Z"),
        ("0001-01-01T00:00:00+00:00", "0001-01-01T00:00:00.000Z"),
        (1795982128, "2026-11-29T19:55:28.000Z"),
        (1795982128617, "2026-11-29T19:55:28.617Z"),
        ("2026-11-29T19:5h:28.617Z", None),
        ("2026-02-31T19:55:28.617Z", None),
        ("2026-11-29T19:55:61.617Z", None),
        ("0001-01-01T00:00:00+05:00", None),
        ("yesterday", None),
        ("", None),
        (None, None),
        (1e300, None),
        (float("nan"), None),
    ],
)
def test_a_time_is_read_in_any_way_it_is_written(written, read):
    assert to_utc(written) == read


@given(
    st.one_of(
        st.text(max_size=40),
        st.from_regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", fullmatch=True),
        st.datetimes().map(lambda moment: moment.isoformat()),
        st.integers(),
        st.floats(),
    )
)
@example("2026-11-29T٢9:55:28.617Z")
def test_what_is_returned_is_a_time(written):
    read = to_utc(written)
    if read is not None:
        assert len(read) == 24
        assert datetime.fromisoformat(read.replace("Z", "+00:00")).tzinfo is not None
