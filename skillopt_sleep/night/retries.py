"""A text that was measured before gets no new chance by being proposed again.

Evidence belongs to a text. Were it forgotten whenever a candidate is dropped, the optimizer could propose the
same text until it is lucky; so a verdict stands, and a text that had none yet goes on where it was.
"""

from __future__ import annotations

import sqlite3

import msgspec

from skillopt_gate.verdicts import Decision
from skillopt_sleep.night.renewal import is_stale
from skillopt_sleep.store.candidates import Carried, find_candidate
from skillopt_sleep.store.rulings import find_last_identity, read_rulings


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a text: `carried` as it goes on, None when a verdict stands; `told` says which."""

    carried: Carried | None
    told: str = ""


def recall(connection: sqlite3.Connection, proposed: Carried, *, night: str, agent: str, mode: str) -> Known:
    """Return what earlier nights made of this text, measured against the same base, by this agent.

    What the present `night` ruled is left out: a night that goes on after a crash learns the same text again.
    Rulings without a run, of another mode, or of another agent, version or model, do not count either.
    """
    answering = find_last_identity(connection)
    earlier = [
        one
        for one in read_rulings(connection, proposed.id)
        if one.night != night
        and one.number is not None
        and one.policy.mode == mode
        and not is_stale(one.identity, agent, answering)
    ]
    if not earlier:
        return Known(carried=proposed)
    last = earlier[-1]
    if last.verdict.decision is not Decision.NOT_ENOUGH:
        return Known(
            carried=None, told=f"night {last.night} measured this very text before: {last.verdict.reason}"
        )
    before = find_candidate(connection, proposed.id)
    if before is None:
        return Known(carried=proposed)
    return Known(
        carried=msgspec.structs.replace(
            proposed,
            evidence=before.evidence,
            aside=before.aside,
            wealth=before.wealth,
            tasks=before.tasks,
            rivals=max(before.rivals, proposed.rivals),
        )
    )
