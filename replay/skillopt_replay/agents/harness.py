"""Runs a client program on a task: a private home, the sandbox, the limits, and the rollout at the end."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING, Protocol

import msgspec

from skillopt_replay import process
from skillopt_replay.agents.endings import conclude
from skillopt_replay.agents.gate import Gate, Metered
from skillopt_replay.agents.presence import find_absent
from skillopt_replay.agents.spending import count_lost, let_grow
from skillopt_replay.agents.staying import Replaced, Staying
from skillopt_replay.attempts import note_spent
from skillopt_replay.bounds import Bounds
from skillopt_replay.errors import ReplayError
from skillopt_replay.folders import PRIVATE_PREFIX, make_folder
from skillopt_replay.rollouts import Fault, Outcome, Rollout, Usage
from skillopt_replay.sandbox.launching import add_gate
from skillopt_replay.sandbox.reach import Endpoint
from skillopt_replay.trash import discard
from skillopt_replay.workspace import root_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from skillopt_replay.agents.endings import Judge
    from skillopt_replay.agents.traces import Reading
    from skillopt_replay.protocols import Limits
    from skillopt_replay.sandbox.contract import Sandbox
    from skillopt_replay.skills import Skill
    from skillopt_replay.tasks import Task

_FLOOD_BYTES = 512_000_000
_MAX_NAMED = 20  # tools that were refused


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """How to start the client once its private folder is laid out.

    The client may write to the workspace, to `home` and `tmp` below the private folder, and to `writable`;
    it may read `readable` besides the system, and get to the services in `reach` (none; None: anywhere),
    of which it needs one unless it `may_do_without`.
    `is_alone`: only the client itself speaks to them and writes its output, and none of its commands.
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    stdin: bytes = b""
    reach: tuple[Endpoint, ...] | None = ()
    may_do_without: bool = False
    is_alone: bool = False


