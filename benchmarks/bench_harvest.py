"""How fast transcripts are read, against plain json.loads on the same lines, and with how much memory.

Prints MB/s of both, their ratio, and the peak memory for a small and a large corpus (made up, in a
temporary folder). Absolute numbers depend on the machine; the ratio and the memory should not.
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
import uuid
from pathlib import Path

from skillopt_harvesters import SOURCES, harvest, mine

ASKS = [
    "Write the SQL query: {}",
    "add a changelog entry for {}",
    "fix the failing test around {}",
    "document {}",
]
THINGS = ["the invoice export", "retry queue", "login form", "the audit log", "price cache", "tax rules"]
VOCABULARY = "def class return await with config client response token cache queue retry schema index total"
WORDS = VOCABULARY.split()


def make_corpus(root: Path, megabytes: int, seed: int = 7) -> int:
    """Write sessions of mixed sizes until `megabytes` MB are there; returns the bytes written."""
    rng = random.Random(seed)
    written = 0
    number = 0
    while written < megabytes * 1_000_000:
        number += 1
        path = root / "projects" / f"-home-dev-p{number % 8}" / f"{uuid.UUID(int=rng.getrandbits(128))}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            for record in make_session(rng, path.stem, rng.randint(4, 60)):
                written += file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")
    return written


def make_session(rng: random.Random, session: str, calls: int):
    parent = None
    for index in range(calls * 3 + 1):
        record = {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/dev/p",
            "sessionId": session,
            "version": "2.1.332",
            "gitBranch": "main",
            "entrypoint": "cli",
            "uuid": str(uuid.UUID(int=rng.getrandbits(128))),
            "timestamp": f"2026-11-{index % 28 + 1:02d}T10:00:00.000Z",
        }
        parent = record["uuid"]
        tool = f"toolu_{index // 3}"
        if index == 0:
            record |= user(rng.choice(ASKS).format(rng.choice(THINGS)))
        elif index % 3 == 1:
            call = {
                "type": "tool_use",
                "id": tool,
                "name": "Bash",
                "input": {"command": "grep -rn token src"},
            }
            record |= agent(rng, call)
        elif index % 3 == 2:
            text = prose(rng, rng.choice([400, 4000, 24000]))
            tool = f"toolu_{(index - 1) // 3}"
            record |= user([{"type": "tool_result", "tool_use_id": tool, "content": text}])
            record["toolUseResult"] = {"stdout": text, "stderr": "", "interrupted": False}
        else:
            record |= agent(rng, {"type": "text", "text": prose(rng, 600)})
        yield record
        if index % 5 == 0:
            yield {"type": "api-request", "sessionId": session, "shapeHash": "x", "params": prose(rng, 3000)}


def user(content) -> dict:
    return {"type": "user", "message": {"role": "user", "content": content}}


def agent(rng: random.Random, block: dict) -> dict:
    usage = {"input_tokens": rng.randint(5, 4000), "output_tokens": rng.randint(20, 1500)}
    message = {"id": f"msg_{rng.getrandbits(64):x}", "model": "m", "role": "assistant", "usage": usage}
    return {"type": "assistant", "message": message | {"content": [block]}}


def prose(rng: random.Random, length: int) -> str:
    start = rng.randint(0, 50)
    return "\n".join(f"{start + n:6d}\t{' '.join(rng.choices(WORDS, k=8))}" for n in range(length // 55 + 1))


def run_child(what: str, root: Path) -> tuple[float, float]:
    """Return (seconds, peak MB) of one way to read the corpus, in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--child", what, str(root)], capture_output=True, text=True, check=True
    )
    seconds, peak = done.stdout.split()
    return float(seconds), float(peak)


def child(what: str, root: Path) -> None:
    start = time.process_time()
    if what == "harvest":
        work = harvest(SOURCES.values(), {}, env={"CLAUDE_CONFIG_DIR": str(root)}, home=root)
        turns = sum(len(one.session.turns) for one in work if one.session)
        assert turns
        assert work.stats.skipped == 0
    elif what == "mine":
        work = harvest(SOURCES.values(), {}, env={"CLAUDE_CONFIG_DIR": str(root)}, home=root)
        assert mine(one.session for one in work if one.session)
    else:
        for path in sorted(root.rglob("*.jsonl")):
            with path.open("rb") as file:
                for line in file:
                    json.loads(line)
    seconds = time.process_time() - start
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", type=int, default=50, help="MB of the small corpus")
    parser.add_argument("--large", type=int, default=200, help="MB of the large corpus")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child[0], Path(options.child[1]))
        return
    with tempfile.TemporaryDirectory(prefix="bench-harvest-") as folder:
        peaks = []
        for size in (options.small, options.large):
            root = Path(folder) / str(size)
            megabytes = make_corpus(root, size) / 1e6
            plain, _ = run_child("json", root)
            ours, peak = run_child("harvest", root)
            mined, mine_peak = run_child("mine", root)
            peaks.append(peak)
            print(
                f"{megabytes:6.0f} MB: harvest {megabytes / ours:6.0f} MB/s, "
                f"json.loads {megabytes / plain:6.0f} MB/s, ratio {plain / ours:4.1f}; "
                f"peak {peak:.0f} MB; with mining {megabytes / mined:.0f} MB/s, {mine_peak:.0f} MB"
            )
        print(f"peak memory, large / small corpus: {peaks[1] / peaks[0]:.2f}")


if __name__ == "__main__":
    main()
