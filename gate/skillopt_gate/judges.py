"""Is a model judge fit to judge? It must tell good from bad, and give nothing for nothing.

Every judge that scores rubric or pairwise checks is tried on answers whose worth is known before it may
count. The thresholds are those of the report; nothing here calls a model.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from skillopt_gate.exact import sign_test

LEVEL = 0.05
MOST_FLIPS = 0.2
MOST_FOR_NOTHING = 0.25


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One task's answers as the judge scored them, each in [0, 1]; None: not tried.

    `empty`, `constant`, `copied` and `flattering` are answers worth nothing: no text, the same for every
    task, the task itself, words to please the judge. `prefers_good` and `prefers_good_swapped` are the
    judge's choices when it saw good and bad side by side, in either order.
    """

    task: str
    good: float | None = None
    bad: float | None = None
    empty: float | None = None
    constant: float | None = None
    copied: float | None = None
    flattering: float | None = None
    prefers_good: bool | None = None
    prefers_good_swapped: bool | None = None

    def __post_init__(self) -> None:
        for score in (self.good, self.bad, self.empty, self.constant, self.copied, self.flattering):
            if score is not None and not 0.0 <= score <= 1.0:
                raise ValueError(f"task {self.task}: score {score} is not between 0 and 1")


class JudgeReport(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the judge may count. `right` and `wrong` count good against bad (ties are neither).

    `p_value` is the exact sign test of them, `flips` the share of pairs whose choice follows the order,
    `for_nothing` the highest mean score among the worthless kinds with its name.
    """

    usable: bool
    reasons: tuple[str, ...]
    right: int
    wrong: int
    ties: int
    p_value: float
    flips: float
    for_nothing: tuple[str, float]


def assess(trials: Sequence[Trial]) -> JudgeReport:
    """Return the report; too few trials make a judge unusable, like a wrong one."""
    right, wrong, ties = _count(trials)
    p_value = float(sign_test(right, wrong))
    orders = [t for t in trials if t.prefers_good is not None and t.prefers_good_swapped is not None]
    flips = sum(t.prefers_good != t.prefers_good_swapped for t in orders) / len(orders) if orders else 0.0
    worthless = _mean_scores(trials)
    top = max(worthless, key=lambda pair: pair[1], default=("none tried", 0.0))
    reasons = []
    if not right + wrong:
        reasons.append("no known good and bad answers were compared")
    elif p_value > LEVEL:
        reasons.append(
            f"it told good from bad in {right} of {right + wrong} tasks, as chance may (p = {p_value:.2g})"
        )
    if flips > MOST_FLIPS:
        reasons.append(f"its choice follows the order of the answers in {flips:.0%} of pairs")
    for kind, score in worthless:
        if score > MOST_FOR_NOTHING:
            reasons.append(f"it gives {score:.2f} to {kind} answers")
    if not worthless:
        reasons.append("worthless answers were not tried")
    return JudgeReport(
        usable=not reasons,
        reasons=tuple(reasons),
        right=right,
        wrong=wrong,
        ties=ties,
        p_value=p_value,
        flips=flips,
        for_nothing=top,
    )


def _count(trials: Sequence[Trial]) -> tuple[int, int, int]:
    """Count good against bad, by scores where given, else by choices that do not depend on the order."""
    right = wrong = ties = 0
    for trial in trials:
        if trial.good is not None and trial.bad is not None:
            right += trial.good > trial.bad
            wrong += trial.good < trial.bad
            ties += trial.good == trial.bad
        elif trial.prefers_good is not None and trial.prefers_good_swapped is not None:
            same = trial.prefers_good == trial.prefers_good_swapped
            right += same and trial.prefers_good
            wrong += same and not trial.prefers_good
            ties += not same
    return right, wrong, ties


def _mean_scores(trials: Sequence[Trial]) -> list[tuple[str, float]]:
    means = []
    for kind in ("empty", "constant", "copied", "flattering"):
        scores = [score for trial in trials if (score := getattr(trial, kind)) is not None]
        if scores:
            means.append((kind, sum(scores) / len(scores)))
    return means
