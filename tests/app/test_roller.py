"""What a night keeps of a run is redacted, and each project is set up as the settings say."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace

import pytest

from skillopt_replay.ledger import MemoryLedger
from skillopt_replay.rollouts import Called, Outcome, Rollout, RolloutCall, Said, Usage
from skillopt_replay.sandbox import Endpoint
from skillopt_replay.tasks import Contains, Task
from skillopt_sleep.errors import UsageError
from skillopt_sleep.night.roller import make_roller, redact_rollout
from skillopt_sleep.night.setups import choose_setup
from skillopt_sleep.settings import Replay, Settings

SECRET = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


def make_task(project: str | None) -> Task:
    return Task(
        id="1", family="f", title="t", prompt="p", sessions=("s",), occurrences=1, client="c", skill="k",
        group="g", checks=(Contains(text="x"),), project=project,
    )  # fmt: skip


def test_a_secret_is_masked_wherever_a_run_can_leave_it():
    said = f"token {SECRET}"
    rollout = Rollout(
        task="t", skill="", agent="a", model="m", outcome=Outcome.FINISHED, answer=said, error=said,
        calls=(RolloutCall("Bash", said, said, 1, f'{{"a": "{SECRET}"}}', said),),
        steps=(Said(said), Called(0)), diff=f"+{said}\n", notes=(said,),
    )  # fmt: skip
    redacted = redact_rollout(rollout)
    assert SECRET not in repr(redacted)
    assert redacted.steps[1] == Called(0)
    assert redacted.calls[0].name == "Bash"


async def test_what_takes_long_to_redact_keeps_nobody_waiting():
    answer = "password:" * 20_000

    class Executor:
        slots = 1

        async def run(self, job):
            return Rollout(task="1", skill="", agent="a", model="m", outcome=Outcome.FINISHED, answer=answer)

    agent = SimpleNamespace(identity="a", estimate=Usage(1), needs_workspace=False)
    roll = make_roller(SimpleNamespace(agent=agent, executor=Executor()), MemoryLedger(), Settings())
    rolling = asyncio.ensure_future(roll(make_task(None), None, 0))
    longest = 0.0
    while not rolling.done():
        before = time.monotonic()
        await asyncio.sleep(0.01)
        longest = max(longest, time.monotonic() - before)
    assert rolling.result().answer == redact_rollout(rolling.result()).answer
    assert longest < 1.0


def test_the_nearest_project_decides_on_the_set_up():
    replay = Replay(setup="make", project_setup=("/work:npm ci", "/work/shop: uv sync", "~/own:true"))
    settings = Settings(replay=replay)

    def command(project):
        found = choose_setup(settings, {"HOME": "/home/me"}, make_task(project))
        return found.command if found else None

    assert command("/elsewhere") == "make"
    assert command("/work/site") == "npm ci"
    assert command("/work/shop/web") == "uv sync"
    assert command("/home/me/own") == "true"
    assert command("/workshop") == "make"
    assert command(None) is None
    assert choose_setup(Settings(), {}, make_task("/work")) is None


def test_set_up_reaches_the_hosts_that_are_named_and_no_other():
    settings = Settings(replay=Replay(setup="npm ci", setup_hosts=("registry.npmjs.org", "127.0.0.1:4873")))
    found = choose_setup(settings, {}, make_task("/work"))
    assert found is not None
    assert found.reach == (Endpoint("registry.npmjs.org", 443), Endpoint("127.0.0.1", 4873))
    assert choose_setup(Settings(replay=Replay(setup="npm ci")), {}, make_task("/work")).reach == ()
    with pytest.raises(UsageError, match="setup_hosts"):
        choose_setup(Settings(replay=Replay(setup="x", setup_hosts=("a b",))), {}, make_task("/work"))


@pytest.mark.parametrize("text", ["npm ci", "relative:npm ci", "/work:", "/work: "])
def test_a_set_up_without_project_or_command_is_refused(text):
    with pytest.raises(ValueError, match="PATH:COMMAND"):
        Replay(project_setup=(text,))
