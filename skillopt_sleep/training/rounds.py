"""Run many awaitables, a few at a time, with results in the order given."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

Report = Callable[[str, int, int], None]
"""Called with the stage, how many of its steps are done, and how many there are."""


class _NotStarted(Exception):
    """Left out because another job had failed before this one began."""


async def run_all(
    jobs: Sequence[Callable[[], Awaitable[T]]],
    *,
    slots: asyncio.Semaphore | None = None,
    stage: str = "",
    report: Report | None = None,
) -> list[T]:
    """Return the result of each job, in the order of the jobs whatever order they end in.

    Without `slots` all are started at once.

    When a job raises, the ones that run are let end, so that what they cost is not lost; no other is
    started, and the first error in the order of the jobs is raised. A cancellation reaches every job.
    """
    done = 0
    stopped = False
    slots = slots or asyncio.Semaphore(max(len(jobs), 1))

    async def run(job: Callable[[], Awaitable[T]]) -> T:
        nonlocal done, stopped
        async with slots:
            if stopped:
                raise _NotStarted
            try:
                result = await job()
            except BaseException:
                stopped = True
                raise
            done += 1
            if report is not None:
                report(stage, done, len(jobs))
            return result

    if report is not None and jobs:
        report(stage, 0, len(jobs))
    outcomes = await asyncio.gather(*(run(job) for job in jobs), return_exceptions=True)
    results: list[T] = []
    for outcome in outcomes:
        if not isinstance(outcome, BaseException):
            results.append(outcome)
        elif not isinstance(outcome, _NotStarted):
            raise outcome
    return results
