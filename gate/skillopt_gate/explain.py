"""How a verdict came about, number by number, in the order in which it was decided."""

from __future__ import annotations

import msgspec

from skillopt_gate.costs import FEWEST, LEVEL, exceeds
from skillopt_gate.eprocess import STAKES
from skillopt_gate.verdicts import MEAN_MODES, Decision, Policy, Rise, Verdict


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One thing the gate looked at: its name, the number found, what it is held against, and a sentence.

    `passed` is None for what only informs.
    """

    name: str
    found: str
    needed: str
    passed: bool | None
    sentence: str


def explain(verdict: Verdict, policy: Policy) -> tuple[Step, ...]:
    """Return the steps of a verdict that was reached under `policy`."""
    steps = [_mode(verdict), _structure(verdict), _coverage(verdict, policy), _regressions(verdict)]
    if verdict.mode in MEAN_MODES or verdict.mode == "off":
        return (*steps, _mean(verdict), _end(verdict))
    steps += [_rise("cost", verdict.cost, policy.max_cost_ratio)]
    steps += [_rise("time", verdict.time, policy.max_time_ratio)]
    steps += [_tasks(verdict, policy), _effect(verdict, policy)]
    if verdict.mode == "one-night":
        return (*steps, _tonight(verdict), _end(verdict))
    steps += [_wealth(verdict), *_worst(verdict), *_hope(verdict, policy), _nights(verdict, policy)]
    return (*steps, _end(verdict))


def _mode(verdict: Verdict) -> Step:
    return Step(
        name="mode",
        found=verdict.mode,
        needed="",
        passed=None,
        sentence={
            "evidence": "evidence is gathered over nights until it suffices or a candidate is dropped",
            "one-night": "one exact test of one night decides",
            "off": "nothing is asked for",
        }.get(verdict.mode, "the mean of one night decides, as in the reference method"),
    )


def _structure(verdict: Verdict) -> Step:
    return Step(
        name="structure",
        found="; ".join(verdict.problems) or "no objection",
        needed="no objection",
        passed=not verdict.problems,
        sentence="the document is legal, within its size, and repeats nothing of the held-out tasks",
    )


def _coverage(verdict: Verdict, policy: Policy) -> Step:
    asked = verdict.n + len(verdict.missing)
    runs = "1 run" if verdict.k == 1 else f"{verdict.k} runs"
    asks = verdict.mode != "off" and not verdict.problems
    return Step(
        name="coverage",
        found=f"{verdict.n} of {asked} tasks ran on both sides, {runs} a side"
        + (f"; {verdict.lost}" if verdict.lost and asked else ""),
        needed=f"{policy.coverage:.0%} of the tasks and runs, lost alike on both sides" if asks else "",
        passed=not verdict.lost if asks else None,
        sentence="lost runs are missing data, never failures; a night that lost too many does not count",
    )


def _regressions(verdict: Verdict) -> Step:
    asks = verdict.mode in {"evidence", "one-night"}
    return Step(
        name="regressions",
        found=", ".join(verdict.broken) or "none",
        needed="none" if asks else "",
        passed=not verdict.broken if asks else None,
        sentence="a task that went well before and still fails when it is run again stops a candidate",
    )


def _mean(verdict: Verdict) -> Step:
    return Step(
        name="mean",
        found=f"{verdict.effect:+.3f}",
        needed="above 0" if verdict.mode != "off" else "",
        passed=None if verdict.mode == "off" else verdict.effect > 0,
        sentence=f"{verdict.wins} tasks went better, {verdict.losses} worse, {verdict.ties} as before",
    )


def _rise(name: str, rise: Rise, bound: float) -> Step:
    found = "unknown"
    if rise.tasks:
        found = f"{rise.ratio:.2f} times over {rise.tasks} tasks, p = {rise.p_value:.3g}"
    return Step(
        name=name,
        found=found,
        needed=f"not above {bound:g} times with p <= {LEVEL:g}, from {FEWEST} tasks" if bound else "",
        passed=not exceeds(rise, bound) if bound and rise.tasks else None,
        sentence=f"how the {name} of a run changed, over the tasks where it is known",
    )


def _tasks(verdict: Verdict, policy: Policy) -> Step:
    number = verdict.n if verdict.mode == "one-night" else verdict.n_all
    return Step(
        name="tasks",
        found=str(number),
        needed=str(policy.min_tasks),
        passed=number >= policy.min_tasks,
        sentence="fewer held-out tasks decide nothing; each counts once, however often it is run",
    )


def _effect(verdict: Verdict, policy: Policy) -> Step:
    effect = verdict.effect if verdict.mode == "one-night" else verdict.effect_all
    floor = policy.min_effect if verdict.floor is None else verdict.floor
    low, high = verdict.interval
    return Step(
        name="effect",
        found=f"{effect:+.3f} (tonight {verdict.effect:+.3f}, 95 % {low:+.2f} to {high:+.2f})",
        needed=f"{floor:+.3f}",
        passed=effect >= floor - 1e-9,
        sentence=f"tonight {verdict.wins} better, {verdict.losses} worse, {verdict.ties} as before"
        "; the interval is for the eye and decides nothing",
    )


def _tonight(verdict: Verdict) -> Step:
    worst = "" if verdict.worst_p_value is None else f"; {verdict.worst_p_value:.3g} at worst"
    return Step(
        name="exact test",
        found=f"p = {verdict.p_value:.3g}{worst}",
        needed=f"{verdict.look_level:.3g}",
        passed=max(verdict.p_value, verdict.worst_p_value or 0.0) <= verdict.look_level,
        sentence="the share of sign patterns of tonight's differences that would be as good"
        "; at worst: had the runs failed that only the candidate lost",
    )


def _wealth(verdict: Verdict) -> Step:
    return Step(
        name="evidence",
        found=f"{verdict.wealth:.3g} to 1",
        needed=f"{1 / verdict.level:.3g} to 1",
        passed=verdict.wealth * verdict.level >= 1,
        sentence=f"what 1 became by betting on each task, the mean over {len(STAKES)} stakes"
        + (f"; against a loss of {verdict.margin:g}, as it takes text away" if verdict.margin else ""),
    )


def _worst(verdict: Verdict) -> list[Step]:
    if verdict.worst is None:
        return []
    return [
        Step(
            name="lost runs",
            found=f"{verdict.worst:.3g} to 1",
            needed=f"{1 / verdict.level:.3g} to 1",
            passed=verdict.worst * verdict.level >= 1,
            sentence="the evidence had the runs failed that only the candidate lost",
        )
    ]


def _hope(verdict: Verdict, policy: Policy) -> list[Step]:
    if verdict.highest is None or verdict.margin:
        return []
    hoped = 2 * policy.min_effect
    accepted = verdict.decision is Decision.ACCEPT
    return [
        Step(
            name="hope",
            found=f"{verdict.highest:+.3f}",
            needed=f"{hoped:+.3f}",
            passed=None if accepted else verdict.highest >= hoped,
            sentence="the mean gain plus 1.28 standard errors; dropped when twice the floor is out of reach",
        )
    ]


def _nights(verdict: Verdict, policy: Policy) -> Step:
    return Step(
        name="nights",
        found=str(verdict.nights),
        needed=f"at most {policy.max_nights}; dropped below {policy.futility:g} to 1",
        passed=None if verdict.decision is Decision.ACCEPT else verdict.nights < policy.max_nights,
        sentence=f"the evidence rests on {verdict.n_all} tasks in all",
    )


def _end(verdict: Verdict) -> Step:
    return Step(
        name="verdict",
        found=verdict.decision.value,
        needed="",
        passed=None,
        sentence="; ".join(part for part in (verdict.reason, verdict.guarantee) if part),
    )
