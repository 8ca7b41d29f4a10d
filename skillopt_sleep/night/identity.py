"""Who ran the tasks: evidence holds for one agent, version and model, and starts anew with another."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from skillopt_replay.rollouts import Rollout


def name_identity(agent: str, model: str) -> str:
    """Return the agent's identity with the model that answered, which its own may only call default."""
    named = re.search(rf"(?:^|[ #:/]){re.escape(model)}(?:$|[ @])", agent)
    if not model or named:
        return agent
    return f"{agent} [{model}]"


def is_of(identity: str, agent: str) -> bool:
    """Say whether an identity is this agent's, whichever model answered."""
    return identity == agent or (identity.startswith(f"{agent} [") and identity.endswith("]"))


def find_answering(runs: Iterable[Rollout]) -> str:
    """Return the model that answered most of the runs, "" when no run names one."""
    counts = Counter(run.model for run in runs if run.model)
    return min(counts, key=lambda model: (-counts[model], model), default="")
