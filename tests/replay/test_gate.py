"""Requests of a run go out while what it has told leaves room for them, however many go out at a time."""

from __future__ import annotations

import asyncio
import os
import random
import socket

import pytest

from skillopt_replay import process
from skillopt_replay.agents import gate as gates
from skillopt_replay.agents.claude_usage import ReplyCount
from skillopt_replay.agents.gate import Gate
from skillopt_replay.agents.spending import Meter, Tally, fits
from skillopt_replay.protocols import Limits
from skillopt_replay.rollouts import Usage
from skillopt_replay.sandbox import Endpoint
from skillopt_replay.sandbox.launching import add_gate

TRIALS = int(os.environ.get("SKILLOPT_TEST_TRIALS", "25"))
BIG = 20_000  # bytes of a request to a model


class Told:
    """What a client has told so far: a Metered."""

    def __init__(self) -> None:
        self.meter = Meter()
        self.failures = 0
        self.unheard = 0
        self.why = ""
        self.gate: Gate | None = None

    def tally(self) -> Tally:
        meter = self.meter
        ended = meter.replies + self.failures
        return Tally(usage=meter.usage, dearest=meter.dearest, told=ended, unheard=self.unheard)

    def halt(self, why: str) -> None:
        self.why = why


async def ask(gate: Gate, kind: bytes = b"R") -> bool:
    """Ask as the launcher does; return whether it may go out."""
    port, _, token = gate.address.partition(":")
    reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
    try:
        writer.write(kind + token.encode())
        return await reader.read(1) == b"1"
    finally:
        writer.close()


async def is_held(asked: asyncio.Future[bool]) -> bool:
    await asyncio.wait([asked], timeout=0.1)
    return not asked.done()


@pytest.fixture(autouse=True)
def hurried(monkeypatch):
    monkeypatch.setattr(gates, "_GRACE_SECONDS", 0.05)
    monkeypatch.setattr(gates, "_LOOK_SECONDS", 0.001)


async def test_a_request_waits_for_what_the_first_one_cost():
    told = Told()
    async with Gate(told, Limits(usd=1.0)) as gate:
        assert await ask(gate)
        second = asyncio.ensure_future(ask(gate))
        assert await is_held(second)
        told.meter.add(Usage(1000, cost_usd=0.1))
        assert await second
        assert await ask(gate), "there is room for what is out and for another one"
        assert gate.find_untold() == 2


@pytest.mark.parametrize(
    ("limits", "words"), [(Limits(usd=0.25), r"\$0.3000"), (Limits(tokens=2500), "3000 tokens")]
)
async def test_none_goes_out_once_a_limit_is_known_to_be_reached_and_the_run_is_ended(limits, words):
    told = Told()
    async with Gate(told, limits) as gate:
        for _ in range(3):
            assert await ask(gate)
            told.meter.add(Usage(1000, cost_usd=0.1))
        last = asyncio.ensure_future(ask(gate))
        await asyncio.wait_for(gate.stop, 5)
        assert not last.done()
        assert words.replace("\\", "") in told.why
        assert gate.find_untold() == 0
    assert not await last


async def test_near_a_limit_requests_go_out_one_by_one():
    told = Told()
    async with Gate(told, Limits(usd=0.5)) as gate:
        for _ in range(3):
            assert await ask(gate)
            told.meter.add(Usage(1000, cost_usd=0.1))
        assert await ask(gate)
        others = [asyncio.ensure_future(ask(gate)) for _ in range(3)]
        assert all([await is_held(other) for other in others])
        told.meter.add(Usage(1000, cost_usd=0.1))
        done, _ = await asyncio.wait(others, return_when=asyncio.FIRST_COMPLETED)
        assert len(done) == 1
        told.failures += 1
        done, _ = await asyncio.wait(others, timeout=0.2)
        assert len(done) == 2, "one that failed makes room again"


async def test_requests_that_came_to_nothing_are_not_waited_for_and_count_as_they_may_have_been_paid_for():
    told = Told()
    async with Gate(told, Limits(usd=0.9)) as gate:
        for unheard in (1, 2):
            assert await asyncio.wait_for(ask(gate), 1)
            told.unheard = unheard
        assert await asyncio.wait_for(ask(gate), 1)
        told.meter.add(Usage(1000, cost_usd=0.1))
        assert gate.find_untold() == 2
        assert await asyncio.wait_for(ask(gate), 1)
        told.unheard = 3
        assert await asyncio.wait_for(ask(gate), 1), "0.1 and three times 0.2"
        told.unheard = 4
        last = asyncio.ensure_future(ask(gate))
        await asyncio.wait_for(gate.stop, 2)
        assert "what is left may not cover" in told.why
    assert not await last


async def test_a_run_that_waits_too_long_for_what_is_left_is_ended(monkeypatch):
    monkeypatch.setattr(gates, "_LATER_SECONDS", 0.2)
    told = Told()
    async with Gate(told, Limits(usd=0.25)) as gate:
        assert await ask(gate)
        told.meter.add(Usage(1000, cost_usd=0.1))
        assert await ask(gate)
        held = asyncio.ensure_future(ask(gate))
        await asyncio.wait_for(gate.stop, 5)
        assert "what is left may not cover" in told.why
        assert gate.find_untold() == 1, "it is paid for, as it may be"
    assert not await held


