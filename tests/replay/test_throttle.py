"""Fewer calls at a time after a refusal, none while the provider waits, one more after a run of good ones."""

from __future__ import annotations

import asyncio
import random

import pytest

from skillopt_replay.models.retries import Patience
from skillopt_replay.rollouts import Fault
from skillopt_replay.throttle import Throttle


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


@pytest.fixture
def time() -> Time:
    return Time()


def make(time: Time, slots: int = 4) -> Throttle:
    return Throttle(
        slots,
        patience=Patience(first_wait_s=8.0, longest_wait_s=60.0),
        clock=time,
        sleep=time.sleep,
        rng=random.Random(1),
    )


async def test_no_more_calls_run_at_a_time_than_the_width(time):
    throttle = make(time, slots=2)
    running = most = 0

    async def call():
        nonlocal running, most
        async with throttle.slot():
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1

    await asyncio.gather(*(call() for _ in range(20)))
    assert (most, running) == (2, 0)


async def test_a_refusal_halves_the_width_and_holds_the_next_start_back(time):
    throttle = make(time)
    throttle.note(Fault.RATE)
    assert throttle.width == 2
    async with throttle.slot():
        assert 4.0 <= time.now - 100.0 <= 8.0


async def test_calls_refused_together_count_as_one_refusal(time):
    throttle = make(time, slots=8)
    for _ in range(8):
        throttle.note(Fault.OVERLOAD)
    assert throttle.width == 4


async def test_refusals_in_a_row_wait_longer_each_time(time):
    throttle = make(time)
    for _ in range(3):
        throttle.note(Fault.NETWORK)
        async with throttle.slot():
            pass
    first, second, third = time.slept
    assert first <= 8.0 < second * 2
    assert first < second < third


async def test_good_calls_widen_again_to_the_slots_and_no_further(time):
    throttle = make(time)
    throttle.note(Fault.RATE)
    for _ in range(50):
        throttle.note(None)
    assert throttle.width == 4


async def test_a_lost_connection_does_not_narrow(time):
    throttle = make(time)
    throttle.note(Fault.NETWORK)
    assert throttle.width == 4


@pytest.mark.parametrize("fault", [Fault.SIGN_IN, Fault.MODEL, Fault.MONEY, Fault.CLIENT, Fault.REPLY])
async def test_what_waiting_does_not_mend_is_not_waited_for(time, fault):
    throttle = make(time)
    throttle.note(fault)
    async with throttle.slot():
        assert time.slept == []


async def test_a_cancelled_call_gives_its_place_back(time):
    throttle = make(time, slots=1)

    async def hold():
        async with throttle.slot():
            await asyncio.sleep(60)

    holding = asyncio.ensure_future(hold())
    await asyncio.sleep(0)
    holding.cancel()
    await asyncio.gather(holding, return_exceptions=True)

    async def take():
        async with throttle.slot():
            return True

    assert await asyncio.wait_for(take(), timeout=5)
