"""Tokens per second of a local model at 1, 2 and 4 requests at once, and what a demo's night would take.

usage: python benchmarks/bench_local_model.py [MODEL.gguf] [--slots 4] [--threads N]
Without a path the default model is taken from the cache folder; it is not downloaded for a benchmark.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from pathlib import Path

import platformdirs
import psutil

from skillopt_replay.errors import Unavailable
from skillopt_replay.models.catalogue import DEFAULT, find_entry
from skillopt_replay.models.local import LocalModel
from skillopt_replay.models.serving import ServerSettings, count_cores, require_runtime
from skillopt_replay.protocols import Completion, Message

SKILL = """You are the assistant of a small web shop. Follow the skill below.

# Orders

- Reply with one line of raw JSON with the keys "item" (singular noun), "qty" (integer) and "unit_price".
- No code fence, no explanation before or after.
- Write prices with two decimals and a point; when the customer names no price use null.
- Never add other keys.
"""
RULES = {
    "type": "object",
    "properties": {
        "reason": {"type": "string", "maxLength": 240},
        "rules": {
            "type": "array",
            "minItems": 3,
            "maxItems": 3,
            "items": {"type": "string", "maxLength": 160},
        },
    },
    "required": ["reason", "rules"],
    "additionalProperties": False,
}


def order(number: int) -> str:
    return (
        f"Order {number}: a customer from Lyon writes: please send {3 + number % 7} blue ceramic mugs, batch "
        f"{number * 37 % 101}, at {4 + number % 5}.50 euros each to the office before Friday. "
        "Then say in one sentence what you did."
    )


async def run_short(model: LocalModel, numbers: range, at_once: int) -> list[Completion]:
    turns = asyncio.Semaphore(at_once)

    async def one(number: int) -> Completion:
        async with turns:
            messages = [Message("system", SKILL), Message("user", order(number))]
            return await model.complete(messages, max_tokens=45)

    return await asyncio.gather(*map(one, numbers))


async def run_long(model: LocalModel) -> Completion:
    examples = "\n".join(order(number) for number in range(900, 909))
    messages = [
        Message("system", "You improve skills."),
        Message("user", f"{SKILL}\n{examples}\nWrite rules."),
    ]
    return await model.complete(messages, schema=RULES, max_tokens=200)


def report(label: str, replies: list[Completion], seconds: float, busy: float) -> float:
    failed = [reply.error for reply in replies if reply.error]
    if failed:
        sys.exit(f"{label}: {failed[0]}")
    out = sum(reply.usage.output_tokens for reply in replies)
    fresh = sum(reply.usage.input_tokens for reply in replies)
    kept = sum(reply.usage.cache_read_tokens for reply in replies)
    print(
        f"{label:<22} {seconds / len(replies):6.2f} s each  {out / seconds:6.1f} tok/s out  "
        f"{fresh:5d} read + {kept:5d} kept + {out:4d} written  {busy / len(replies):5.2f} CPU s each"
    )
    return seconds / len(replies)


async def measure(path: Path, settings: ServerSettings) -> None:
    started = time.monotonic()
    async with LocalModel(path, name="bench", sha256="0" * 64, settings=settings) as model:
        load = time.monotonic() - started
        child = psutil.Process().children()[0]
        memory = child.memory_info().rss / 1e9
        print(
            f"loaded in {load:.1f} s, {memory:.2f} GB resident; {settings.slots} slots, "
            f"{settings.threads or count_cores()} threads; load average {os.getloadavg()[0]:.1f}"
        )

        def used() -> float:
            times = child.cpu_times()
            return float(times.user + times.system)

        short = 0.0
        first = 0
        for at_once, count in ((1, 4), (2, 6), (4, 16)):
            before, started = used(), time.monotonic()
            replies = await run_short(model, range(first, first + count), at_once)
            short = report(f"short, {at_once} at once", replies, time.monotonic() - started, used() - before)
            first += count
        before, started = used(), time.monotonic()
        long = report(
            "long, to a schema", [await run_long(model)], time.monotonic() - started, used() - before
        )
        print(f"45 short and 3 long would take about {45 * short + 3 * long:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser()
    cached = platformdirs.user_cache_path("skillopt-sleep") / "models" / find_entry(DEFAULT).file
    parser.add_argument("model", nargs="?", type=Path, default=cached)
    parser.add_argument("--slots", type=int, default=4)
    parser.add_argument("--threads", type=int, default=None)
    options = parser.parse_args()
    try:
        require_runtime()
    except Unavailable as error:
        print(f"skipped: {error.message} ({error.hint})")
        return
    if not options.model.is_file():
        print(f"skipped: there is no {options.model}; give a GGUF file")
        return
    asyncio.run(measure(options.model, ServerSettings(slots=options.slots, threads=options.threads)))


if __name__ == "__main__":
    main()
