"""How long the review takes to show 200 proposals, against an empty Textual app started in the same run.

Also compares a document of 5,000 lines, against difflib's own matching of the same lines.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from difflib import SequenceMatcher
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

ROUNDS = 5
SIZE = (120, 36)
EMPTY = "empty"
FULL = "200 proposals"


def main() -> None:
    if len(sys.argv) > 1:
        print(asyncio.run(start(sys.argv[1])))
        return
    times: dict[str, list[float]] = {EMPTY: [], FULL: []}
    for _ in range(ROUNDS):
        for name, found in times.items():
            found.append(measure(name))
    empty, full = (statistics.median(times[name]) for name in (EMPTY, FULL))
    print(f"first paint, process start included: {EMPTY} app {empty:.2f} s, {FULL} {full:.2f} s")
    print(f"ratio {full / empty:.2f}")
    compare_documents()


def measure(name: str) -> float:
    started = time.perf_counter()
    done = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True, check=True)
    # Leaving the app is not part of showing it.
    return time.perf_counter() - started - float(done.stdout)


async def start(name: str) -> float:
    """Start an app, wait for its first full picture, and return the seconds that leaving it took."""
    if name == EMPTY:
        from textual.app import App

        async with App[None]().run_test(size=SIZE) as pilot:
            await pilot.pause()
            shown = time.perf_counter()
        return time.perf_counter() - shown
    from skillopt_sleep.review.app import ReviewApp
    from skillopt_sleep.review.screenshot import settle
    from tests.support.proposals import MemoryDesk, proposal

    desk = MemoryDesk([proposal(f"skill-{number}") for number in range(200)])
    async with ReviewApp(desk).run_test(size=SIZE) as pilot:
        await settle(pilot)
        shown = time.perf_counter()
    return time.perf_counter() - shown


def compare_documents() -> None:
    from skillopt_sleep.review.difference import compare

    rules = [f"- rule {number}: do the {number % 7} thing\n" for number in range(5000)]
    spaced = [rule if number % 3 else "\n" for number, rule in enumerate(rules)]
    for name, old in (("5,000 different lines", rules), ("5,000 lines, each third blank", spaced)):
        new = list(old)
        new[1::20] = [line.replace("do the", "never do the") for line in old[1::20]]
        started = time.perf_counter()
        difference = compare("".join(old), "".join(new))
        took = time.perf_counter() - started
        started = time.perf_counter()
        SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        bare = time.perf_counter() - started
        print(f"{name}, {len(difference.parts)} hunks: {took:.2f} s; difflib alone {bare:.2f} s")


if __name__ == "__main__":
    main()
