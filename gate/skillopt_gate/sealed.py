"""The sealed test side: opened once per release of a skill. Every look at held-out tasks is counted."""

from __future__ import annotations

import msgspec


class SealBroken(ValueError):
    """The sealed side was asked for again: what was looked at twice no longer tells how good a skill is."""


class Looks(msgspec.Struct, frozen=True, kw_only=True):
    """How often the held-out sides of a split were looked at.

    `split` is its fingerprint; a split that changed has sealed tasks nobody has seen, so it starts anew.
    """

    split: str
    gate: int = 0
    test: int = 0

    def look(self) -> Looks:
        """Count a look at the gate side."""
        return msgspec.structs.replace(self, gate=self.gate + 1)


def open_sealed(looks: Looks | None, split: str) -> Looks:
    """Count the look at the sealed side. Raises SealBroken when this split's was opened before."""
    if looks is None or looks.split != split:
        looks = Looks(split=split, gate=looks.gate if looks else 0)
    if looks.test:
        raise SealBroken(
            "the sealed tasks of this split were opened before; a second look would measure how well the"
            " skill was fitted to them. New sessions give a new split"
        )
    return msgspec.structs.replace(looks, test=1)
