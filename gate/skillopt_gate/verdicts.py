"""Pairs of scores in, a Verdict out. Numbers only: no files, no clock, no model."""

from __future__ import annotations

from enum import Enum
from math import isfinite

import msgspec

MODES = ("evidence", "one-night", "strict", "soft", "mixed", "off")
# Modes of users of the reference method: the mean of a metric decides, and no evidence is asked for.
MEAN_MODES = ("strict", "soft", "mixed")
CONTROLS = ("candidate", "family")


class Decision(str, Enum):
    """Accept and reject are final; not enough evidence means: go on tomorrow with fresh tasks."""

    ACCEPT = "accept"
    REJECT = "reject"
    NOT_ENOUGH = "not enough evidence yet"


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """One held-out task run with both skills; each tuple holds the scores in [0, 1] of its valid runs.

    An empty tuple is missing data (infrastructure), never a zero. `runs` is how many runs each side was
    asked for (0: as many as the longer side has, at least one); the difference is what got lost.

    `again_incumbent` and `again_candidate` are the scores of a recheck (see `vetoes.suspects`), `again_runs`
    how many of them each side was asked for while more may come (0: it is over once both sides have any).
    Only the regression veto reads them: rerunning the tasks that look bad and averaging the new scores in
    would pull their differences up, and so let a skill that is no better through. `*_usd` and `*_seconds` are
    what the valid first runs cost and took, where that is known.
    """

    task: str
    incumbent: tuple[float, ...]
    candidate: tuple[float, ...]
    runs: int = 0
    again_incumbent: tuple[float, ...] = ()
    again_candidate: tuple[float, ...] = ()
    again_runs: int = 0
    incumbent_usd: tuple[float, ...] = ()
    candidate_usd: tuple[float, ...] = ()
    incumbent_seconds: tuple[float, ...] = ()
    candidate_seconds: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for score in (*self.incumbent, *self.candidate, *self.again_incumbent, *self.again_candidate):
            if not 0.0 <= score <= 1.0:
                raise ValueError(f"task {self.task}: score {score} is not between 0 and 1")


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What earlier nights showed: one log-wealth per stake, in the order of `eprocess.STAKES`.

    `identity` names target, client version and judge; evidence restarts when it changes.
    `seen` are the tasks already bet on, so that each counts once; `gain` is the sum of their
    differences, `squares` of their squares. `margin` is the loss the test allows for (0 unless the candidate
    shortens). `worst` is the log-wealth had the runs failed that were lost with the candidate beyond those
    lost with the incumbent (see `pairs.suppose_failed`); empty: the same as `log_wealth`. `lost_nights` did
    not count because the candidate lost its runs.
    """

    identity: str
    log_wealth: tuple[float, ...]
    nights: int = 0
    seen: tuple[str, ...] = ()
    wins: int = 0
    losses: int = 0
    ties: int = 0
    gain: float = 0.0
    margin: float = 0.0
    squares: float = 0.0
    worst: tuple[float, ...] = ()
    lost_nights: int = 0

    @property
    def tasks(self) -> int:
        """How many tasks the evidence rests on."""
        return self.wins + self.losses + self.ties

    @property
    def effect(self) -> float:
        """Mean difference over those tasks; 0 when there are none."""
        return self.gain / self.tasks if self.tasks else 0.0


class Rise(msgspec.Struct, frozen=True, kw_only=True):
    """How much dearer or slower runs became: the geometric mean of per-task ratios over `tasks` tasks.

    `p_value` is that of the exact sign-flip test on their logarithms.
    """

    ratio: float = 1.0
    p_value: float = 1.0
    tasks: int = 0


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """How the gate decides.

    `alpha`: chance of ever accepting a skill that is no better. `min_effect`: smallest mean gain worth
    having. `min_tasks`: fewer tasks decide nothing (tonight's in one-night mode, else all nights').
    `coverage`: share of pairs that must be complete, and of runs that must be valid on each side.
    `futility`: wealth below which a candidate is dropped; it is dropped too after `max_nights`, and when the
    tasks so far speak against a gain of twice `min_effect`.
    `mode`: "evidence" (e-process over nights), "one-night" (exact test of tonight alone, final), "strict",
    "soft" or "mixed" (the mean of that metric is strictly higher tonight), "off" (no evidence asked for).
    `control`: "candidate" keeps the chance of accepting a useless candidate below `alpha` for each one;
    "family" keeps the expected share of useless ones among all accepted below `family_alpha`, in every block
    of 32 candidates of all skills.
    `max_cost_ratio`, `max_time_ratio`: how many times the cost or time of a run may rise (0: any).
    `pass_mark`: score from which a run counts as passed in the regression veto. `max_error_gap`: how far
    the shares of lost runs may lie apart. `margin`: the loss ruled out for a candidate that only shortens.
    """

    mode: str = "evidence"
    alpha: float = 0.05
    min_effect: float = 0.05
    min_tasks: int = 5
    coverage: float = 0.6
    futility: float = 0.2
    max_nights: int = 10
    pass_mark: float = 0.5
    max_error_gap: float = 0.2
    margin: float = 0.1
    control: str = "candidate"
    family_alpha: float = 0.1
    max_cost_ratio: float = 2.0
    max_time_ratio: float = 3.0

    def __post_init__(self) -> None:
        for name in ("min_effect", "coverage", "pass_mark", "max_error_gap"):
            share = getattr(self, name)
            if not 0.0 <= share <= 1.0:
                raise ValueError(f"gate {name} {share} must lie between 0 and 1")
        for name, least in (("min_tasks", 0), ("max_nights", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"gate {name} {getattr(self, name)} must be at least {least}")
        if self.control not in CONTROLS:
            raise ValueError(f"gate control {self.control!r} is not one of: {', '.join(CONTROLS)}")
        if not 0.0 < self.family_alpha < 1.0:
            raise ValueError(f"gate family_alpha {self.family_alpha} must lie between 0 and 1")
        for ratio in (self.max_cost_ratio, self.max_time_ratio):
            if ratio and not (ratio >= 1.0 and isfinite(ratio)):
                raise ValueError(f"a cost or time ratio of {ratio} must be at least 1, or 0 for none")
        if self.mode not in MODES:
            raise ValueError(f"gate mode {self.mode!r} is not one of: {', '.join(MODES)}")
        if not 0.0 < self.alpha < 1.0:
            raise ValueError(f"gate alpha {self.alpha} must lie between 0 and 1")
        if not 0.0 <= self.futility < 1.0:
            raise ValueError(f"gate futility {self.futility} must be at least 0 and below 1")
        if not 0.0 <= self.margin <= 1.0:
            raise ValueError(f"gate margin {self.margin} must lie between 0 and 1")


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The decision and every number behind it; `reason` is one sentence for a person.

    `n` usable pairs tonight with their `wins`, `losses` and `ties`, `k` runs per side (the smallest),
    `effect` tonight's mean difference with its `interval` (95 %), `wealth` the e-value over all nights,
    `p_value` the exact one-sided test of tonight, `broken` the tasks that vetoed, `vetoes` what stood in
    the way besides the evidence. `n_all` and `effect_all` are over all nights; `skipped` are usable tasks
    that earlier nights had counted already, `missing` those without a valid run on both sides. `level` is the
    chance of error the test was held to, `guarantee` says in one sentence what holds and what does not;
    `cost` and `time` tell what became of a run's cost and time (over 0 tasks when unknown). `problems` are
    the document's own, `lost` says why a night did not count. `floor` is the mean gain that had to be
    reached, `margin` the loss that had to be ruled out, `highest` the gain that is no longer likely (None
    before enough tasks). `worst` is the wealth, `worst_p_value` the p-value, had the runs failed that only
    the candidate lost (None without such); `look_level` is what tonight's p-value has to reach.
    """

    decision: Decision
    reason: str
    mode: str
    n: int
    k: int
    wins: int
    losses: int
    ties: int
    effect: float
    interval: tuple[float, float]
    wealth: float
    p_value: float
    nights: int
    broken: tuple[str, ...] = ()
    vetoes: tuple[str, ...] = ()
    n_all: int = 0
    effect_all: float = 0.0
    skipped: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    level: float = 0.05
    guarantee: str = ""
    cost: Rise = Rise()
    time: Rise = Rise()
    problems: tuple[str, ...] = ()
    lost: str = ""
    floor: float | None = None
    margin: float = 0.0
    highest: float | None = None
    worst: float | None = None
    worst_p_value: float | None = None
    look_level: float = 0.05
