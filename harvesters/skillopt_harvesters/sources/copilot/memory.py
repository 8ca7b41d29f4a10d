"""What a reading of this client's files remembers beside the session."""

from __future__ import annotations

import msgspec

from skillopt_harvesters.sources.copilot.usage import Ledger


class Memory(msgspec.Struct):
    """What a reading of these files remembers beside the session.

    `attended` and `unattended` say which system prompts were seen, `alone` which came last; `skills` were
    loaded for the next prompt; `refused` are calls whose refusal is already told.
    `lost` says that a prompt was lost with the records before; `elsewhere` are the latest calls that another
    session has, in a turn of this one's. `line` is the call of the latest shell line.
    """

    copied_from: list[str] = []
    folder: str = ""
    is_replay: bool = False
    attended: bool = False
    unattended: bool = False
    alone: bool = False
    spoken: int = 0
    skills: list[str] = []
    refused: list[str] = []
    lost: bool = False
    elsewhere: list[str] = []
    line: str = ""
    ledger: Ledger = msgspec.field(default_factory=Ledger)