async def test_a_first_request_that_is_never_told_of_holds_the_others_for_a_while_only(monkeypatch):
    monkeypatch.setattr(gates, "_FIRST_SECONDS", 0.2)
    async with Gate(Told(), Limits(usd=0.25)) as gate:
        assert await ask(gate)
        assert await asyncio.wait_for(ask(gate), 5)


async def test_small_talk_is_not_held_beside_requests_but_when_a_limit_is_reached():
    told = Told()
    async with Gate(told, Limits(usd=0.25)) as gate:
        assert await ask(gate)
        assert await ask(gate, b"M")
        told.meter.add(Usage(1000, cost_usd=0.3))
        assert await is_held(asyncio.ensure_future(ask(gate, b"M")))


async def test_a_stranger_is_let_in_to_nothing():
    async with Gate(Told(), Limits(usd=1.0)) as gate:
        port = int(gate.address.partition(":")[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"R" + b"0" * 32)
        assert await reader.read() == b""
        writer.close()
        assert gate.find_untold() == 0


async def test_without_limits_nothing_waits():
    async with Gate(Told(), Limits(usd=None)) as gate:
        assert all([await ask(gate) for _ in range(5)])


def test_what_is_out_counts_twice_the_dearest_so_far():
    tally = Tally(usage=Usage(5000, cost_usd=0.5), dearest=Meter().dearest, told=1)
    assert not fits(Limits(usd=1.0), tally, 1)
    meter = Meter()
    for usd in (0.2, 0.1, 0.2):
        meter.add(Usage(1000, cost_usd=usd))
    tally = Tally(usage=meter.usage, dearest=meter.dearest, told=3)
    assert fits(Limits(usd=0.95), tally, 1)
    assert not fits(Limits(usd=0.9), tally, 1)
    assert fits(Limits(usd=0.9), tally, 0)
    assert not fits(Limits(usd=None, tokens=5000), tally, 1)
    assert fits(Limits(usd=None, tokens=5001), tally, 1)


@pytest.mark.parametrize("seed", range(TRIALS))
async def test_no_run_passes_a_limit_by_more_than_one_request(seed, monkeypatch):
    """Helpers side by side, replies that are told late, requests that fail, and a kill at any moment."""
    monkeypatch.setattr(gates, "_GRACE_SECONDS", 0.003)
    monkeypatch.setattr(gates, "_LATER_SECONDS", 0.1)
    chance = random.Random(seed)
    usual = chance.choice([0.001, 0.01, 0.2])
    limit = usual * chance.uniform(0.3, 25.0)
    by_tokens = chance.random() < 0.4
    limits = Limits(usd=None, tokens=int(limit * 1e6)) if by_tokens else Limits(usd=limit)
    told, billed = Told(), []

    async def work(gate: Gate) -> None:
        for _ in range(40):
            if not await ask(gate):
                return
            if chance.random() < 0.1:
                await asyncio.sleep(chance.uniform(0, 0.003))
                told.failures += 1  # refused, and asked once more
                continue
            usd = usual * chance.uniform(0.6, 1.15)
            billed.append(usd)
            await asyncio.sleep(chance.uniform(0, 0.004))
            late = chance.choice([0.0, 0.0, 0.002])
            reply = Usage(int(usd * 1e6), cost_usd=None if by_tokens else usd)
            asyncio.get_running_loop().call_later(late, told.meter.add, reply)

    async with Gate(told, limits) as gate:
        helpers = [asyncio.ensure_future(work(gate)) for _ in range(chance.randint(1, 8))]
        if chance.random() < 0.3:
            asyncio.get_running_loop().call_later(chance.uniform(0, 0.05), helpers[0].cancel)
        ended = asyncio.gather(*helpers, return_exceptions=True)
        await asyncio.wait([gate.stop, ended], timeout=30.0, return_when=asyncio.FIRST_COMPLETED)
        assert gate.stop.done() or ended.done()
    await ended
    assert sum(billed) <= limit + max(billed, default=0.0)
    assert told.why or len(billed) >= 30 * (len(helpers) - 1)


CLIENT = """
import socket, sys, threading
def talk(number):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
        for size in map(int, sys.argv[2:]):
            connection.sendall(b"x" * (size - 1) + b"\\n")
            said = b""
            while not said.endswith(b"\\n"):
                said += (piece := connection.recv(1000))
                if not piece:
                    return
talking = [threading.Thread(target=talk, args=(n,)) for n in range(3)]
[one.start() for one in talking]
[one.join() for one in talking]
"""

# As with HTTP/2, where no more is sent before the other side says that it takes more.
WINDOWED = CLIENT.replace(
    "            connection.sendall(", "            for _ in range(size // 50_000):\n"
    "                connection.sendall(b'x' * 50_000)\n"
    "                connection.recv(40)\n"
    "            connection.sendall("
)  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


class Service:
    """Answers each line with one, and notes how long it was."""

    def __init__(self) -> None:
        self.heard: list[int] = []

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            self.heard.append(len(line))
            writer.write(b"yes" * 100 + b"\n")
        writer.close()


async def talk_to_service(
    confined,
    folder,
    told: Told,
    limits: Limits,
    *sizes: int,
    service: Service | None = None,
    client: str = CLIENT,
) -> tuple[list[int], bool]:
    """Have a client in the sandbox say lines of these sizes on three connections; return what was heard."""
    service = service or Service()
    server = await asyncio.start_server(service.answer, "127.0.0.1", 0, limit=1 << 20)
    port = server.sockets[0].getsockname()[1]
    argv = confined.wrap(
        ["/usr/bin/python3", "-c", client, str(port), *map(str, sizes)],
        writable=[folder], readable=[], cwd=folder, reach=[Endpoint("127.0.0.1", port)],
    )  # fmt: skip
    async with server, Gate(told, limits) as gate:
        told.gate = gate
        finished = await process.run(
            add_gate(argv, gate.address), cwd=folder, env={"PATH": "/usr/bin"}, seconds=30, stop=gate.stop
        )
    assert finished.stopped or finished.returncode == 0, finished.stderr
    return service.heard, finished.stopped


async def test_the_launcher_asks_for_requests_and_for_what_may_be_one(confined, folder):
    told = Told()
    asked = []
    told.tally = lambda: asked.append(1) or Tally()
    heard, stopped = await talk_to_service(confined, folder, told, Limits(usd=1.0), 100, BIG, 100, 1000)
    assert (sorted(heard), stopped) == (sorted([100, BIG, 100, 1000] * 3), False)
    assert asked


async def test_what_the_service_says_of_a_request_under_way_does_not_make_it_two(confined, folder):
    told = Told()

    class Windows(Service):
        async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            for _ in range(4):
                await reader.readexactly(50_000)
                writer.write(b"w" * 40)
            await super().answer(reader, writer)

    limits = Limits(usd=None)
    await talk_to_service(confined, folder, told, limits, 200_000, service=Windows(), client=WINDOWED)
    assert told.gate is not None
    assert told.gate.find_untold() == 3


async def test_what_the_launcher_may_not_pass_on_never_gets_to_the_service(confined, folder):
    told = Told()
    told.meter.add(Usage(1000, cost_usd=1.0))
    heard, stopped = await talk_to_service(confined, folder, told, Limits(usd=1.0), 100, BIG)
    assert (heard, stopped) == ([100] * 3, True)
    assert told.why == "stopped after $1.0000; $1.0000 was allowed"


async def test_of_three_that_ask_at_once_with_room_for_one_only_one_gets_to_the_service(
    confined, folder, monkeypatch
):
    monkeypatch.setattr(gates, "_LATER_SECONDS", 0.5)
    told = Told()
    told.meter.add(Usage(1000, cost_usd=1.0))
    heard, stopped = await talk_to_service(confined, folder, told, Limits(usd=1.5), BIG)
    assert (heard, stopped) == ([BIG], True)


async def test_a_launcher_whose_gate_is_gone_passes_nothing_on(confined, folder):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    service = Service()
    server = await asyncio.start_server(service.answer, "127.0.0.1", 0, limit=1 << 20)
    place = server.sockets[0].getsockname()[1]
    argv = confined.wrap(
        ["/usr/bin/python3", "-c", CLIENT, str(place), str(BIG)],
        writable=[folder], readable=[], cwd=folder, reach=[Endpoint("127.0.0.1", place)],
    )  # fmt: skip
    async with server:
        await process.run(add_gate(argv, f"{port}:x"), cwd=folder, env={"PATH": "/usr/bin"}, seconds=30)
    assert service.heard == []


def test_replies_whose_blocks_come_mixed_are_counted_once_each():
    replies = ReplyCount(lambda _model, usage: usage.tokens * 0.001)
    assert replies.take("a", "m", Usage(100, 1), said=40, helper="h1")
    assert replies.take("b", "m", Usage(200, 1), said=0, helper="h2")
    assert not replies.take("a", "m", Usage(100, 30), said=400, helper="h1")
    assert (len(replies), replies.ended, replies.usage.tokens) == (2, 0, 331)
    assert replies.priced.tokens == 100 + 110 + 201
    assert replies.priced.cost_usd == pytest.approx(0.411)
    replies.end("h1")
    replies.end(None)
    assert (replies.ended, replies.dearest.tokens) == (1, 210)
    assert replies.take("c", "unknown", Usage(1, 1), said=0, helper=None)
    assert ReplyCount().priced.cost_usd == 0.0


def test_a_price_that_is_not_known_leaves_the_dollars_unknown():
    replies = ReplyCount(lambda _model, _usage: None)
    replies.take("a", "m", Usage(100, 1), said=0, helper=None)
    assert replies.priced.cost_usd is None
    assert replies.dearest.tokens == 101
