#!/usr/bin/env python3
"""How well recurring asks are found again, and what that takes.

    python benchmarks/bench_families.py quality
    python benchmarks/bench_families.py scale 10000 100000

`quality` plants families (in corpora of benchmarks/corpus.py, and in the worlds of tests/harvesters/planted)
and prints B-cubed and pairwise precision and recall of the clusters that are found, the share of asks that
are in their family's largest cluster, and the families that were split or merged; then the same of the asks
that were written by hand. Seeds up to 70 were looked at while this was built, the later ones were not.
`scale` mines made-up sessions of one ask each, all worded differently, in a process of its own, and prints
seconds and peak memory.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from skillopt_harvesters import SOURCES, Kind, Session, Turn, mine, read_file  # noqa: E402
from skillopt_harvesters.asks import find_asks  # noqa: E402
from skillopt_harvesters.grouping import Cluster, group  # noqa: E402
from tests.harvesters.asked import ask  # noqa: E402
from tests.harvesters.planted.handwritten import ALONE, FAMILIES  # noqa: E402
from tests.harvesters.planted.held_out import HELD_OUT  # noqa: E402
from tests.harvesters.planted.make import make  # noqa: E402
from tests.harvesters.planted.score import score  # noqa: E402
from tests.harvesters.planted.workshop import WORKSHOP  # noqa: E402

_UNSEEN = range(101, 106)

Truth = dict[tuple[str, int], "str | None"]


def read_corpus(files: int, seed: int) -> tuple[list[Session], Truth]:
    """Return the sessions of a generated corpus that a person led, and the family of each one's first ask."""
    with tempfile.TemporaryDirectory() as folder:
        size = ["--files", str(files), "--mb", str(files * 0.002), "--sidechains", "20"]
        command = [sys.executable, str(HERE / "corpus.py"), "--out", folder, "--seed", str(seed), *size]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        sessions: list[Session] = []
        truth: Truth = {}
        for one in json.loads((Path(folder) / "truth.json").read_text())["sessions"]:
            if one["kind"] == "headless":
                continue
            for reading in read_file(SOURCES["claude"], Path(folder) / one["file"]):
                if reading.session is not None:
                    sessions.append(reading.session)
                    first = next(find_asks(reading.session))
                    truth[first.session, first.turn] = one["family"]
        return sessions, truth


def tell(name: str, clusters: list[Cluster], truth: Truth) -> None:
    pairs = [
        (truth[one.session, one.turn] or (one.session, one.turn), number)
        for number, cluster in enumerate(clusters)
        for one in cluster.asks
        if (one.session, one.turn) in truth
    ]
    planted = {family for family in truth.values() if family}
    where = {family: {n for f, n in pairs if f == family} for family in planted}
    what = {number: {f for f, n in pairs if n == number and isinstance(f, str)} for _, number in pairs}
    split = sum(len(numbers) > 1 for numbers in where.values())
    merged = sum(len(families) > 1 for families in what.values())
    found = sum(bool(numbers) for numbers in where.values())
    largest = sum(Counter(n for f, n in pairs if f == family).most_common(1)[0][1] for family in planted)
    total = sum(isinstance(family, str) for family, _ in pairs)
    figures = "  ".join(f"{figure:.3f}" for figure in score(pairs))
    figures += f"  {largest / max(total, 1):.3f}"
    print(f"{name:24}{figures}   {found}/{len(planted)} found, {split} split, {merged} clusters of several")


def measure_quality() -> None:
    print(f"{'':24}B-cubed P  R    pairs P  R    largest")
    for files in (100, 300, 1000, 2000):
        for seed in (7, 8, 9, *_UNSEEN):
            sessions, truth = read_corpus(files, seed)
            tell(f"corpus {files}, seed {seed}", group(a for s in sessions for a in find_asks(s)), truth)
    for name, world in (("workshop", WORKSHOP), ("held out", HELD_OUT)):
        for count in (100, 300, 1000, 2000):
            for seed in (1, 2, 3, *_UNSEEN):
                made = make(world, count, seed)
                tell(
                    f"{name} {count}, seed {seed}",
                    group(a for s in made.sessions for a in find_asks(s)),
                    made.truth,
                )

    truth = {prompt: family for family, prompts in FAMILIES.items() for prompt in prompts}
    for seed in (1, 2, 3):
        prompts = [*truth, *ALONE]
        random.Random(seed).shuffle(prompts)
        asks = [ask(prompt, number) for number, prompt in enumerate(prompts)]
        named: Truth = {(one.session, 0): truth.get(one.prompt) for one in asks}
        tell(f"by hand, order {seed}", group(asks), named)


def make_sessions(count: int) -> Iterator[Session]:
    """Yield sessions of one ask each: a few hundred templates, values that never come back."""
    rng = random.Random(1)
    verbs = "add write fix explain review profile move port split document rename check".split()
    things = [
        f"{a}{b}" for a in ("log", "queue", "cache", "form", "index", "token") for b in ("", "s", "er", "ing")
    ]
    kinds = [f"{rng.choice(verbs)} the {rng.choice(things)} {rng.choice(things)} of {{}}" for _ in range(300)]
    for number in range(count):
        value = "-".join(rng.choice(things) for _ in range(2)) + f" {rng.randrange(count):x}y"
        started = f"20{number // 100000 + 20:02}-01-{number // 5000 % 28 + 1:02}T{number % 5000:05}"
        yield Session(
            id=f"s{number}",
            client="claude",
            client_version="2",
            kind=Kind.HUMAN,
            path=f"/t/{number}.jsonl",
            project=f"/p{number % 8}",
            started=started,
            turns=(Turn(prompt=rng.choice(kinds).format(value), answer="Done.", started=started),),
        )


def measure_scale(counts: list[int]) -> None:
    for count in counts:
        command = [sys.executable, __file__, "scale-one", str(count)]
        print(subprocess.run(command, check=True, capture_output=True, text=True).stdout, end="")


def measure_one(count: int) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    tasks = mine(make_sessions(count))
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{count:7} asks: {seconds:6.1f} s, {1000 * seconds / count:.2f} ms each, peak {peak // 1024} MiB"
        f" (before {before // 1024}), {len(tasks)} tasks of {len({t.family for t in tasks})} families"
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("what", choices=["quality", "scale", "scale-one"])
    arguments.add_argument("counts", nargs="*", type=int, default=[10_000, 100_000])
    given = arguments.parse_args()
    if given.what == "quality":
        measure_quality()
    elif given.what == "scale":
        measure_scale(given.counts)
    else:
        measure_one(given.counts[0])


if __name__ == "__main__":
    main()
