"""Many candidates over a year, controlled together: an online false-discovery procedure for e-values.

e-LOND (Xu & Ramdas 2024, "Online multiple testing with e-values") in blocks: candidates are counted in the
order in which they are first measured, and within a block of 32 each is accepted when its e-value reaches
1/level with level = alpha * (accepted in its block so far + 1) / 32. The expected share of useless ones among
all that are accepted in a block is then at most alpha, however the candidates depend on each other: each
useless one adds to that share at most e * alpha / 32, because the number accepted in the end is no smaller
than the one its level was made with. So candidates may be decided in any order and overlap, as they do when
several skills wait for evidence.

Without blocks the level of the thousandth candidate is so small that nothing passes any more; the price is
that the promise is made for each block and not for the year (benchmarks/bench_gate_streams.py).
"""

from __future__ import annotations

import msgspec

BLOCK = 32


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """All candidates ever measured, over all skills: how many, and the places of the accepted ones."""

    started: int = 0
    accepted: tuple[int, ...] = ()

    def start(self) -> tuple[Family, int]:
        """Count one more candidate; return the family and the candidate's place in it, from 1."""
        grown = msgspec.structs.replace(self, started=self.started + 1)
        return grown, grown.started

    def accept(self, place: int) -> Family:
        """Note that the candidate at this place was accepted. Raises ValueError when there is none."""
        if not 1 <= place <= self.started:
            raise ValueError(f"no candidate has place {place} among {self.started}")
        if place in self.accepted:
            return self
        return msgspec.structs.replace(self, accepted=(*self.accepted, place))


def level_for(family: Family, place: int, *, alpha: float) -> float:
    """Return the level at which the candidate at `place` is tested now; acceptances in its block raise it."""
    if place < 1:
        raise ValueError("places in a family are counted from 1")
    block = (place - 1) // BLOCK
    accepted = sum((other - 1) // BLOCK == block for other in family.accepted if other != place)
    return min(1.0, alpha * (accepted + 1) / BLOCK)


def expected_false(started: int, *, alpha: float) -> float:
    """Return the most useless acceptances to be expected when each candidate is tested at `alpha` alone."""
    return started * alpha
