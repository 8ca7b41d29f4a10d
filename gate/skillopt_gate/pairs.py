"""Pairs to per-task differences: the unit of every test is the task, never the run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache

import msgspec

from skillopt_gate.verdicts import Pair

# Scores are shares of a few checks or a judge's decimals; this recovers 2/3 from its float exactly.
_LARGEST_DENOMINATOR = 10_000


class Difference(msgspec.Struct, frozen=True):
    """Candidate's mean score minus the incumbent's on one task, in [-1, 1]; `runs` of the shorter side."""

    task: str
    value: Fraction
    runs: int


@lru_cache(maxsize=4096)
def as_fraction(score: float) -> Fraction:
    """Return the score as the fraction it was rounded from, so that equal means compare equal."""
    return Fraction(score).limit_denominator(_LARGEST_DENOMINATOR)


def mean(scores: Sequence[float]) -> Fraction:
    """Return the exact mean of at least one score."""
    return sum((as_fraction(score) for score in scores), Fraction(0)) / len(scores)


def compare(pairs: Iterable[Pair]) -> tuple[tuple[Difference, ...], tuple[str, ...]]:
    """Return the differences of complete pairs ordered by task, and the tasks of incomplete ones.

    Raises ValueError when a task comes twice: its runs belong into one pair.
    """
    differences: list[Difference] = []
    missing: list[str] = []
    known: set[str] = set()
    for pair in sorted(pairs, key=lambda pair: pair.task):
        if pair.task in known:
            raise ValueError(f"task {pair.task} comes twice; put all its runs into one pair")
        known.add(pair.task)
        if pair.incumbent and pair.candidate:
            value = mean(pair.candidate) - mean(pair.incumbent)
            differences.append(Difference(pair.task, value, min(len(pair.incumbent), len(pair.candidate))))
        else:
            missing.append(pair.task)
    return tuple(differences), tuple(missing)


def suppose_failed(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs as if the runs had failed that were lost with the candidate beyond the incumbent's.

    Errors that hit both sides alike are chance. A surplus on the candidate's side may be its own doing: a run
    that fails and takes the machinery along with it would vanish instead of counting. The surplus goes where
    it hurts most.
    """
    surplus = sum(len(pair.incumbent) - len(pair.candidate) for pair in pairs)
    if surplus <= 0:
        return list(pairs)
    supposed = {pair.task: pair for pair in pairs}
    hurt = [(_fail(pair), pair) for pair in pairs if len(pair.incumbent) > len(pair.candidate)]
    for _, pair in sorted(hurt, key=lambda one: (_fall(*one), one[1].task)):
        more = min(surplus, len(pair.incumbent) - len(pair.candidate))
        surplus -= more
        supposed[pair.task] = _fail(pair, more)
    return list(supposed.values())


def _fail(pair: Pair, runs: int | None = None) -> Pair:
    more = len(pair.incumbent) - len(pair.candidate) if runs is None else runs
    return msgspec.structs.replace(pair, candidate=(*pair.candidate, *(0.0,) * more))


def _fall(failed: Pair, pair: Pair) -> Fraction:
    """Return by how much the difference changes, as far as the pair had one."""
    before = mean(pair.candidate) - mean(pair.incumbent) if pair.candidate else Fraction(0)
    return mean(failed.candidate) - mean(failed.incumbent) - before


def count(values: Iterable[Fraction]) -> tuple[int, int, int]:
    """Return wins, losses and ties."""
    wins = losses = ties = 0
    for value in values:
        wins += value > 0
        losses += value < 0
        ties += value == 0
    return wins, losses, ties
