"""What a rollout costs beyond the bare client: the clone, the sandbox, the checks, the record.

A scripted model on loopback answers at once, so that what is left is the client and we. The bare run is the
same program with the same arguments, environment and a home laid out alike, started in a plain checkout
without a sandbox. Bare runs and rollouts take turns; medians are compared. Then the same with two at a time,
and last two hundred rollouts, after which nothing may be left: no process, no file, no memory.

Elapsed time means something on a quiet machine only; the processor time, of ours and our children, always.

Clients are found through SKILLOPT_TEST_CLAUDE, _CODEX and _COPILOT, else where `make clients` puts them.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from skillopt_replay import process  # noqa: E402
from skillopt_replay.agents import harness  # noqa: E402
from skillopt_replay.agents.claude_cli import find_claude  # noqa: E402
from skillopt_replay.agents.claude_code import ClaudeCode  # noqa: E402
from skillopt_replay.agents.codex import Codex  # noqa: E402
from skillopt_replay.agents.codex_cli import find_codex  # noqa: E402
from skillopt_replay.agents.copilot import Copilot  # noqa: E402
from skillopt_replay.agents.copilot_cli import find_copilot  # noqa: E402
from skillopt_replay.agents.staying import Staying  # noqa: E402
from skillopt_replay.executors.contract import Job, Workbench  # noqa: E402
from skillopt_replay.executors.local import LocalExecutor  # noqa: E402
from skillopt_replay.protocols import Agent, Limits  # noqa: E402
from skillopt_replay.rollouts import Rollout  # noqa: E402
from skillopt_replay.sandbox import Sandbox, choose  # noqa: E402
from skillopt_replay.tasks import Contains, Task  # noqa: E402
from tests.support.scripted_model_server import MockModelServer  # noqa: E402

RUNS = 15
WORKERS = 2
KEY = "sk-fake"
ROUNDS = 7  # of bare runs and of rollouts, two at a time
MANY = 200
FILES, COMMITS = 300, 40
_NATIVE = {
    "claude": ("SKILLOPT_TEST_CLAUDE", "*claude-code-*/claude"),
    "codex": ("SKILLOPT_TEST_CODEX", "*codex-*/bin/codex"),
    "copilot": ("SKILLOPT_TEST_COPILOT", "*copilot-*/copilot"),
}
PLAY = {
    "plays": [
        {"name": "plain", "when": {"user_contains": "greet"}, "steps": [{"do": [{"say": "hello Bob"}]}]}
    ]
}
CODEX_CONFIG = """\
model = "gpt-5.5"
model_provider = "mock"
[model_providers.mock]
name = "mock"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
"""


class Started(NamedTuple):
    """What the client was started with, a copy of the private folder it found, and what it has in memory."""

    argv: list[str]
    env: dict[str, str]
    stdin: bytes
    private: Path
    copy: Path
    memory: Path | None


def find_program(client: str) -> Path | None:
    variable, pattern = _NATIVE[client]
    if os.environ.get(variable):
        return Path(os.environ[variable])
    found = [path for path in (ROOT / ".cache/clients").rglob(pattern) if path.stat().st_size > 1_000_000]
    return found[0] if found else None


def open_agent(client: str, program: Path, url: str, home: Path, sandbox: Sandbox) -> Agent:
    if client == "claude":
        cli = find_claude({"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": url}, program)
        assert cli
        return ClaudeCode(cli, sandbox)
    if client == "codex":
        (home / ".codex").mkdir(parents=True, exist_ok=True)
        (home / ".codex/config.toml").write_text(CODEX_CONFIG.format(url=url))
        codex = find_codex({"HOME": str(home), "MOCK_KEY": KEY}, program)
        assert codex
        return Codex(codex, sandbox)
    env = {
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_API_KEY": KEY,
        "COPILOT_MODEL": "scripted",
    }
    cache = home / "copilot-cache"
    cache.mkdir(parents=True, exist_ok=True)
    copilot = find_copilot(env, program, cache=cache)
    assert copilot
    return Copilot(copilot, sandbox, cache=cache)


def make_project(path: Path) -> Path:
    def git(*arguments: str) -> None:
        env = {"PATH": os.environ["PATH"], "HOME": str(path.parent), "GIT_CONFIG_NOSYSTEM": "1"}
        identity = ["-c", "user.name=Bench", "-c", "user.email=bench@localhost"]
        subprocess.run(
            ["git", "-C", str(path), *identity, *arguments], check=True, capture_output=True, env=env
        )

    path.mkdir()
    git("init", "-q")
    for number in range(FILES):
        file = path / f"src/part{number % 20}/module{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"VALUE = {number}\n" * 40)
    git("add", ".")
    for number in range(COMMITS):
        (path / "CHANGES").write_text(f"{number}\n")
        git("add", ".")
        git("commit", "-q", "-m", f"change {number}")
    return path


def make_task(number: int, project: Path) -> Task:
    return Task(
        id=f"task-{number}", family="f", title="Greet", prompt="Please greet Bob.", sessions=("s",),
        occurrences=1, client="claude", skill="", group="g", checks=(Contains(text="hello Bob"),),
        project=str(project),
    )  # fmt: skip


async def note_start(
    agent: Agent, executor: LocalExecutor, job: Job, folder: Path, memory: Path | None
) -> Started:
    """Make one rollout, and keep what its client was started with."""
    noted: list[Started] = []
    run_process, lay_out = process.run, harness._lay_out
    laid: list[tuple[harness.Launch, Path]] = []

    def note_launch(
        private: Path, furnish: Callable[[Path], harness.Launch], staying: Staying
    ) -> harness.Launch:
        launch = lay_out(private, furnish, staying)
        copy = folder / "private"
        shutil.copytree(private, copy, symlinks=True)
        laid.append((launch, private))
        noted.append(Started(list(launch.argv), launch.env, launch.stdin, private, copy, memory))
        return launch

    harness._lay_out = note_launch
    try:
        check(await executor.run(job))
    finally:
        harness._lay_out, process.run = lay_out, run_process
    return noted[0]


def check(rollout: Rollout) -> None:
    if rollout.score is None or rollout.score.hard != 1.0:
        raise SystemExit(f"a rollout failed: {rollout.error or rollout.answer!r} {rollout.notes}")


def run_bare(started: Started, checkout: Path, number: int) -> float:
    """Return the seconds of the client alone, with a private folder laid out anew."""
    private = started.private.with_name(f"{started.private.name}-{number}")
    shutil.copytree(started.copy, private, symlinks=True)

    def move(text: str) -> str:
        text = text.replace(str(started.private), str(private))
        # What the sandbox keeps in memory for each run, a client has in its home by itself.
        return text.replace(str(started.memory), str(private / "home")) if started.memory else text

    for file in private.rglob("*"):
        if file.is_file() and not file.is_symlink() and file.stat().st_size < 100_000:
            file.write_bytes(os.fsencode(move(os.fsdecode(file.read_bytes()))))
    began = time.perf_counter()
    done = subprocess.run(
        [move(part) for part in started.argv], cwd=checkout, input=started.stdin,
        env={name: move(value) for name, value in started.env.items()},
        capture_output=True, check=False,
    )  # fmt: skip
    seconds = time.perf_counter() - began
    if b"hello Bob" not in done.stdout:
        raise SystemExit(
            f"the bare client failed: {done.stderr.decode()[-500:]} {done.stdout.decode()[-500:]}"
        )
    shutil.rmtree(private)
    return seconds


class Costs(NamedTuple):
    """Seconds of each run: elapsed, and of the processors."""

    elapsed: list[float]
    computed: list[float]


def read_processors() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    ended = sum(one.ru_utime + one.ru_stime for one in used)
    # What runs on, and what has ended below it: the launchers are children of a helper.
    return ended + sum(sum(child.cpu_times()[:4]) for child in psutil.Process().children())


async def compare_one_by_one(
    executor: LocalExecutor, started: Started, project: Path, runs: int
) -> tuple[Costs, Costs]:
    bare, ours = Costs([], []), Costs([], [])
    for number in range(runs):
        before = read_processors()
        bare.elapsed.append(await asyncio.to_thread(run_bare, started, project, number))
        between = read_processors()
        began = time.perf_counter()
        check(await executor.run(Job(task=make_task(number, project), skill=None, limits=Limits())))
        ours.elapsed.append(time.perf_counter() - began)
        bare.computed.append(between - before)
        ours.computed.append(read_processors() - between)
    return bare, ours


async def compare_throughput(
    executor: LocalExecutor, started: Started, project: Path, runs: int
) -> tuple[float, float]:
    """Return rollouts a second, bare and ours, with two at a time: medians of rounds that take turns."""

    async def time_bare() -> None:
        with ThreadPoolExecutor(WORKERS) as pool:
            numbers = range(runs)
            await asyncio.gather(
                *(loop.run_in_executor(pool, run_bare, started, project, number) for number in numbers)
            )

    async def time_ours() -> None:
        await run_many(executor, project, runs)

    loop = asyncio.get_running_loop()
    rates: dict[Any, list[float]] = {time_bare: [], time_ours: []}
    for number in range(ROUNDS):
        for kind in (time_bare, time_ours) if number % 2 else (time_ours, time_bare):
            began = time.perf_counter()
            await kind()
            rates[kind].append(runs / (time.perf_counter() - began))
    return statistics.median(rates[time_bare]), statistics.median(rates[time_ours])


async def run_many(executor: LocalExecutor, project: Path, runs: int) -> None:
    jobs = [Job(task=make_task(number, project), skill=None, limits=Limits()) for number in range(runs)]
    for rollout in await asyncio.gather(*(executor.run(job) for job in jobs)):
        check(rollout)


def measure_left(folder: Path) -> tuple[int, int, float]:
    """Return our children, the entries in our folders, and our memory in MB."""
    me = psutil.Process()
    entries = sum(1 for _ in (folder / "runs").iterdir()) + sum(1 for _ in (folder / "tmp").iterdir())
    return len(me.children(recursive=True)), entries, me.memory_info().rss / 1e6


async def measure(client: str, program: Path, folder: Path, options: Any) -> bool:
    for name in ("runs", "tmp", "home"):
        (folder / name).mkdir(parents=True)
    tempfile.tempdir = str(folder / "tmp")
    project = make_project(folder / "project")
    sandbox = choose("auto")
    server = MockModelServer(PLAY).start()
    agent = open_agent(client, program, server.base_url, folder / "home", sandbox)
    executor = LocalExecutor(Workbench(agent=agent, sandbox=sandbox, root=folder / "runs"), slots=WORKERS)
    try:
        first = Job(task=make_task(0, project), skill=None, limits=Limits())
        check(await executor.run(first))
        started = await note_start(agent, executor, first, folder, sandbox.memory)
        bare, ours = await compare_one_by_one(executor, started, project, options.runs)
        alone, together = (statistics.median(costs.elapsed) * 1e3 for costs in (bare, ours))
        extra, allowed = together - alone, max(50.0, 0.1 * alone)
        fast = extra <= allowed
        # The kernel tells it in steps of 10 ms, so a single run says little.
        spent, own_spent = (statistics.fmean(costs.computed) * 1e3 for costs in (bare, ours))
        print(f"{agent.identity}, {sandbox.name}")
        print(
            f"  one at a time, medians of {options.runs}: bare {alone:.0f} ms, rollout {together:.0f} ms,"
            f" overhead {extra:.0f} ms ({extra / alone:.0%}); allowed {allowed:.0f} ms: {say(fast)}"
        )
        print(f"  processor time: bare {spent:.0f} ms, rollout {own_spent:.0f} ms ({spent / own_spent:.2f})")
        rate, own = await compare_throughput(executor, started, project, options.runs // 2 + 1)
        wide = own >= 0.9 * rate
        print(
            f"  two at a time: bare {rate:.2f}/s, rollouts {own:.2f}/s, ratio {own / rate:.2f}; 0.9 wanted:"
            f" {say(wide)}"
        )
        clean = True
        if options.many:
            await run_many(executor, project, 20)
            _, _, memory = measure_left(folder)
            await run_many(executor, project, options.many)
            grown = measure_left(folder)[2] - memory
            await executor.close()
            children, entries, _ = measure_left(folder)
            clean = not children and not entries and grown < 5
            print(
                f"  {options.many} rollouts: {children} processes and {entries} files left,"
                f" memory {grown:+.1f} MB: {say(clean)}"
            )
        return fast and wide and clean
    finally:
        await executor.close()
        server.stop()


def say(holds: bool) -> str:
    return "met" if holds else "MISSED"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--many", type=int, default=MANY, help="rollouts of the last part; 0 leaves it out")
    parser.add_argument("--client", action="append", choices=sorted(_NATIVE), help="only this one")
    options = parser.parse_args()
    met = []
    for client in options.client or _NATIVE:
        program = find_program(client)
        if program is None:
            print(f"{client}: not installed (make clients)")
            continue
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            met.append(asyncio.run(measure(client, program, Path(folder), options)))
            tempfile.tempdir = None
    if not met:
        raise SystemExit("no client is installed: make clients")
    sys.exit(0 if all(met) else 1)


if __name__ == "__main__":
    main()
