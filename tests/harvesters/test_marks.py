"""Marks are the same everywhere, differ where ids differ, and millions of them fit in memory."""

from __future__ import annotations

import subprocess
import sys
import uuid

from hypothesis import given
from hypothesis import strategies as st

from skillopt_harvesters import marks
from skillopt_harvesters.marks import MarkSet, mark_of, marks_of

ids = st.one_of(st.uuids().map(str), st.text(max_size=50), st.uuids().map(lambda u: str(u).upper()))
numbers = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(ids, min_size=1, max_size=20))
def test_marks_of_many_are_the_marks_of_each(records):
    assert marks_of(records) == [mark_of(record) for record in records]
    assert all(-(2**63) <= mark < 2**63 for mark in marks_of(records))


def test_ids_that_differ_in_one_place_have_different_marks():
    places = {"{:08x}-0000-4000-8000-000000000000", "00000000-0000-4000-8000-{:012x}", "{:036d}", "r{}"}
    for form in (*places, "00000000-{:04x}-4000-8000-000000000000", "00000000-0000-4000-{:04x}-000000000000"):
        assert len(set(marks_of([form.format(number) for number in range(5000)]))) == 5000
    assert mark_of("not a uuid") != mark_of("not a uuid ")


def test_a_mark_is_the_same_in_another_process():
    records = [str(uuid.UUID(int=5)), "codex/7", "\ud83d"]
    program = (
        "import sys; from skillopt_harvesters.marks import mark_of; print(*map(mark_of, eval(sys.argv[1])))"
    )
    told = subprocess.run(
        [sys.executable, "-c", program, ascii(records)], capture_output=True, text=True, check=True
    ).stdout
    assert told.split() == [str(mark_of(record)) for record in records]


@given(st.lists(numbers, max_size=200), st.lists(numbers, max_size=50), st.integers(1, 40))
def test_a_set_of_marks_is_a_set(added, asked, plain):
    before, marks._PLAIN = marks._PLAIN, plain
    try:
        ours, true = MarkSet(), set()
        for number in added:
            assert ours.add(number) == (number not in true)
            true.add(number)
        assert (set(ours), len(ours)) == (true, len(true))
        assert [number in ours for number in (*asked, *added)] == [n in true for n in (*asked, *added)]
        new = [number for number in asked if number not in true]
        assert ours.add_new(asked) == (len(set(asked)) == len(asked) == len(new))
        assert MarkSet(ours)._older >= 0
        assert set(MarkSet(ours)) == set(ours)
    finally:
        marks._PLAIN = before
