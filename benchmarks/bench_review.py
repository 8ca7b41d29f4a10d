"""What the review takes: first picture and memory with 200 proposals, a diff of 5,000 lines, apply at scale.

First pictures are told beside an empty Textual app started in the same run; the repository that apply works
in has 50,000 files, and git's own `status` there is told beside it.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from difflib import SequenceMatcher
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

ROUNDS = 5
SIZE = (120, 36)
EMPTY = "empty"
FULL = "200 proposals"
LONG = "5,000 lines"
FILES = 50_000


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(asyncio.run(start(sys.argv[1]))))
        return
    found: dict[str, list[dict[str, float]]] = {EMPTY: [], FULL: [], LONG: []}
    with tempfile.TemporaryDirectory() as state:
        os.environ["SKILLOPT_SLEEP_HOME"] = state
        fill_store()
        for _ in range(ROUNDS):
            for name, runs in found.items():
                runs.append(measure(name))
    for name, runs in found.items():
        shown = statistics.median(run["shown"] for run in runs)
        memory = statistics.median(run["memory"] for run in runs)
        cpu = statistics.median(run["cpu"] for run in runs)
        print(f"{name}: first picture {shown:.2f} s ({cpu:.2f} s of a processor), {memory:.0f} MB at most")
    pages = statistics.median(run["page"] for run in found[LONG])
    print(f"{LONG}: {pages * 1000:.1f} ms a page while scrolling")
    compare_documents()
    apply_at_scale()


def measure(name: str) -> dict[str, float]:
    started = time.perf_counter()
    done = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    # Leaving the app is not part of showing it, and neither is what is done after.
    return {**found, "shown": time.perf_counter() - started - found.pop("after")}


async def start(name: str) -> dict[str, float]:
    """Start an app and wait for its first full picture; return the seconds after it, and memory in MB.

    `cpu` are the seconds of processor time until then, which other work on the machine does not change.
    """
    page = 0.0
    if name == EMPTY:
        from textual.app import App

        async with App[None]().run_test(size=SIZE) as pilot:
            await pilot.pause()
            shown, cpu = time.perf_counter(), time.process_time()
    else:
        from skillopt_sleep.review.app import ReviewApp
        from skillopt_sleep.review.screenshot import settle

        app = ReviewApp(make_desk(name))
        async with app.run_test(size=SIZE) as pilot:
            await settle(pilot)
            shown, cpu = time.perf_counter(), time.process_time()
            if name == LONG:
                page = await scroll(app)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"after": time.perf_counter() - shown, "memory": memory, "page": page, "cpu": cpu}


async def scroll(app) -> float:
    """Page through the whole diff; return the seconds a page took to be drawn."""
    from skillopt_sleep.review.diff_view import DiffView

    view = app.query_one(DiffView)
    height = view.scrollable_content_region.height
    began = time.perf_counter()
    pages = 0
    for top in range(0, view.virtual_size.height, height):
        view.scroll_to(y=top, animate=False, immediate=True)
        for line in range(height):
            view.render_line(line)
        pages += 1
    return (time.perf_counter() - began) / pages


def fill_store() -> None:
    """Put 200 proposals into the database, each with twelve tasks and whole transcripts of them."""
    from msgspec.structs import replace

    from skillopt_sleep.night.transcripts import LONGEST
    from skillopt_sleep.paths import locate
    from skillopt_sleep.store.database import connect, transaction
    from skillopt_sleep.store.proposals import save_proposal
    from tests.support.proposals import COMMIT_TASKS, proposal

    told = ("$ make check\nok\n" * LONGEST)[:LONGEST]
    tasks = tuple(
        replace(COMMIT_TASKS[number % len(COMMIT_TASKS)], task=f"t{number}", before=told, after=told)
        for number in range(12)
    )
    connection = connect(locate().database)
    with transaction(connection):
        for number in range(200):
            made = proposal(f"skill-{number}", tasks=tasks)
            save_proposal(connection, made, action="stage", detail="x")
    connection.close()


def make_desk(name: str):
    from skillopt_sleep.desk import StoreDesk
    from skillopt_sleep.paths import locate
    from tests.support.proposals import MemoryDesk, proposal

    if name == FULL:
        return StoreDesk(locate())
    old = [
        f"- rule {number}: do the {number % 7} thing, and tell the user about `it` when it is **done**\n"
        for number in range(5000)
    ]
    new = [rule.replace("do the", "never do the") if place % 2 else rule for place, rule in enumerate(old)]
    return MemoryDesk([proposal(base_text="".join(old), text="".join(new), edits=())])


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


def apply_at_scale() -> None:
    """Stage, apply and revert in a repository of 50,000 files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / ".gitconfig").write_text("[user]\n\tname = Bench\n\temail = bench@localhost\n")
        os.environ |= {
            "HOME": name,
            "GIT_CONFIG_GLOBAL": str(folder / ".gitconfig"),
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        root = folder / "project"
        live = root / ".claude/skills/tidy/SKILL.md"
        live.parent.mkdir(parents=True)
        base = "---\nname: tidy\ndescription: Tidy.\n---\n\nOne.\n\nTwo.\n"
        live.write_text(base)
        for number in range(FILES):
            file = root / f"src/{number // 250}/{number}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{number}\n")
        git(root, "init", "-q")
        git(root, "add", ".")
        git(root, "commit", "-q", "-m", "first")
        from skillopt_staging.apply import apply, revert
        from skillopt_staging.branches import stage

        times: dict[str, list[float]] = {"stage": [], "apply": [], "revert": [], "git status": []}
        for number in range(ROUNDS):
            values = {
                "branch": f"skillopt/{number}", "path": ".claude/skills/tidy/SKILL.md", "message": "x",
                "note": "{}", "text": base.replace("One", f"One {number}"), "live": live,
            }  # fmt: skip
            staged = timed(times["stage"], lambda values=values: stage(root, **values))
            applied = timed(times["apply"], lambda staged=staged: apply(staged))
            timed(times["git status"], lambda: git(root, "status", "--porcelain"))
            timed(times["revert"], lambda staged=staged, applied=applied: revert(staged, applied))
        for name_, taken in times.items():
            print(f"{name_} among {FILES:,} files: {statistics.median(taken):.2f} s")


def timed(into: list[float], call):
    started = time.perf_counter()
    result = call()
    into.append(time.perf_counter() - started)
    return result


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True)


if __name__ == "__main__":
    main()
