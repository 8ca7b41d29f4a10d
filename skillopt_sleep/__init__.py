"""SkillOpt-Sleep: your coding agent learns overnight."""

__version__ = "0.1.0"
