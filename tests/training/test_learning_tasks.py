"""The tasks of the benchmark of learning: apart from each other, and checked as they say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.learning_tasks import BY_HAND, FAMILIES, LONGEST, check_query, make_tasks

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "bench_learning.py"


@pytest.mark.parametrize("family", list(FAMILIES))
def test_no_prompt_is_in_two_splits_and_a_seed_makes_the_same_tasks(family):
    counts = {"train": 6, "val": 4, "test": 12}
    made = make_tasks(family, counts, 1)
    assert {split: len(tasks) for split, tasks in made.items()} == counts
    assert len({task.prompt for tasks in made.values() for task in tasks}) == 22
    assert make_tasks(family, counts, 1) == made
    assert make_tasks(family, counts, 2) != made
    assert BY_HAND[family]
    assert LONGEST[family]


def test_a_query_is_right_when_it_leaves_out_what_was_deleted():
    task = next(
        task
        for task in make_tasks("sql_soft", {"test": 40}, 1)["test"]
        if task.prompt.endswith("How many orders did Ana place?")
    )
    every = "select count(*) from orders where customer = 'Ana'"
    kept = f"```sql\n{every} and is_deleted = 0;\n```"
    assert [result.passed for result in check_query(task, kept)] == [True, True]
    told = check_query(task, every)
    assert [result.passed for result in told] == [True, False]
    assert "deleted" in told[1].detail
    assert not any(result.passed for result in check_query(task, "delete from orders"))


def test_without_a_model_file_it_says_so():
    command = [sys.executable, str(SCRIPT), "--model", "nowhere.gguf"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "there is no nowhere.gguf" in done.stderr
