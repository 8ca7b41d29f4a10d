"""Transcript files to sessions to recurring tasks."""

from skillopt_harvesters.asks import AskOutcome, find_outcomes
from skillopt_harvesters.attribution import SkillRecord
from skillopt_harvesters.claims import Claims, MemoryClaims
from skillopt_harvesters.corrections import find_corrections, is_correction, mark_corrections
from skillopt_harvesters.cursor import Change, FileCursor, changed
from skillopt_harvesters.errors import HarvestError
from skillopt_harvesters.families import Family
from skillopt_harvesters.harvest import Harvest, Harvested, harvest
from skillopt_harvesters.mine import find_families, mine
from skillopt_harvesters.mining import Known, Mining
from skillopt_harvesters.outcomes import Outcome, Why
from skillopt_harvesters.records import Kind, Session, Signal, Tokens, ToolCall, Turn
from skillopt_harvesters.redact import redact
from skillopt_harvesters.sentences import Correction
from skillopt_harvesters.sources import SOURCES, Reading, Resume, Source, load_sources, read_file
from skillopt_harvesters.stats import HarvestStats

__all__ = [
    "SOURCES",
    "AskOutcome",
    "Change",
    "Claims",
    "Correction",
    "Family",
    "FileCursor",
    "Harvest",
    "HarvestError",
    "HarvestStats",
    "Harvested",
    "Kind",
    "Known",
    "MemoryClaims",
    "Mining",
    "Outcome",
    "Reading",
    "Resume",
    "Session",
    "Signal",
    "SkillRecord",
    "Source",
    "Tokens",
    "ToolCall",
    "Turn",
    "Why",
    "changed",
    "find_corrections",
    "find_families",
    "find_outcomes",
    "harvest",
    "is_correction",
    "load_sources",
    "mark_corrections",
    "mine",
    "read_file",
    "redact",
]
