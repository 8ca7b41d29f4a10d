"""What a reading of this client's files remembers beside the session."""

from __future__ import annotations

import msgspec

from skillopt_harvesters.records import Kind
from skillopt_harvesters.sources.codex.forks import Gate
from skillopt_harvesters.sources.codex.prompts import Ledger
from skillopt_harvesters.sources.codex.tokens import Meter


class Memory(msgspec.Struct):
    """What a reading of this client's files remembers beside the session.

    `own` is the id in the session's own `session_meta`, `kind` what that says of who speaks, None before it
    came; `program` that it was a program of the client itself, which a person may take over. `task` is the
    turn that goes on and `trigger` who began it. `starting` says that the copies just ended, `began` that a
    turn of the session's own was opened, `standing` how many of them the user did not go back behind.
    `processes` are the calls whose process still runs, by its id. `claimed` is the latest name of a turn.
    `lost` says that a prompt was lost with the records before; `elsewhere` are the latest calls that another
    session has, in a turn of this one's. `early` are the latest outputs whose call is not there.
    """

    own: str = ""
    kind: Kind | None = None
    program: bool = False
    replay: bool = False
    bare: bool = False
    typed: bool = False
    folder: str = ""
    task: str = ""
    trigger: str = ""
    starting: bool = False
    began: bool = False
    standing: int = 0
    reviewing: bool = False
    numbered: int = 0
    gate: Gate = msgspec.field(default_factory=Gate)
    meter: Meter = msgspec.field(default_factory=Meter)
    ledger: Ledger = msgspec.field(default_factory=Ledger)
    processes: dict[str, str] = {}
    copied_from: list[str] = []
    claimed: str = ""
    lost: bool = False
    elsewhere: list[str] = []
    early: dict[str, tuple[int | None, str | None]] = {}

    def number(self) -> str:
        """Return a name that was not used before."""
        self.numbered += 1
        return f"#{self.numbered}"
