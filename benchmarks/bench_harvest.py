"""How fast and how large a harvest is, with its index written, against a plain json.loads reader.

Makes corpora up in a temporary folder (corpus.py, corpus_others.py), and removes each when it was measured.
Both readers run in processes of their own, on one core; seconds are CPU seconds. Absolute numbers depend on
the machine; the ratios, the memory and the number of opened files should not. A ratio above 1 says that the
harvest took less time than decoding every line alone. "Large" and "small" are the tool results in records,
and with them the records; "tiny prompts" is a file of prompts of two words that nobody answered.

    python benchmarks/bench_harvest.py            # under a minute
    python benchmarks/bench_harvest.py --full     # up to 4 GB, 10,000 files, 5 million prompts in one file
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
# What the generator takes for its largest tool result: records of 7 KB on average, or of 1 KB.
LARGE, SMALL = 24_000, 400
# The same for other clients, whose records have more around the results.
OTHERS = {"large": 8_000, "small": 400}
QUICK = {
    "corpora": ((500, 200),),
    "small": ((500, 100),),
    "others": ((300, 60),),
    "single": 200,
    "prompts": 200_000,
    "files": 2_000,
}
FULL = {
    "corpora": ((500, 200), (500, 2_000), (1_000, 4_000)),
    "small": ((500, 200), (500, 2_000), (1_000, 4_000)),
    "others": ((300, 60), (500, 1_000)),
    "single": 2_000,
    "prompts": 5_000_000,
    "files": 10_000,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="measure at full size (takes some minutes)")
    parser.add_argument(
        "--repeat", type=int, default=3, help="take the best of so many runs (corpora under 1 GB)"
    )
    parser.add_argument(
        "--folder", type=Path, help="where to make the corpora (default: the temporary folder)"
    )
    parts = ["corpora", "others", "single", "prompts", "files"]
    parser.add_argument("--only", choices=parts, help="only this part")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child[0], Path(options.child[1]), Path(options.child[2]))
        return
    sizes = FULL if options.full else QUICK
    with tempfile.TemporaryDirectory(prefix="bench-harvest-", dir=options.folder) as name:
        root = Path(name)
        check_room(root, max(mb for _, mb in sizes["corpora"]))
        if options.only != "files":
            print(ROW.format("corpus", "files", "MB", "json.loads", "harvest", "ratio", "peak", "database"))
        if options.only in {None, "corpora"}:
            for label, result, shapes in (("large", LARGE, "corpora"), ("small", SMALL, "small")):
                for files, mb in sizes[shapes]:
                    with corpus(root, files=files, mb=mb, result_max=result) as home:
                        measure(f"{label} records", home, root, 1 if mb >= 1_000 else options.repeat)
        if options.only in {None, "others"}:
            for client, size in ((client, size) for client in ("codex", "copilot") for size in OTHERS):
                for files, mb in sizes["others"]:
                    with others(root, client, files=files, mb=mb, result_max=OTHERS[size]) as home:
                        measure(f"{client} {size}", home, root, 1 if mb >= 1_000 else options.repeat)
        if options.only in {None, "single"}:
            with corpus(root, files=1, mb=sizes["single"], result_max=LARGE) as home:
                measure("one file", home, root, 1)
        if options.only in {None, "prompts"}:
            with prompts(root, sizes["prompts"]) as home:
                measure("tiny prompts", home, root, 1)
        if options.only in {None, "files"}:
            with corpus(root, files=sizes["files"], mb=sizes["files"] / 50, result_max=SMALL) as home:
                measure_again(home, root)


HOMES = {"claude": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME", "copilot": "COPILOT_HOME"}
ROW = "{:14} {:>6} {:>6} {:>13} {:>13} {:>6} {:>8} {:>9}"


def check_room(root: Path, mb: int) -> None:
    needed = mb * 1.3e6 + 2e9
    free = shutil.disk_usage(root).free
    if free < needed:
        sys.exit(f"{root} has {free / 1e9:.1f} GB of room, and {needed / 1e9:.1f} are needed: use --folder")


@contextmanager
def corpus(root: Path, *, files: int, mb: float, result_max: int) -> Iterator[Path]:
    """Make a corpus and remove it afterwards; gives what CLAUDE_CONFIG_DIR is to be."""
    home = root / "claude"
    command = [sys.executable, HERE / "corpus.py", "--out", home, "--files", files, "--mb", mb]
    subprocess.run(
        [*map(str, command), "--result-max", str(result_max), "--sidechains", str(files // 10)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    try:
        yield home
    finally:
        shutil.rmtree(home)


@contextmanager
def others(root: Path, client: str, *, files: int, mb: float, result_max: int) -> Iterator[Path]:
    """Make a corpus of another client and remove it afterwards; gives what its home variable is to be."""
    home = root / client
    command = [sys.executable, HERE / "corpus_others.py", "--client", client, "--out", home, "--files", files]
    subprocess.run([*map(str, command), "--mb", str(mb), "--result-max", str(result_max)], check=True)
    try:
        yield home
    finally:
        shutil.rmtree(home)


@contextmanager
def prompts(root: Path, count: int) -> Iterator[Path]:
    """Make one session of very many prompts of a few words, none of them answered."""
    home = root / "claude"
    folder = home / "projects" / "-p"
    folder.mkdir(parents=True)
    line = (
        '{{"parentUuid":"{0:08x}-0000-4000-8000-{0:012x}","isSidechain":false,"cwd":"/p","sessionId":"s",'
        '"type":"user","message":{{"role":"user","content":"ask {1}"}},'
        '"uuid":"{1:08x}-0000-4000-8000-{1:012x}","timestamp":"2026-11-01T10:00:00.000Z"}}\n'
    )
    with (folder / "s.jsonl").open("w") as file:
        for number in range(count):
            file.write(line.format(number, number + 1))
    try:
        yield home
    finally:
        shutil.rmtree(home)


def transcripts(home: Path) -> list[Path]:
    """Return the transcripts below a client's home, and not the history that may lie beside them."""
    return sorted(path for path in home.rglob("*.jsonl") if path.parent != home)


