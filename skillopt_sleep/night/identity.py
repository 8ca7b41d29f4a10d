"""Who ran the tasks: evidence holds for one agent, version and model, and starts anew with another."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from skillopt_replay.rollouts import Rollout

_JUDGED = "; judged by "


def name_judged(agent: str, judge: str) -> str:
    """Return the agent's identity with the judge's, when there is one: its grades are evidence too."""
    return f"{agent}{_JUDGED}{judge}" if judge else agent


def name_identity(agent: str, model: str) -> str:
    """Return the agent's identity with the model that answered, which its own may only call default."""
    agent, by, judge = agent.partition(_JUDGED)
    return f"{_name_model(agent, model)}{by}{judge}"


def _name_model(agent: str, model: str) -> str:
    named = re.search(rf"(?:^|[ #:/]){re.escape(model)}(?:$|[ @])", agent)
    if not model or named:
        return agent
    return f"{agent} [{model}]"


def is_of(identity: str, agent: str) -> bool:
    """Say whether an identity is this agent's and its judge's, whichever model answered."""
    (identity, _, graded), (agent, _, judge) = identity.partition(_JUDGED), agent.partition(_JUDGED)
    if graded != judge:
        return False
    return identity == agent or (identity.startswith(f"{agent} [") and identity.endswith("]"))


def find_answering(runs: Iterable[Rollout]) -> str:
    """Return the model that answered most of the runs, "" when no run names one."""
    counts = Counter(run.model for run in runs if run.model)
    return min(counts, key=lambda model: (-counts[model], model), default="")