class Reader(Metered, Protocol):
    """Takes the client's standard output in pieces."""

    def feed(self, data: bytes) -> None: ...

    def over(self, limits: Limits) -> bool:
        """Whether the run has to be stopped now; what `finish` returns then says why."""
        ...

    def finish(self) -> Reading: ...


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one client: `program` is its name for messages, `agent` its identity.

    Nothing is run once what `staying` remembers is another program.
    """

    program: str
    agent: str
    model: str
    task: Task
    skill: Skill | None
    workspace: Path
    limits: Limits
    sandbox: Sandbox
    staying: Staying


async def run_client(
    run: Run,
    furnish: Callable[[Path], Launch],
    reader: Reader,
    *,
    log: Callable[[bytes], None] | None = None,
    judge: Judge | None = None,
) -> Rollout:
    """Lay out a private folder with `furnish`, run the client, remove the folder, and return the rollout.

    `furnish` gets the new folder, in which `home` and `tmp` exist, and runs in a thread. `log` takes the
    error channel in pieces; `judge` takes the place of `conclude`. Nothing is raised for a failed run: that
    is an outcome.
    """
    started = time.monotonic()
    root = root_of(run.workspace)
    private = make_folder(root.parent, PRIVATE_PREFIX)
    try:
        launch = await asyncio.to_thread(_lay_out, private, furnish, run.staying)
        absent = "" if launch.may_do_without else await find_absent(launch.reach)
        if absent:
            return _failed(run, f"nothing listens at {absent}", Fault.ABSENT, time.monotonic() - started)
        argv = run.sandbox.wrap(
            launch.argv,
            writable=[root, private / "home", private / "tmp", *launch.writable],
            readable=launch.readable,
            cwd=run.workspace,
            reach=launch.reach,
        )
        heard = time.monotonic()

        def note(take: Callable[[bytes], None] | None, data: bytes) -> None:
            nonlocal heard
            heard = time.monotonic()
            if take is not None:
                take(data)

        async with Gate(reader, run.limits) as gate:
            command = add_gate(argv, gate.address, is_alone=launch.is_alone)
            try:
                finished = await process.run(
                    command,
                    cwd=run.workspace,
                    env=launch.env,
                    seconds=run.limits.seconds,
                    stdin=launch.stdin,
                    keep_bytes=20_000,
                    flood_bytes=_FLOOD_BYTES,
                    on_stdout=partial(note, reader.feed),
                    on_stderr=partial(note, log),
                    enough=lambda: reader.over(run.limits),
                    stop=gate.stop,
                    is_sealed=launch.is_alone,
                    bounds=Bounds(
                        processes=run.limits.processes,
                        memory_bytes=run.limits.memory_bytes,
                        disk_bytes=run.limits.disk_bytes,
                        folders=(root, private, *launch.writable),
                    ),
                )
            except asyncio.CancelledError:
                if command != argv:
                    _note_cut(reader, gate, run.limits)
                raise
        silent = time.monotonic() - heard
        reading = _read_out(reader, gate, run.limits, is_gated=command != argv)
    except Replaced as error:
        return _failed(run, str(error), Fault.REPLACED, time.monotonic() - started)
    except OSError as error:
        return _failed(
            run, f"{run.program} does not start: {error}", Fault.CLIENT, time.monotonic() - started
        )
    except ReplayError as error:
        return _failed(run, f"no sandbox: {error.message}", Fault.SANDBOX, time.monotonic() - started)
    finally:
        left = await discard(private)
    rollout = _report(run, finished, msgspec.structs.replace(reading, silent_s=silent), judge or conclude)
    return msgspec.structs.replace(rollout, notes=(*rollout.notes, *left))


def _lay_out(private: Path, furnish: Callable[[Path], Launch], staying: Staying) -> Launch:
    staying.require()
    (private / "home").mkdir()
    (private / "tmp").mkdir()
    return furnish(private)


def _read_out(reader: Reader, gate: Gate, limits: Limits, *, is_gated: bool) -> Reading:
    reading = reader.finish()  # while the private folder is there: some clients tell more in its files
    # What went out and was never told of is paid for, as it may be: it was under way at the end, or a
    # tool of the run has kept the client from telling it.
    lost = reading.lost + max(reading.asking, gate.find_untold())
    if is_gated and not gate.was_asked:
        lost = 0  # nothing went out
    largest = let_grow(reading.largest, reading.unread, limits)
    return msgspec.structs.replace(reading, lost=lost, largest=largest)


def _note_cut(reader: Reader, gate: Gate, limits: Limits) -> None:
    """Say what a run that is cut off has used, where it tells that as it goes on."""
    if gate.was_asked and reader.tally().told is None:
        return
    reading = _read_out(reader, gate, limits, is_gated=True)
    if reading.largest.tokens or not reading.lost:
        note_spent(_settle(reading))


def _report(run: Run, finished: process.Finished, reading: Reading, judge: Judge) -> Rollout:
    outcome, error, fault = judge(run.program, finished, reading, run.limits)
    if fault is Fault.REFUSAL:
        # A result, and no lost run: a skill that makes the model refuse must not lose its failures by it.
        outcome, error, fault = Outcome.LIMIT, f"the model refused: {error}", None
    notes = [_say_refused(sorted(set(reading.denied)))] if reading.denied else []
    if reading.skipped:
        notes.append(f"{reading.skipped} lines of the client's output could not be read")
    return Rollout(
        task=run.task.id,
        skill=run.skill.digest if run.skill else "",
        agent=run.agent,
        model=reading.model or run.model,
        outcome=outcome,
        answer=reading.answer,
        calls=reading.calls,
        steps=reading.steps,
        usage=_settle(reading),
        untold=bool(reading.lost) and not reading.largest.tokens,
        seconds=finished.seconds,
        skill_loaded=reading.skill_loaded if run.skill else None,
        error=error,
        fault=fault,
        notes=tuple(notes),
    )


def _say_refused(names: list[str]) -> str:
    more = [f"{len(names) - _MAX_NAMED} more"] if len(names) > _MAX_NAMED else []
    return f"tools refused: {', '.join([*names[:_MAX_NAMED], *more])}"


def _settle(reading: Reading) -> Usage:
    usage = count_lost(reading.usage, reading.largest, reading.lost)
    if not (reading.lost or reading.replied or usage.tokens) and usage.cost_usd is None:
        return msgspec.structs.replace(usage, cost_usd=0.0)  # it was never answered, or was refused
    return usage


def _failed(run: Run, error: str, fault: Fault, seconds: float) -> Rollout:
    return Rollout(
        task=run.task.id,
        skill=run.skill.digest if run.skill else "",
        agent=run.agent,
        model=run.model,
        outcome=Outcome.INFRASTRUCTURE,
        answer="",
        usage=Usage(cost_usd=0.0),
        seconds=seconds,
        error=error,
        fault=fault,
    )
