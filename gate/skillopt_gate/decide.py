"""The verdict: structure, then coverage, then regressions, then the floor, and only then the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random

import msgspec

from skillopt_gate import reasons
from skillopt_gate.eprocess import bet, carry, wealth
from skillopt_gate.exact import sign_flip_test, spent
from skillopt_gate.interval import bootstrap_interval
from skillopt_gate.pairs import Difference, compare, count
from skillopt_gate.verdicts import Decision, Evidence, Pair, Policy, Verdict
from skillopt_gate.vetoes import broken, lost_runs

# Sums of floats over nights; a gain of exactly the floor counts.
_ROUNDING = 1e-9


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Every number a decision reads, before it is made. `level` is what a one-night p-value must reach."""

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
    level: float


def judge(
    pairs: Sequence[Pair],
    evidence: Evidence | None,
    policy: Policy,
    *,
    identity: str,
    problems: Sequence[str] = (),
    shorter: bool = False,
) -> tuple[Verdict, Evidence]:
    """Decide about a candidate from tonight's `pairs` and the `evidence` of earlier nights.

    Returns the verdict and the evidence to keep for the next night. `identity` names target, client
    version and judge; when it differs from the evidence's, the evidence starts anew. `problems` are
    structural objections in the caller's words, each of which rejects. `shorter` says that the candidate
    only takes text away: then it need not be better, but the evidence must rule out that it is worse by
    `policy.margin`. Several candidates on one night: divide `policy.alpha` by their number.

    Nights that lost too many runs leave the evidence as it was. The answer depends on nothing but the
    arguments, and not on the order of the pairs. Raises ValueError when a task comes twice.
    """
    standing = weigh(pairs, evidence, policy, identity=identity, problems=problems, shorter=shorter)
    decision, reason, vetoes = conclude(standing, policy)
    counted = not standing.problems and standing.lost is None
    kept = standing.after if counted else standing.before
    values = [difference.value for difference in standing.differences]
    wins, losses, ties = count(values)
    verdict = Verdict(
        decision=decision,
        reason=reason,
        mode=policy.mode,
        n=len(values),
        k=min((difference.runs for difference in standing.differences), default=0),
        wins=wins,
        losses=losses,
        ties=ties,
        effect=standing.effect,
        interval=bootstrap_interval(values, rng=_rng(values)),
        wealth=wealth(kept),
        p_value=standing.p_value,
        nights=kept.nights,
        broken=standing.broken,
        vetoes=vetoes,
        n_all=kept.tasks,
        effect_all=kept.effect,
        skipped=standing.skipped,
        missing=standing.missing,
    )
    return verdict, kept


def hopeless(
    pairs: Sequence[Pair],
    remaining: int,
    evidence: Evidence | None,
    policy: Policy,
    *,
    identity: str,
    shorter: bool = False,
) -> bool:
    """Tell whether the rest of the night is not worth running: `remaining` tasks, all won, change nothing.

    Evidence mode: wealth is below the futility bound now and could not reach 1/alpha tonight. One-night
    mode: the exact test could not reach its level. Stopping for this costs power at most, never validity.
    """
    wins = [Difference(f"\0{at}", Fraction(1), 1) for at in range(remaining)]
    differences, _ = compare(pairs)
    best = _weigh([*differences, *wins], evidence, policy, identity=identity, shorter=shorter)
    if policy.mode == "one-night":
        return best.p_value > best.level or len(best.differences) < policy.min_tasks
    now = _weigh(differences, evidence, policy, identity=identity, shorter=shorter)
    return (
        now.after.tasks >= policy.min_tasks
        and now.wealth < policy.futility
        and best.wealth * policy.alpha < 1
    )


def decided(
    pairs: Sequence[Pair],
    evidence: Evidence | None,
    policy: Policy,
    *,
    identity: str,
    shorter: bool = False,
    guards_left: int = 0,
) -> bool:
    """Tell whether the night may stop because `pairs` alone are accepted.

    A task that is still to be rechecked counts as broken, and `guards_left` past passes that have not run
    yet can still veto, so neither is ever skipped. In one-night mode always False: a test that is read
    once may not be read after every task.
    """
    if policy.mode == "one-night" or guards_left > 0:
        return False
    standing = weigh(pairs, evidence, policy, identity=identity, shorter=shorter)
    return conclude(standing, policy)[0] is Decision.ACCEPT


