"""A calibration: how much a skill differs from itself, and what the gate would make of that."""

from __future__ import annotations

import msgspec


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """A share of simulated lives with its 95 % interval (Wilson)."""

    share: float
    low: float
    high: float


class Flips(msgspec.Struct, frozen=True, kw_only=True):
    """One task run over and over with the same skill: `rate` is the chance that two of its runs differ."""

    task: str
    passed: float
    runs: int
    rate: float


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """What running skills against themselves showed.

    `tasks` measured on both sides with `repeats` runs each, `lost` without. `error` is the standard error of
    the mean difference of those tasks, `effect` the difference found, `differing` the share of tasks that
    differ from themselves. `accepts` is how often the gate, asked on up to `nights` nights of `tasks_a_night`
    tasks, would ever let a skill pass that changes nothing; `mean_once` and `mean_ever` how often its mean
    would be strictly higher, on one night and at least once.
    """

    id: str
    at: str
    identity: str
    skills: tuple[str, ...]
    mode: str
    alpha: float
    tasks: int
    lost: int
    repeats: int
    effect: float
    error: float
    differing: float
    flips: tuple[Flips, ...]
    lives: int
    nights: int
    tasks_a_night: int
    accepts: Rate
    mean_once: Rate
    mean_ever: Rate
    stopped: str = ""
    cost_usd: float | None = None
    tokens: int = 0


def say_noise(calibration: Calibration | None, identity: str) -> str:
    """Return the calibration in one line to stand beside a verdict of runs by `identity`; "" without one."""
    if calibration is None:
        return ""
    told = (
        f"noise here: an unchanged skill's mean is off by {calibration.error:.3f} (standard error over"
        f" {calibration.tasks} tasks), {calibration.differing:.0%} of tasks differ from themselves; this gate"
        f" would let it pass in {say_rate(calibration.accepts)} of cases, the rule of the higher mean in"
        f" {say_rate(calibration.mean_once)} of nights (calibrated {calibration.at[:10]})"
    )
    if calibration.identity != identity:
        told += f"; that was measured with {calibration.identity}, so calibrate anew"
    return told


def say_rate(rate: Rate) -> str:
    """Return a share with its interval, as in 2.0 % (1.1 to 3.6)."""
    return f"{100 * rate.share:.1f} % ({100 * rate.low:.1f} to {100 * rate.high:.1f})"
