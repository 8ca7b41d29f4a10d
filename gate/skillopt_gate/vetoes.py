"""What stops a candidate whatever its average: too many lost runs, or a task it broke."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from skillopt_gate.verdicts import Pair, Policy

# Runs per side that a recheck should add. With an identical skill and 14 tasks a night it brings vetoes by
# chance from 85 % to 3 % of nights with one run per side, and from 27 % to below 1 % with three, while a
# task that really fell from always to one in five passing is still caught in 76 and 84 of 100
# (benchmarks/bench_gate.py).
RECHECK_RUNS = 5

# A candidate that loses its runs on so many nights is not waited for any longer.
MOST_LOST_NIGHTS = 3

# One lost run more or less says nothing about an arm.
_FEWEST_LOST = 3


def lost_runs(pairs: Sequence[Pair], policy: Policy) -> str | None:
    """Return why tonight's data cannot be trusted, or None: pairs or runs lost, or lost on one side.

    A night that loses runs mostly on one side compares an easier half of the tasks with the whole.
    """
    if not pairs:
        return "no held-out task was run"
    complete = sum(1 for pair in pairs if pair.incumbent and pair.candidate)
    if complete < policy.coverage * len(pairs):
        return f"only {complete} of {len(pairs)} held-out tasks ran with both skills"
    asked, lost = _count_lost(pairs)
    for side, number in lost.items():
        if asked - number < policy.coverage * asked:
            return f"{number} of {asked} runs with the {side} were lost to errors outside the task"
    if _is_gap(abs(lost["incumbent"] - lost["candidate"]), asked, policy):
        return (
            f"runs were lost unequally ({lost['incumbent']} with the incumbent, "
            f"{lost['candidate']} with the candidate, of {asked} each)"
        )
    return None


def lost_by_candidate(pairs: Sequence[Pair], policy: Policy) -> bool:
    """Tell whether runs were lost mostly with the candidate, as when it makes the agent itself fail."""
    asked, lost = _count_lost(pairs)
    return _is_gap(lost["candidate"] - lost["incumbent"], asked, policy)


def _count_lost(pairs: Sequence[Pair]) -> tuple[int, dict[str, int]]:
    """Return how many runs each side was asked for, and how many of them each side lost."""
    asked = sum(_asked(pair) for pair in pairs)
    return asked, {
        "incumbent": asked - sum(len(pair.incumbent) for pair in pairs),
        "candidate": asked - sum(len(pair.candidate) for pair in pairs),
    }


def _is_gap(gap: int, asked: int, policy: Policy) -> bool:
    return gap >= _FEWEST_LOST and gap > policy.max_error_gap * asked


def broken(pairs: Sequence[Pair], policy: Policy) -> tuple[str, ...]:
    """Return the tasks the candidate broke, in order of their ids.

    A task looks broken when the incumbent passed in all its runs and the candidate fails in more than half
    of its own, or when the candidate's mean lies more than two standard errors below the incumbent's. If it
    was rechecked, the new runs alone must say so again: the first ones were singled out for looking bad.
    """
    return tuple(sorted(pair.task for pair in pairs if _is_broken(pair, policy)))


def suspects(pairs: Sequence[Pair], policy: Policy) -> tuple[str, ...]:
    """Return the tasks that look broken and were not rechecked yet: each gets one recheck.

    The caller runs them up to `RECHECK_RUNS` more times on each side and puts those scores into the pair's
    `again_*`; what `broken` still names then is final. It may do so a few runs at a time, with their number
    so far in `again_runs`: a task is no suspect any more once the runs left cannot change the answer, which
    is the one that all runs would have given. With one run per side one unlucky run makes a suspect, so
    judging without a recheck refuses many good candidates.
    """
    return tuple(
        sorted(pair.task for pair in pairs if _is_broken(pair, policy) and _recheck(pair, policy) is None)
    )


def _asked(pair: Pair) -> int:
    return max(pair.runs, len(pair.incumbent), len(pair.candidate), 1)


def _recheck(pair: Pair, policy: Policy) -> bool | None:
    """Return whether the task is broken by its recheck alone, None while that is open."""
    incumbent, candidate = pair.again_incumbent, pair.again_candidate
    left = RECHECK_RUNS - pair.again_runs if pair.again_runs else 0
    if left <= 0:
        return _looks_broken(incumbent, candidate, policy) if incumbent and candidate else None
    ends = [(1.0,) * passed + (0.0,) * (left - passed) for passed in range(left + 1)]
    answers = {
        _looks_broken((*incumbent, *one), (*candidate, *other), policy) for one in ends for other in ends
    }
    return answers.pop() if len(answers) == 1 else None


def _is_broken(pair: Pair, policy: Policy) -> bool:
    if not pair.incumbent or not pair.candidate or not _looks_broken(pair.incumbent, pair.candidate, policy):
        return False
    return _recheck(pair, policy) is not False


def _looks_broken(incumbent: Sequence[float], candidate: Sequence[float], policy: Policy) -> bool:
    failed = sum(score < policy.pass_mark for score in candidate)
    if all(score >= policy.pass_mark for score in incumbent) and 2 * failed > len(candidate):
        return True
    return _beyond_two_errors(incumbent, candidate)


def _beyond_two_errors(incumbent: Sequence[float], candidate: Sequence[float]) -> bool:
    """Tell whether the loss exceeds two standard errors, after Agresti & Caffo (2000).

    One success and one failure are added to each side, which keeps the error of two or three runs from
    being zero; p (1 - p) is the largest variance scores in [0, 1] with mean p can have.
    """
    n, m = len(incumbent) + 2, len(candidate) + 2
    p, q = (sum(incumbent) + 1) / n, (sum(candidate) + 1) / m
    return p - q > 2 * sqrt(p * (1 - p) / n + q * (1 - q) / m)
