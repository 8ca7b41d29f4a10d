"""What one run leaves to the next, as nights do that follow each other."""

from __future__ import annotations

import msgspec

from skillopt_replay.skills import Skill
from skillopt_sleep.training.rejected import RejectedEdits


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """What a run begins with besides its skill, and what it ends with.

    `rejected` is what was turned down, `notes` are the optimizer's own (the meta skill), and `before` is the
    skill of a run ago: with it the first epoch has an epoch before it.
    """

    rejected: RejectedEdits = RejectedEdits()
    notes: str = ""
    before: Skill | None = None
