"""What the tests of the replay wing share."""

from __future__ import annotations

import socket

import pytest

from skillopt_replay.rollouts import Outcome, Rollout
from skillopt_replay.sandbox import bubblewrap
from skillopt_replay.tasks import Contains, Task


@pytest.fixture(scope="session")
def confined():
    """A sandbox that works here; its tests are skipped where none does, with the reason."""
    probes = []
    for sandbox in bubblewrap.find():
        probe = sandbox.probe()
        if probe.works:
            return sandbox
        probes.append(f"{probe.name}: {probe.detail} ({probe.hint})")
    pytest.skip("; ".join(probes) or "bubblewrap is not installed")


@pytest.fixture
def local_server():
    """The port of something on this machine that listens, and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.fixture
def make_task():
    def make(**changes) -> Task:
        values = {
            "id": "task-1",
            "family": "family-1",
            "title": "Greet",
            "prompt": "Please greet Bob.",
            "sessions": ("session-1",),
            "occurrences": 3,
            "client": "claude",
            "skill": "heron-greet",
            "group": "group-1",
            "checks": (Contains(text="HERON"),),
        }
        return Task(**{**values, **changes})

    return make


@pytest.fixture
def make_rollout():
    def make(answer: str = "", **changes) -> Rollout:
        values = {
            "task": "task-1",
            "skill": "",
            "agent": "fake",
            "model": "fake",
            "outcome": Outcome.FINISHED,
            "answer": answer,
        }
        return Rollout(**{**values, **changes})

    return make
