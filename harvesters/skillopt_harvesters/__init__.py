"""Transcript files to sessions to recurring tasks."""

from skillopt_harvesters.asks import AskOutcome, find_outcomes
from skillopt_harvesters.claims import Claims, MemoryClaims
from skillopt_harvesters.corrections import Correction, find_corrections, is_correction
from skillopt_harvesters.cursor import Change, FileCursor, changed
from skillopt_harvesters.errors import HarvestError
from skillopt_harvesters.harvest import Harvest, Harvested, HarvestStats, harvest
from skillopt_harvesters.mine import mine
from skillopt_harvesters.outcomes import Outcome, Why
from skillopt_harvesters.records import Kind, Session, Signal, Tokens, ToolCall, Turn
from skillopt_harvesters.redact import redact
from skillopt_harvesters.sources import SOURCES, Reading, Resume, Source, read_file

__all__ = [
    "SOURCES",
    "AskOutcome",
    "Change",
    "Claims",
    "Correction",
    "FileCursor",
    "Harvest",
    "HarvestError",
    "HarvestStats",
    "Harvested",
    "Kind",
    "MemoryClaims",
    "Outcome",
    "Reading",
    "Resume",
    "Session",
    "Signal",
    "Source",
    "Tokens",
    "ToolCall",
    "Turn",
    "Why",
    "changed",
    "find_corrections",
    "find_outcomes",
    "harvest",
    "is_correction",
    "mine",
    "read_file",
    "redact",
]
