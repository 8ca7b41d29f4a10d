"""The verdict: structure, then coverage, then harm done, then the floor, and only then the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import msgspec

from skillopt_gate import reasons
from skillopt_gate.costs import find_excess
from skillopt_gate.eprocess import highest_gain, rules_out, wealth, worst_wealth
from skillopt_gate.interval import bootstrap_interval
from skillopt_gate.pairs import count
from skillopt_gate.standing import Standing, find_p_value, seeded_by, weigh
from skillopt_gate.verdicts import MEAN_MODES, Decision, Evidence, Pair, Policy, Verdict
from skillopt_gate.vetoes import MOST_LOST_NIGHTS

# Sums of floats over nights; a gain of exactly the floor counts.
_ROUNDING = 1e-9


def judge(
    pairs: Sequence[Pair],
    evidence: Evidence | None,
    policy: Policy,
    *,
    identity: str,
    problems: Sequence[str] = (),
    shorter: bool = False,
    rewritten: bool = False,
    candidates: int = 1,
    family_level: float | None = None,
) -> tuple[Verdict, Evidence]:
    """Decide about a candidate from tonight's `pairs` and the `evidence` of earlier nights.

    Returns the verdict and the evidence to keep for the next night. `identity` names target, client
    version and judge; when it differs from the evidence's, the evidence starts anew. `problems` are
    structural objections in the caller's words, each of which rejects. `shorter` says that the candidate
    takes text away: then it need not be better, but the evidence must rule out that it is worse by
    `policy.margin`; with `rewritten` it is not only cut, so it must not do worse on average either.

    `candidates` of this skill that reach the gate on one night share `policy.alpha`. `family_level` is the
    candidate's level among all (`family.level_for`): with `control="family"` it decides, else it is told in
    the verdict's guarantee.

    Nights that lost too many runs leave the evidence as it was; a candidate that loses its own on several is
    rejected. The answer depends on nothing but the
    arguments, and not on the order of the pairs. Raises ValueError when a task comes twice.
    """
    standing = weigh(
        pairs,
        evidence,
        policy,
        identity=identity,
        problems=problems,
        shorter=shorter,
        rewritten=rewritten,
        level=level_of(policy, candidates=candidates, family_level=family_level),
    )
    decision, reason, vetoes = conclude(standing, policy)
    counted = not standing.problems and standing.lost is None
    kept = standing.after if counted else _note_loss(standing)
    values = standing.values
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
        interval=bootstrap_interval(values, rng=seeded_by(values)),
        wealth=wealth(kept),
        p_value=standing.p_value
        if policy.mode == "one-night"
        else find_p_value(standing.differences, margin=kept.margin),
        nights=kept.nights,
        broken=standing.broken,
        vetoes=vetoes,
        n_all=kept.tasks,
        effect_all=kept.effect,
        skipped=standing.skipped,
        missing=standing.missing,
        level=standing.level,
        guarantee=reasons.guarantee(policy, decision, standing.level, wealth(kept), family_level),
        cost=standing.cost,
        time=standing.time,
        worst_p_value=standing.worst_p_value,
        look_level=standing.look_level,
        problems=standing.problems,
        lost=standing.lost or "",
        floor=standing.floor,
        margin=kept.margin,
        highest=highest_gain(kept),
        worst=worst_wealth(kept) if kept.worst else None,
    )
    return verdict, kept


def _note_loss(standing: Standing) -> Evidence:
    """Return the evidence as it was, with a night more on which the candidate lost its runs if it did."""
    if standing.problems or not standing.lost_by_candidate:
        return standing.before
    return msgspec.structs.replace(standing.before, lost_nights=standing.before.lost_nights + 1)


def level_of(policy: Policy, *, candidates: int = 1, family_level: float | None = None) -> float:
    """Return the level a candidate is tested at. Raises ValueError when family control lacks its level."""
    if candidates < 1:
        raise ValueError("at least one candidate is tested")
    if policy.control == "candidate":
        return policy.alpha / candidates
    if family_level is None:
        raise ValueError("family control needs the candidate's level in its family")
    return family_level / candidates


def conclude(standing: Standing, policy: Policy) -> tuple[Decision, str, tuple[str, ...]]:
    """Return the decision, its sentence, and what stood in the way besides the evidence."""
    if standing.problems:
        return Decision.REJECT, reasons.problem(standing.problems), standing.problems
    if policy.mode == "off":
        return Decision.ACCEPT, reasons.yes(standing.values, "the gate is off, so nothing was asked"), ()
    if standing.lost is not None:
        return _conclude_lost(standing, standing.lost)
    if policy.mode in MEAN_MODES:
        return _conclude_by_mean(standing, policy)
    harm: tuple[str, ...] = (reasons.breaks(standing.broken),) if standing.broken else ()
    harm = harm or find_excess(standing.cost, standing.time, policy)
    if harm:
        return Decision.REJECT, reasons.no("; ".join(harm)), harm
    decide = _conclude_tonight if policy.mode == "one-night" else _conclude_over_nights
    return decide(standing, policy)


def _conclude_lost(standing: Standing, lost: str) -> tuple[Decision, str, tuple[str, ...]]:
    if standing.lost_by_candidate and standing.before.lost_nights + 1 >= MOST_LOST_NIGHTS:
        return Decision.REJECT, reasons.no(reasons.keeps_losing(lost, MOST_LOST_NIGHTS)), (lost,)
    return Decision.NOT_ENOUGH, reasons.wait(lost), (lost,)


def _conclude_by_mean(standing: Standing, policy: Policy) -> tuple[Decision, str, tuple[str, ...]]:
    values = standing.values
    why = reasons.by_mean(policy.mode, standing.effect, len(values))
    if sum(values, Fraction(0)) > 0:
        return Decision.ACCEPT, reasons.yes(values, why), ()
    return Decision.REJECT, reasons.no(f"{reasons.score(values)}; {why}"), ()


def _conclude_tonight(standing: Standing, policy: Policy) -> tuple[Decision, str, tuple[str, ...]]:
    values = standing.values
    if len(values) < policy.min_tasks:
        why = reasons.too_few(len(values), policy.min_tasks, "tonight")
        return Decision.NOT_ENOUGH, reasons.wait(why), (why,)
    if standing.effect < standing.floor - _ROUNDING:
        why = reasons.too_small(standing.effect, standing.floor, "tonight")
        return Decision.REJECT, reasons.no(why), (why,)
    test = reasons.exact(standing.p_value, standing.look_level)
    worst = standing.worst_p_value or 0.0
    if standing.p_value <= standing.look_level < worst:
        why = reasons.lost_alone(f"the test would give p = {worst:.2g}")
        return Decision.REJECT, reasons.no(why), (why,)
    if standing.p_value <= standing.look_level:
        return Decision.ACCEPT, reasons.yes(values, test), ()
    return Decision.REJECT, reasons.no(f"{reasons.score(values)}; {test}"), ()


def _conclude_over_nights(standing: Standing, policy: Policy) -> tuple[Decision, str, tuple[str, ...]]:
    after = standing.after
    values = standing.values
    odds = reasons.odds(standing.wealth, 1 / standing.level, after)
    objections: tuple[str, ...] = ()
    if after.tasks < policy.min_tasks:
        objections = (reasons.too_few(after.tasks, policy.min_tasks, "so far"),)
    elif after.effect < standing.floor - _ROUNDING:
        objections = (reasons.too_small(after.effect, standing.floor, "so far"),)
    elif standing.wealth * standing.level >= 1 > worst_wealth(after) * standing.level:
        objections = (reasons.lost_alone(f"the evidence would be {worst_wealth(after):.2g} to 1"),)
    if not objections and standing.wealth * standing.level >= 1:
        return Decision.ACCEPT, reasons.yes(values, odds), ()
    if after.tasks >= policy.min_tasks and standing.wealth < policy.futility:
        return Decision.REJECT, reasons.no(f"{reasons.score(values)}; {odds}"), objections
    hoped = 2 * policy.min_effect
    if after.margin == 0 and rules_out(after, hoped):
        why = reasons.ruled_out(after, hoped)
        return Decision.REJECT, reasons.no(f"{why}; {odds}"), (why,)
    if after.nights >= policy.max_nights:
        return Decision.REJECT, reasons.no(f"{after.nights} nights did not settle it; {odds}"), objections
    if objections:
        return Decision.NOT_ENOUGH, reasons.wait(f"{objections[0]}; {odds}"), objections
    return Decision.NOT_ENOUGH, reasons.wait(f"{reasons.score(values)}; {odds}"), ()
