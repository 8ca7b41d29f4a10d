"""Many candidates over a year, controlled together: an online false-discovery procedure for e-values.

e-LOND (Xu & Ramdas 2024, "Online multiple testing with e-values"): the t-th candidate is accepted when its
e-value reaches 1/level with level = alpha * gamma_t * (accepted so far + 1), where the gammas sum to at most
1. The expected share of useless ones among all that are accepted is then at most alpha, however the
candidates depend on each other. For each useless one the share it adds is at most e * alpha * gamma_t, since
the number accepted in the end is no smaller than the one its level was made with; so candidates may be
decided in any order and overlap, as they do when several skills wait for evidence.
"""

from __future__ import annotations

import math

import msgspec

# gamma_t = t^-EXPONENT / zeta(EXPONENT). Of the exponents tried, 1.6 loses the fewest good candidates among
# the first few hundred (benchmarks/bench_gate.py).
EXPONENT = 1.6
_ZETA = 2.2857656567


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """All candidates ever measured, over all skills: how many began, and how many were accepted."""

    started: int = 0
    accepted: int = 0

    def start(self) -> tuple[Family, int]:
        """Count one more candidate; return the family and the candidate's place in it, from 1."""
        grown = msgspec.structs.replace(self, started=self.started + 1)
        return grown, grown.started

    def accept(self) -> Family:
        """Count one more accepted candidate."""
        return msgspec.structs.replace(self, accepted=self.accepted + 1)


def share_of(place: int) -> float:
    """Return gamma: the share of alpha that the candidate at `place` (from 1) gets."""
    if place < 1:
        raise ValueError("places in a family are counted from 1")
    return math.pow(place, -EXPONENT) / _ZETA


def level_for(family: Family, place: int, *, alpha: float) -> float:
    """Return the level at which the candidate at `place` is tested now; acceptances raise it."""
    return min(1.0, alpha * share_of(place) * (family.accepted + 1))


def expected_false(started: int, *, alpha: float) -> float:
    """Return the most useless candidates to be expected when each is tested at `alpha` on its own."""
    return started * alpha
