"""The textual learning rate: how many edits a step may apply.

The schedules are those of SkillOpt (arXiv 2605.23904). With the largest rate M, the smallest m, and
t = k / T for step k of T, counted from 1:

    constant    M
    linear      round(M + (m - M) t), at least m
    cosine      round(m + (M - m) (1 + cos(pi t)) / 2), at least m
    autonomous  no cap
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from skillopt_sleep.training.modes import Control, Schedule


class LearningRate(msgspec.Struct, frozen=True, kw_only=True):
    """The learning rate of a run: `maximum` and `minimum` edits a step, over `steps` steps in all.

    A `minimum` above the maximum counts as the maximum. During the first `warmup` steps the rate rises in a
    straight line to the maximum, from 1 at least; the schedule then runs over the steps that are left. A
    `maximum` of 0 lets no edit through at any step. Raises ValueError for figures that make no sense.
    """

    maximum: int = 4
    minimum: int = 2
    schedule: Schedule = "cosine"
    control: Control = "fixed"
    steps: int = 1
    warmup: int = 0

    def __post_init__(self) -> None:
        for name, least in (("maximum", 0), ("minimum", 0), ("steps", 1), ("warmup", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"the learning rate's {name} is {value}: it must be {least} or more, whole")

    def at(self, step: int) -> int | None:
        """Return the most edits that step `step` (from 1) may apply, None for no cap.

        It is the budget the analysts of the step are told and the one its edits are clipped to. A step past
        the last one has the last one's rate. Raises ValueError for a step below 1.
        """
        if step < 1:
            raise ValueError(f"step {step}: steps are counted from 1")
        if self.maximum == 0:
            return 0
        if self.control == "none" or (self.schedule == "autonomous" and self.control == "fixed"):
            return None
        if self.control == "autonomous" or self.schedule == "constant":
            return self._warm(step, self.maximum)
        steps = max(self.steps - self.warmup, 1)
        if steps <= 1:
            return self._warm(step, self.maximum)
        done = min(max(step - self.warmup, 0), steps) / steps
        return self._warm(step, self._anneal(done))

    def _warm(self, step: int, rate: int) -> int:
        if step > self.warmup:
            return rate
        return max(1, round(self.maximum * step / (self.warmup + 1)))

    def _anneal(self, done: float) -> int:
        low, high = min(self.minimum, self.maximum), self.maximum
        if self.schedule == "linear":
            exact = high + (low - high) * done
        else:
            exact = low + 0.5 * (high - low) * (1 + math.cos(math.pi * done))
        return max(low, round(exact))


class RateDecision(msgspec.Struct, frozen=True, kw_only=True):
    """The optimizer's own choice of a step's learning rate.

    `asked` is what it replied, None when that was no whole number of 0 or more: then `fallback` is set,
    `problem` says why, and `learning_rate` is the one in force without it. `clamped`: it asked for more than
    there is to apply, or than the rate in force lets through.
    """

    learning_rate: int
    asked: int | None
    available: int
    clamped: bool = False
    fallback: bool = False
    reasoning: str = ""
    confidence: float | None = None
    risk_notes: tuple[str, ...] = ()
    problem: str = ""


def decide_rate(reply: Mapping[str, object], *, available: int, cap: int | None) -> RateDecision:
    """Return the learning rate that a reply asks for, with at most `available` edits and at most `cap`.

    The reply's keys are learning_rate, reasoning, confidence and risk_notes. 0 is an answer like any other:
    no edit is applied.
    """
    most = available if cap is None else min(available, cap)
    asked, problem = _read_count(reply.get("learning_rate"))
    rate = most if asked is None else min(asked, most)
    notes = reply.get("risk_notes")
    confidence = reply.get("confidence")
    number = isinstance(confidence, (int, float)) and not isinstance(confidence, bool)
    return RateDecision(
        learning_rate=rate,
        asked=asked,
        available=available,
        clamped=asked is not None and asked > most,
        fallback=asked is None,
        reasoning=str(reply.get("reasoning") or "").strip(),
        confidence=float(str(confidence)) if number else None,
        risk_notes=tuple(str(note) for note in notes) if isinstance(notes, list) else (),
        problem=problem,
    )


def _read_count(value: object) -> tuple[int | None, str]:
    """Return the value as a whole number of 0 or more, or None and why it is none."""
    try:
        number = float(value) if isinstance(value, (int, float, str)) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number) or number < 0 or number != int(number):
        return None, f"learning_rate is {value!r}: it must be a whole number of 0 or more"
    return int(number), ""