def weigh(
    pairs: Sequence[Pair],
    evidence: Evidence | None,
    policy: Policy,
    *,
    identity: str,
    problems: Sequence[str] = (),
    shorter: bool = False,
) -> Standing:
    """Return the numbers a decision reads, as if tonight's data were good enough to count."""
    differences, missing = compare(pairs)
    return msgspec.structs.replace(
        _weigh(differences, evidence, policy, identity=identity, shorter=shorter),
        missing=missing,
        problems=tuple(problems),
        lost=lost_runs(pairs, policy),
        broken=broken(pairs, policy),
    )


def conclude(standing: Standing, policy: Policy) -> tuple[Decision, str, tuple[str, ...]]:
    """Return the decision, its sentence, and what stood in the way besides the evidence."""
    if standing.problems:
        return Decision.REJECT, reasons.problem(standing.problems), standing.problems
    if standing.lost is not None:
        return Decision.NOT_ENOUGH, reasons.wait(standing.lost), (standing.lost,)
    if standing.broken:
        why = reasons.breaks(standing.broken)
        return Decision.REJECT, reasons.no(why), (why,)
    if policy.mode == "one-night":
        return _conclude_tonight(standing, policy)
    return _conclude_over_nights(standing, policy)


def _conclude_tonight(standing: Standing, policy: Policy) -> tuple[Decision, str, tuple[str, ...]]:
    values = [difference.value for difference in standing.differences]
    if len(values) < policy.min_tasks:
        why = reasons.too_few(len(values), policy.min_tasks, "tonight")
        return Decision.NOT_ENOUGH, reasons.wait(why), (why,)
    if standing.effect < standing.floor - _ROUNDING:
        why = reasons.too_small(standing.effect, standing.floor, "tonight")
        return Decision.REJECT, reasons.no(why), (why,)
    test = reasons.exact(standing.p_value, standing.level)
    if standing.p_value <= standing.level:
        return Decision.ACCEPT, reasons.yes(values, test), ()
    return Decision.REJECT, reasons.no(f"{reasons.score(values)}; {test}"), ()


def _conclude_over_nights(standing: Standing, policy: Policy) -> tuple[Decision, str, tuple[str, ...]]:
    after = standing.after
    values = [difference.value for difference in standing.differences]
    odds = reasons.odds(standing.wealth, 1 / policy.alpha, after)
    objections: tuple[str, ...] = ()
    if after.tasks < policy.min_tasks:
        objections = (reasons.too_few(after.tasks, policy.min_tasks, "so far"),)
    elif after.effect < standing.floor - _ROUNDING:
        objections = (reasons.too_small(after.effect, standing.floor, "so far"),)
    if not objections and standing.wealth * policy.alpha >= 1:
        return Decision.ACCEPT, reasons.yes(values, odds), ()
    if after.tasks >= policy.min_tasks and standing.wealth < policy.futility:
        return Decision.REJECT, reasons.no(f"{reasons.score(values)}; {odds}"), objections
    if after.nights >= policy.max_nights:
        return Decision.REJECT, reasons.no(f"{after.nights} nights did not settle it; {odds}"), objections
    if objections:
        return Decision.NOT_ENOUGH, reasons.wait(f"{objections[0]}; {odds}"), objections
    return Decision.NOT_ENOUGH, reasons.wait(f"{reasons.score(values)}; {odds}"), ()


def _weigh(
    differences: Sequence[Difference],
    evidence: Evidence | None,
    policy: Policy,
    *,
    identity: str,
    shorter: bool,
) -> Standing:
    margin = policy.margin if shorter else 0.0
    before = carry(evidence, identity, margin=margin)
    after, skipped = bet(before, differences)
    values = [difference.value for difference in differences]
    if not (policy.mode == "one-night" and len(values) < policy.min_tasks):
        after = msgspec.structs.replace(after, nights=before.nights + 1)
    if shorter:
        # The sign-flip test takes a loss to be as likely as a gain of the same size, which "worse by the
        # margin" is not. One over an e-value is a p-value for it.
        tonight, _ = bet(carry(None, identity, margin=margin), differences)
        p_value = min(1.0, 1 / wealth(tonight))
    else:
        p_value = float(sign_flip_test(values, rng=_rng(values)))
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
        floor=-policy.min_effect if shorter else policy.min_effect,
        p_value=p_value,
        # A one-night verdict is final, so its first look may spend all of alpha. Looks after nights
        # without a decision, or after a change of mode, share a second, smaller budget.
        level=policy.alpha if looks == 1 else spent(policy.alpha, looks),
    )


def _rng(values: Sequence[Fraction]) -> Random:
    """Return a generator that the data seed, so that the same pairs always give the same verdict."""
    return Random(",".join(str(value) for value in sorted(values)))  # noqa: S311 - resampling
