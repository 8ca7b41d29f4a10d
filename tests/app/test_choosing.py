"""Who runs the tasks and who writes the edits."""

from __future__ import annotations

import msgspec
import pytest

from skillopt_replay.errors import Unavailable
from skillopt_sleep import agents
from skillopt_sleep.agents import AGENTS
from skillopt_sleep.errors import UsageError
from skillopt_sleep.night import choosing
from skillopt_sleep.night.choosing import Found, choose_optimizer, choose_target
from skillopt_sleep.settings import Optimizer, Settings, Target

READY = Found(version="1.0.0", signed_in=True)
SIGNED_OUT = Found(version="1.0.0", signed_in=False, hint="sign in, please")


@pytest.fixture(autouse=True)
def three(monkeypatch: pytest.MonkeyPatch):
    """Three agents, whichever the table has: what is chosen follows from the rows."""
    first = AGENTS[0]
    rows = tuple(
        msgspec.structs.replace(first, name=name, title=name.title(), client=client, model=model)
        for name, client, model in (
            ("claude_code", "claude", "claude"),
            ("codex", "codex", "codex"),
            ("copilot", "copilot", ""),
        )
    )
    for module in (agents, choosing):
        monkeypatch.setattr(module, "AGENTS", rows)
        monkeypatch.setattr(module, "BY_NAME", {row.name: row for row in rows})
        monkeypatch.setattr(module, "NAMES", ("auto", *(row.name for row in rows), "chat"))


def of(agent: str = "auto", model: str = "", optimizer: str = "auto") -> Settings:
    return Settings(target=Target(agent=agent, model=model), optimizer=Optimizer(model=optimizer))


def test_what_is_set_is_taken_whatever_was_found():
    for name in ("claude_code", "codex", "copilot", "chat"):
        picked = choose_target(of(name), {}, {"claude": 9})
        assert (picked.agent, picked.why) == (name, "")


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(UsageError) as caught:
        choose_target(of("robot"), {}, {})
    assert "copilot" in caught.value.hint


@pytest.mark.parametrize(
    ("sessions", "agent"),
    [
        ({}, "claude_code"),
        ({"codex": 3}, "codex"),
        ({"codex": 3, "claude": 4}, "claude_code"),
        ({"codex": 3, "claude": 2, "copilot": 9}, "copilot"),
        ({"vscode": 100, "codex": 1}, "codex"),
    ],
)
def test_auto_prefers_the_client_that_most_sessions_came_from(sessions, agent):
    found = {"claude_code": READY, "codex": READY, "copilot": READY}
    picked = choose_target(of(), found, sessions)
    assert picked.agent == agent
    assert "installed and signed in" in picked.why
    assert "target.agent" in picked.why, "it says who else could have been picked"


def test_auto_never_picks_who_is_not_signed_in():
    found = {"claude_code": SIGNED_OUT, "codex": READY}
    picked = choose_target(of(), found, {"claude": 50, "codex": 1})
    assert picked.agent == "codex"
    assert "1 of your sessions" in picked.why


def test_a_chat_model_that_is_set_is_the_last_resort_and_the_reason_names_who_is_missing():
    picked = choose_target(of(model="local"), {"claude_code": SIGNED_OUT}, {})
    assert picked.agent == "chat"
    assert "Claude_Code is not signed in" in picked.why
    assert "Codex is not installed" in picked.why


def test_with_nobody_the_hint_is_that_of_the_program_that_is_there():
    with pytest.raises(Unavailable, match="no agent to run the tasks with") as caught:
        choose_target(of(), {"codex": SIGNED_OUT}, {})
    assert caught.value.hint == "sign in, please"
    with pytest.raises(Unavailable) as caught:
        choose_target(of(), {}, {})
    assert "install" in caught.value.hint


@pytest.mark.parametrize(
    ("settings", "target", "model"),
    [
        (of(optimizer="openai:gpt-5"), "claude_code", "openai:gpt-5"),
        (of(), "claude_code", "claude"),
        (of(), "codex", "codex"),
        (of(), "copilot", "local"),
        (of(model="ollama:x"), "chat", "ollama:x"),
        (of(), "chat", "local"),
    ],
)
def test_the_optimizer_is_chosen_apart_and_auto_follows_the_target(settings, target, model):
    picked = choose_optimizer(settings, target, {})
    assert picked.agent == model
    assert bool(picked.why) is (settings.optimizer.model == "auto")


def test_a_target_that_is_no_chat_model_leaves_the_edits_to_a_client_that_is_signed_in():
    picked = choose_optimizer(of(model="a-model-of-its-own"), "copilot", {"copilot": READY, "codex": READY})
    assert (picked.agent, "no chat model" in picked.why) == ("codex", True)
    nobody = choose_optimizer(
        of(model="a-model-of-its-own"), "copilot", {"copilot": READY, "codex": SIGNED_OUT}
    )
    assert nobody.agent == "local"
