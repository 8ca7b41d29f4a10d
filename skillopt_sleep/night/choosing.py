"""Who runs the tasks, and which model writes the edits. Pure: what is set and found in, a choice out."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from skillopt_replay.errors import Unavailable
from skillopt_sleep.agents import AGENTS, BY_NAME, CHAT, COMMAND, NAMES
from skillopt_sleep.errors import UsageError
from skillopt_sleep.settings import Settings

LOCAL = "local"


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's program on this machine: whether it is signed in, and what to do when not."""

    version: str
    signed_in: bool
    hint: str = ""
    trouble: str = ""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The agent by its name in target.agent, and why it was picked ("" when the settings name it)."""

    agent: str
    why: str = ""


def choose_target(
    settings: Settings, found: Mapping[str, Found], clients_of_sessions: Mapping[str, int]
) -> Choice:
    """Return who runs the tasks.

    `found` are the installed agents by name, `clients_of_sessions` how many sessions each client has.
    Of those that are installed and signed in, auto takes the one whose client the most sessions came from,
    and the first of the table when none has any. With none it takes a chat model that is set.
    Raises Unavailable when auto finds nobody, UsageError for an unknown name.
    """
    wanted = check_name(settings)
    if wanted != "auto":
        return Choice(agent=wanted)
    ready = [kind for kind in AGENTS if kind.name in found and found[kind.name].signed_in]
    if not ready:
        if settings.target.model:
            missing = "; ".join(_say_missing(found))
            return Choice(agent=CHAT, why=f"target.model is set, and {missing}")
        raise _nobody(found)
    best = max(ready, key=lambda kind: clients_of_sessions.get(kind.client, 0))
    sessions = clients_of_sessions.get(best.client, 0)
    why = "it is installed and signed in"
    if sessions:
        why = f"{why}, and {sessions} of your sessions are its own"
    others = [kind.title for kind in ready if kind is not best]
    if others:
        why += f" ({', '.join(others)} could be named by target.agent)"
    return Choice(agent=best.name, why=why)


def check_name(settings: Settings) -> str:
    """Return target.agent. Raises UsageError for an unknown name."""
    wanted = settings.target.agent
    if wanted not in NAMES:
        raise UsageError(f"target.agent is {wanted!r}", hint=f"it must be one of {', '.join(NAMES)}")
    return wanted


def choose_optimizer(settings: Settings, target: str, found: Mapping[str, Found]) -> Choice:
    """Return the model that writes edits, as `optimizer.model` names models.

    Auto takes the chat model or the client that runs the tasks. Where that client is no chat model, it takes
    another one that is signed in (`found`), and the local model when there is none.
    """
    wanted = settings.optimizer.model
    if wanted != "auto":
        return Choice(agent=wanted)
    if target == CHAT:
        return Choice(agent=settings.target.model or LOCAL, why="it runs the tasks as well")
    title = "your own program" if target == COMMAND else BY_NAME[target].title
    if target != COMMAND and BY_NAME[target].model:
        return Choice(agent=BY_NAME[target].model, why=f"{title} runs the tasks")
    for kind in AGENTS:
        if kind.model and kind.name in found and found[kind.name].signed_in:
            return Choice(agent=kind.model, why=f"{title} is no chat model, and {kind.title} is signed in")
    return Choice(agent=LOCAL, why=f"{title} is no chat model, and no other client is signed in")


def needs_found(settings: Settings, target: str) -> bool:
    """Say whether `choose_optimizer` has to know what is installed."""
    if settings.optimizer.model != "auto" or target == CHAT:
        return False
    return target == COMMAND or not BY_NAME[target].model


def _say_missing(found: Mapping[str, Found]) -> list[str]:
    return [
        f"{kind.title} is {'not signed in' if kind.name in found else 'not installed'}"
        for kind in AGENTS
        if kind.name not in found or not found[kind.name].signed_in
    ]


def _nobody(found: Mapping[str, Found]) -> Unavailable:
    for kind in AGENTS:
        seen = found.get(kind.name)
        if seen is not None:
            trouble = seen.trouble or f"{kind.title} is not signed in"
            return Unavailable(f"no agent to run the tasks with: {trouble}", hint=seen.hint or kind.sign_in)
    titles = " or ".join(kind.title for kind in AGENTS)
    return Unavailable(
        "no agent to run the tasks with",
        hint=f"install {titles} and sign in, or set target.agent chat and a model:"
        " skillopt-sleep config set target.agent chat; skillopt-sleep config set target.model local",
    )
