"""A candidate that asks nobody: a rule that says what the failed checks want, in the words analysts are told.

A weak optimizer loses these words more often than it improves on them; a strong one wins the race against
them. No answer of a task is in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from skillopt_sleep.training.forms import tell_common
from skillopt_sleep.training.insights import Insight
from skillopt_sleep.training.records import Edit
from skillopt_sleep.training.traces import Trace

REASON = "what the failed checks want, in their own words"


def say_plainly(traces: Sequence[Trace]) -> Insight | None:
    """Return the rule as an analyst's insight; None when no run failed, or no check has a form to tell."""
    failed = {trace.task.id: trace.task for trace in traces if not trace.passed}
    rule = " ".join(tell_common(list(failed.values())))
    if not rule:
        return None
    return Insight(
        kind="failure", edits=(Edit(op="add", content=rule, support=len(failed)),), reasoning=REASON
    )
