"""What the daemon costs while nothing happens, how soon it reads one new line, and how long `status` takes.

python benchmarks/bench_daemon.py [--files 10000] [--seconds 300]

Everything lies in a temporary home; nothing of the user's is read, and no service manager is spoken to. The
load of the machine is printed beside the figures: on a busy one they say little about seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

import psutil

LINES = 8
STARTS = 21
PATIENCE_S = 300.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=300.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-daemon-") as folder:
        home = Path(folder)
        env = make_env(home)
        files = write_transcripts(home / ".claude" / "projects", options.files)
        for name, command in (("--help", ["--help"]), ("status", ["status"])):
            measure_start(name, command, env)
        measure_daemon(files, env, options.seconds)
    loads = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    print(f"load of the machine: {loads} on {os.cpu_count()} cores")


def make_env(home: Path) -> dict[str, str]:
    return {
        "PATH": os.defpath,
        "HOME": str(home),
        "SKILLOPT_SLEEP_HOME": str(home / "state"),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "CODEX_HOME": str(home / ".codex"),
        "COPILOT_HOME": str(home / ".copilot"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local/share"),
    }


def write_transcripts(root: Path, number: int) -> list[Path]:
    files = []
    for index in range(number):
        session = str(uuid.UUID(int=index + 1))
        path = root / f"-home-dev-project-{index % 100}" / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(make_line(session, f"Make the report of week {index}"))
        files.append(path)
    return files


def make_line(session: str, prompt: str) -> str:
    record = {
        "type": "user",
        "uuid": str(uuid.uuid4()),
        "sessionId": session,
        "timestamp": "2026-01-01T00:00:00.000Z",
        "cwd": "/home/dev/project",
        "version": "2.1.332",
        "isSidechain": False,
        "userType": "external",
        "entrypoint": "cli",
        "message": {"role": "user", "content": prompt},
    }
    return json.dumps(record) + "\n"


def command(*arguments: str) -> list[str]:
    script = Path(sys.executable).with_name("skillopt-sleep")
    return (
        [str(script), *arguments] if script.exists() else [sys.executable, "-m", "skillopt_sleep", *arguments]
    )


def measure_start(name: str, arguments: list[str], env: dict[str, str]) -> None:
    walls, cpus = [], []
    for _ in range(STARTS):
        before = os.times()
        started = time.perf_counter()
        subprocess.run(command(*arguments), env=env, stdout=subprocess.DEVNULL, check=True)
        walls.append(time.perf_counter() - started)
        after = os.times()
        cpus.append(
            after.children_user + after.children_system - before.children_user - before.children_system
        )
    told = f"median {1000 * statistics.median(walls):.0f} ms, best {1000 * min(walls):.0f} ms"
    print(f"{name}: {told} wall; median {1000 * statistics.median(cpus):.0f} ms of CPU ({STARTS} starts)")


def measure_daemon(files: list[Path], env: dict[str, str], seconds: float) -> None:
    process = subprocess.Popen(
        command("daemon", "--console"), env=env, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    lines: queue.Queue[tuple[float, str]] = queue.Queue()

    def read() -> None:
        for line in process.stderr or ():
            lines.put((time.perf_counter(), line))

    threading.Thread(target=read, daemon=True).start()
    daemon = psutil.Process(process.pid)
    try:
        wait_until_settled(daemon)
        reactions = [react(files[index * 7], lines) for index in range(LINES)]
        wait_until_settled(daemon)
        before = daemon.cpu_times()
        time.sleep(seconds)
        after = daemon.cpu_times()
        memory = daemon.memory_full_info()
    finally:
        process.terminate()
        process.wait(30)
    used = after.user + after.system - before.user - before.system
    print(
        f"idle with {len(files):,} files for {seconds:.0f} s: {used:.2f} s of CPU,"
        f" {100 * used / seconds:.3f} % of a core;"
        f" memory {memory.rss / 2**20:.1f} MB resident, {memory.uss / 2**20:.1f} MB of it its own"
    )
    soon = [took for took, _ in reactions]
    read_files = {number for _, number in reactions}
    print(
        f"one appended line: read after {statistics.median(soon):.2f} s (median of {LINES};"
        f" {min(soon):.2f} to {max(soon):.2f}); files read: {', '.join(map(str, sorted(read_files)))}"
    )


def react(path: Path, lines: queue.Queue[tuple[float, str]]) -> tuple[float, int]:
    """Append a line when the daemon has rested; return when it was read, in seconds, and how many files."""
    time.sleep(12)
    while not lines.empty():
        lines.get()
    with path.open("a") as file:
        file.write(make_line(path.stem, "And once more"))
    appended = time.perf_counter()
    while True:
        at, line = lines.get(timeout=PATIENCE_S)
        if " indexed " in line:
            return at - appended, int(line.partition("files=")[2].split()[0])


def wait_until_settled(daemon: psutil.Process) -> None:
    """Wait until the daemon has no child and has used no time for a while."""
    deadline = time.monotonic() + PATIENCE_S
    quiet = 0
    last = sum(daemon.cpu_times()[:2])
    while quiet < 4 and time.monotonic() < deadline:
        time.sleep(1.5)
        now = sum(daemon.cpu_times()[:2])
        quiet = quiet + 1 if now - last < 0.05 and not daemon.children() else 0
        last = now


if __name__ == "__main__":
    main()