def measure(label: str, home: Path, root: Path, repeat: int) -> None:
    files = transcripts(home)
    size = sum(path.stat().st_size for path in files)
    plain, ours, peak, database = [], [], 0.0, 0
    for number in range(repeat):
        # By turns, so that what else the machine does hits both.
        plain.append(run_child("json", home, root)["seconds"])
        state = root / f"{number}.db"
        told = run_child("harvest", home, state)
        ours.append(told["seconds"])
        peak = max(peak, told["peak_mb"])
        database = state.stat().st_size
        state.unlink()
    fast, ratio = size / min(ours) / 1e6, min(plain) / min(ours)
    cells = f"{size / min(plain) / 1e6:.0f} MB/s", f"{fast:.0f} MB/s", f"{ratio:.2f}"
    print(
        ROW.format(
            label, len(files), f"{size / 1e6:.0f}", *cells, f"{peak:.0f} MB", f"{database / 1e6:.1f} MB"
        ),
        flush=True,
    )


def measure_again(home: Path, root: Path) -> None:
    """Harvest, harvest again, append a line to one file and harvest again."""
    state = root / "again.db"
    files = transcripts(home)
    first = run_child("harvest", home, state)
    second = run_child("watched", home, state)
    with files[len(files) // 2].open("ab") as file:
        file.write(files[0].read_bytes().splitlines(keepends=True)[-1])
    third = run_child("watched", home, state)
    print(f"\n{len(files)} files of {sum(path.stat().st_size for path in files) / 1e6:.0f} MB")
    for label, told in (("cold", first), ("unchanged", second), ("one line appended", third)):
        print(
            f"{label:18} {told['wall']:6.2f} s ({told['seconds']:.2f} s CPU), "
            f"{told['opened'] if told is not first else len(files)} files opened, {told['bytes']} bytes read"
        )
    env = {"PATH": os.environ["PATH"], "HOME": str(root), "CLAUDE_CONFIG_DIR": str(home)}
    command = [sys.executable, "-m", "skillopt_sleep", "harvest", "--json"]
    for label in ("first", "second"):
        began = time.monotonic()
        subprocess.run(
            command,
            env=env | {"SKILLOPT_SLEEP_HOME": str(root / "app")},
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        took = time.monotonic() - began
        print(f"{label} `skillopt-sleep harvest`, with the start of the program: {took:.2f} s")


def run_child(what: str, home: Path, state: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--child", what, str(home), str(state)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told: dict[str, float] = json.loads(done.stdout)
    return told


def child(what: str, home: Path, state: Path) -> None:
    opened: list[str] = []
    if what == "json":
        began = time.process_time()
        for path in transcripts(home):
            with path.open("rb") as file:
                for line in file:
                    json.loads(line)
        print(json.dumps({"seconds": time.process_time() - began}))
        return
    from skillopt_sleep.night.harvesting import update_index
    from skillopt_sleep.store.database import connect

    connection = connect(state)
    if what == "watched":
        sys.addaudithook(
            lambda event, args: (
                opened.append(args[0]) if event == "open" and str(args[0]).endswith(".jsonl") else None
            )
        )
    wall, began = time.monotonic(), time.process_time()
    report = update_index(connection, {HOMES[home.name]: str(home), "HOME": str(home)})
    told = {
        "seconds": time.process_time() - began,
        "wall": time.monotonic() - wall,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "opened": len(opened),
        "bytes": report.bytes_read,
    }
    connection.close()
    assert not [told for told in report.warnings if "left out" not in told], report.warnings
    # Both readers are to have read the same.
    assert what == "watched" or report.bytes_read == sum(path.stat().st_size for path in transcripts(home))
    print(json.dumps(told))


if __name__ == "__main__":
    main()
