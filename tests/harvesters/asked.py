"""Asks without sessions around them, for tests of how they are grouped."""

from __future__ import annotations

from skillopt_harvesters.asks import Occurrence
from skillopt_harvesters.grouping import Cluster, group
from skillopt_harvesters.normalise import fold, normalise
from skillopt_harvesters.outcomes import Judgement, Outcome, Why


def ask(prompt: str, number: int = 0, **others) -> Occurrence:
    """Return the ask as the first of a session of its own; a later number is a later session."""
    slash = prompt.split(maxsplit=1)[0].lower() if prompt.startswith("/") else None
    made = {
        "session": f"s{number:04}",
        "turn": 0,
        "prompt": prompt,
        "skeleton": (slash,) if slash else normalise(prompt),
        "folded": fold(prompt),
        "client": "claude",
        "project": "/p",
        "commit": None,
        "started": f"2026-01-01T{number // 60:04}:{number % 60:02}",
        "failed": False,
        "judgement": Judgement(Outcome.OK, (Why.SILENT,)),
        **others,
    }
    return Occurrence(**made)


def group_prompts(*prompts: str) -> list[list[str]]:
    """Return the clusters of prompts that are asked one after the other, each in a session of its own."""
    return show(group(ask(prompt, number) for number, prompt in enumerate(prompts)))


def show(clusters: list[Cluster]) -> list[list[str]]:
    """Return the prompts of each cluster, oldest first."""
    return [[one.prompt for one in cluster.asks] for cluster in clusters]
