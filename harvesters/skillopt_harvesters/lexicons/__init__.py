"""The languages that prompts are read in. A further one is one module, with its lexicon named here."""

from __future__ import annotations

from skillopt_harvesters.lexicons import en, zh
from skillopt_harvesters.lexicons.shape import Lexicon

LEXICONS: tuple[Lexicon, ...] = (en.LEXICON, zh.LEXICON)

__all__ = ["LEXICONS", "Lexicon"]
