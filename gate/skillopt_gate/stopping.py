"""When the rest of a night need not run."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from skillopt_gate.decide import conclude
from skillopt_gate.eprocess import rules_out
from skillopt_gate.pairs import Difference, compare
from skillopt_gate.standing import weigh, weigh_differences
from skillopt_gate.verdicts import MEAN_MODES, Decision, Evidence, Pair, Policy


def hopeless(
    pairs: Sequence[Pair],
    remaining: int,
    evidence: Evidence | None,
    policy: Policy,
    *,
    identity: str,
    shorter: bool = False,
    level: float | None = None,
) -> bool:
    """Tell whether the rest of the night is not worth running: `remaining` tasks, all won, change nothing.

    Evidence mode: the candidate would be dropped now, and its wealth could not reach 1/alpha tonight.
    One-night mode: the exact test could not reach its level. Stopping for this costs power at most, never
    validity. The modes of means stop when even that mean could not rise; with the gate off nothing is
    hopeless.
    """
    if policy.mode == "off":
        return False
    wins = [Difference(f"\0{at}", Fraction(1), 1) for at in range(remaining)]
    differences, _ = compare(pairs)
    if policy.mode in MEAN_MODES:
        return sum((one.value for one in (*differences, *wins)), Fraction(0)) <= 0
    best = weigh_differences(
        [*differences, *wins], evidence, policy, identity=identity, shorter=shorter, level=level
    )
    if policy.mode == "one-night":
        return best.p_value > best.look_level or len(best.differences) < policy.min_tasks
    now = weigh_differences(differences, evidence, policy, identity=identity, shorter=shorter, level=level)
    drops = now.wealth < policy.futility or (not shorter and rules_out(now.after, 2 * policy.min_effect))
    return now.after.tasks >= policy.min_tasks and drops and best.wealth * best.level < 1


def decided(
    pairs: Sequence[Pair],
    evidence: Evidence | None,
    policy: Policy,
    *,
    identity: str,
    shorter: bool = False,
    rewritten: bool = False,
    guards_left: int = 0,
    level: float | None = None,
) -> bool:
    """Tell whether the night may stop because `pairs` alone are accepted.

    A task that is still to be rechecked counts as broken, and `guards_left` past passes that have not run
    yet can still veto, so neither is ever skipped. In the other modes always False: what is read once may
    not be read after every task.
    """
    if policy.mode != "evidence" or guards_left > 0:
        return False
    standing = weigh(
        pairs, evidence, policy, identity=identity, shorter=shorter, rewritten=rewritten, level=level
    )
    return conclude(standing, policy)[0] is Decision.ACCEPT
