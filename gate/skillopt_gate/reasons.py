"""The one plain sentence that goes with a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from skillopt_gate.pairs import count
from skillopt_gate.verdicts import MEAN_MODES, Decision, Evidence, Policy

_MOST_NAMES = 5


def yes(values: Sequence[Fraction], test: str) -> str:
    """Say why the candidate is accepted."""
    return f"accepted: {score(values)}; {test}"


def no(why: str) -> str:
    """Say why it is rejected."""
    return f"rejected: {why}"


def wait(why: str) -> str:
    """Say why nothing can be decided yet."""
    return f"not enough evidence yet: {why}"


def problem(problems: Sequence[str]) -> str:
    """Name every structural objection."""
    return no("; ".join(problems))


def score(values: Sequence[Fraction]) -> str:
    """Return tonight's count, such as "9 of 10 held-out tasks went better, none worse"."""
    if not values:
        return "no held-out task ran"
    wins, losses, ties = count(values)
    if ties == len(values):
        return f"all {ties} held-out tasks went as before" if ties > 1 else "the held-out task went as before"
    return f"{wins or 'none'} of {_tasks(len(values))} went better, {losses or 'none'} worse"


def breaks(tasks: Sequence[str]) -> str:
    """Name the tasks that vetoed."""
    names = ", ".join(tasks[:_MOST_NAMES])
    more = f" and {len(tasks) - _MOST_NAMES} more" if len(tasks) > _MOST_NAMES else ""
    went = "a task that went well before" if len(tasks) == 1 else f"{len(tasks)} tasks that went well before"
    return f"it breaks {went} ({names}{more})"


def too_few(number: int, needed: int, when: str) -> str:
    """Say that the tasks do not suffice for any decision."""
    return f"{number or 'no'} usable held-out task{'' if number == 1 else 's'} {when}, {needed} needed"


def too_small(effect: float, floor: float, when: str) -> str:
    """Say that the gain, however sure, is not worth the words."""
    return f"the mean gain {when} is {effect:+.3f}, below the {floor:+.3f} that counts"


def ruled_out(evidence: Evidence, gain: float) -> str:
    """Say that a gain worth waiting for is no longer likely."""
    return f"the mean gain over {evidence.tasks} tasks is {evidence.effect:+.3f}, which rules out {gain:+.3f}"


def keeps_losing(lost: str, nights: int) -> str:
    """Say that a candidate is given up because its runs cannot be had."""
    return f"{lost}, as on {nights - 1} nights before"


def lost_alone(then: str) -> str:
    """Say that an acceptance would rest on runs that were lost with the candidate alone."""
    return f"more runs were lost with the candidate than with the incumbent, and had they failed, {then}"


def exact(p_value: float, level: float) -> str:
    """Quote tonight's exact test."""
    return f"one night's exact test gives p = {_digits(p_value)}, {_digits(level)} needed"


def odds(wealth: float, needed: float, evidence: Evidence) -> str:
    """Quote the evidence over all nights."""
    over = f" over {evidence.nights} nights and {evidence.tasks} tasks" if evidence.nights > 1 else ""
    against = f"a loss of {_digits(evidence.margin)}" if evidence.margin else "luck"
    missing = "" if wealth >= needed else f", {_digits(needed)} to 1 needed"
    return f"evidence {_digits(wealth)} to 1 against {against}{over}{missing}"


def by_mean(mode: str, effect: float, tasks: int) -> str:
    """Say what a mode of means compared, and that this is no evidence."""
    metric = "hard" if mode == "strict" else mode
    went = "rose" if effect > 0 else "did not rise"
    return f"the mean {metric} score {went} ({effect:+.3f} over {_tasks(tasks)}), which luck does too"


def guarantee(
    policy: Policy, decision: Decision, level: float, wealth: float, family_level: float | None
) -> str:
    """Say which guarantee an acceptance carries, and which it does not; "" when nothing was accepted."""
    if decision is not Decision.ACCEPT:
        return ""
    if policy.mode == "off" or policy.mode in MEAN_MODES:
        return "no guarantee: a skill that changes nothing passes this mode in up to half of all nights"
    if policy.control == "family":
        return (
            f"of 32 candidates in a row at most {policy.family_alpha:.0%} of the accepted ones are useless,"
            " on average; this holds for them together, not for this one"
        )
    alone = f"a useless candidate passes with a chance of at most {_digits(level)}, each on its own"
    if policy.mode != "evidence" or family_level is None:
        return f"{alone}; nothing is promised for all candidates of a year together"
    if wealth * family_level >= 1:
        return (
            f"{alone}; it passes as one of many too, of which at most {policy.family_alpha:.0%} are useless"
        )
    return f"{alone}; as one of many candidates it would need evidence of {_digits(1 / family_level)} to 1"


def _tasks(number: int) -> str:
    return f"{number} held-out task{'' if number == 1 else 's'}"


def _digits(value: float) -> str:
    """Return two significant digits, without an exponent where people would not write one."""
    if value >= 1e6:
        return f"{value:.1e}"
    if value >= 10:
        return f"{value:.0f}"
    return f"{value:.2g}" if value >= 0.0001 else f"{value:.0e}"
