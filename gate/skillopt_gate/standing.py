"""Every number a decision reads, from tonight's pairs and the evidence of earlier nights."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random

import msgspec

from skillopt_gate.costs import rises
from skillopt_gate.eprocess import bet, bet_on_worst, carry, wealth
from skillopt_gate.exact import sign_flip_test, spent
from skillopt_gate.pairs import Difference, compare, suppose_failed
from skillopt_gate.verdicts import Evidence, Pair, Policy, Rise
from skillopt_gate.vetoes import broken, lost_by_candidate, lost_runs


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Every number a decision reads, before it is made.

    `level` is the chance of error the test is held to, `look_level` what tonight's p-value must reach.
    `p_value` is tonight's, and `worst_p_value` had the runs failed that were lost with the candidate alone
    (None without such); both are computed in one-night mode alone, where they are read.
    """

    differences: tuple[Difference, ...]
    missing: tuple[str, ...]
    problems: tuple[str, ...]
    lost: str | None
    broken: tuple[str, ...]
    before: Evidence
    after: Evidence
    skipped: tuple[str, ...]
    wealth: float
    effect: float
    floor: float
    p_value: float
    worst_p_value: float | None
    level: float
    look_level: float
    cost: Rise = Rise()
    time: Rise = Rise()
    lost_by_candidate: bool = False

    @property
    def values(self) -> list[Fraction]:
        """Tonight's differences, candidate minus incumbent."""
        return [difference.value for difference in self.differences]


def weigh(
    pairs: Sequence[Pair],
    evidence: Evidence | None,
    policy: Policy,
    *,
    identity: str,
    problems: Sequence[str] = (),
    shorter: bool = False,
    rewritten: bool = False,
    level: float | None = None,
) -> Standing:
    """Return the numbers a decision reads, as if tonight's data were good enough to count."""
    differences, missing = compare(pairs)
    cost, time = rises(pairs)
    standing = weigh_differences(
        differences, evidence, policy, identity=identity, shorter=shorter, rewritten=rewritten, level=level
    )
    supposed, _ = compare(suppose_failed(pairs))
    if supposed != differences or standing.before.worst:
        worst = bet_on_worst(standing.before, standing.after, supposed)
        asks = policy.mode == "one-night" and supposed != differences
        standing = msgspec.structs.replace(
            standing, after=worst, worst_p_value=find_p_value(supposed, margin=worst.margin) if asks else None
        )
    return msgspec.structs.replace(
        standing,
        cost=cost,
        time=time,
        missing=missing,
        problems=tuple(problems),
        lost=lost_runs(pairs, policy),
        lost_by_candidate=lost_by_candidate(pairs, policy),
        broken=broken(pairs, policy),
    )


def weigh_differences(
    differences: Sequence[Difference],
    evidence: Evidence | None,
    policy: Policy,
    *,
    identity: str,
    shorter: bool,
    rewritten: bool = False,
    level: float | None = None,
) -> Standing:
    """Return the numbers of tonight's differences; `level` is the policy's alpha unless given."""
    held_to = policy.alpha if level is None else level
    margin = policy.margin if shorter else 0.0
    before = carry(evidence, identity, margin=margin)
    after, skipped = bet(before, differences)
    values = [difference.value for difference in differences]
    if not (policy.mode == "one-night" and len(values) < policy.min_tasks):
        after = msgspec.structs.replace(after, nights=before.nights + 1)
    p_value = find_p_value(differences, margin=margin) if policy.mode == "one-night" else 1.0
    looks = before.nights + 1
    return Standing(
        differences=tuple(differences),
        missing=(),
        problems=(),
        lost=None,
        broken=(),
        before=before,
        after=after,
        skipped=skipped,
        wealth=wealth(after),
        effect=float(sum(values, Fraction(0)) / len(values)) if values else 0.0,
        floor=_floor(policy, shorter=shorter, rewritten=rewritten),
        p_value=p_value,
        worst_p_value=None,
        # A one-night verdict is final, so its first look may spend all of alpha. Looks after nights
        # without a decision, or after a change of mode, share a second, smaller budget.
        look_level=held_to if looks == 1 else spent(held_to, looks),
        level=held_to,
    )


def find_p_value(differences: Sequence[Difference], *, margin: float) -> float:
    """Return the one-sided p-value of these differences alone, against a loss of `margin` if there is one."""
    if margin:
        # The sign-flip test takes a loss to be as likely as a gain of the same size, which "worse by the
        # margin" is not. One over an e-value is a p-value for it.
        tonight, _ = bet(carry(None, "", margin=margin), differences)
        return min(1.0, 1 / wealth(tonight))
    values = [difference.value for difference in differences]
    return float(sign_flip_test(values, rng=seeded_by(values)))


def _floor(policy: Policy, *, shorter: bool, rewritten: bool) -> float:
    if not shorter:
        return policy.min_effect
    return 0.0 if rewritten else -policy.min_effect


def seeded_by(values: Sequence[Fraction]) -> Random:
    """Return a generator that the data seed, so that the same pairs always give the same verdict."""
    return Random(",".join(str(value) for value in sorted(values)))  # noqa: S311 - resampling
