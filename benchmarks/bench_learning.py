#!/usr/bin/env python3
"""What a small local model learns from its own failures: held-out scores before and after training.

    python benchmarks/bench_learning.py --model MODEL.gguf [--families span_qa,shout] [--seeds 1,2,3]
        [--set train.num_epochs=3]

For each family and seed a skill is trained from nothing, with the model as target and as optimizer, on train
and val tasks; then the test tasks, which nothing saw, are run without a skill, with the trained one and with
one written by hand. Every reply is kept in `--cache`: what was run once is not run again, and a run that was
stopped goes on. Without `--model` it does nothing: all of it takes hours on two cores.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import sqlite3
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.learning_tasks import (  # noqa: E402
    BY_HAND,
    FAMILIES,
    LONGEST,
    check_query,
    make_tasks,
)
from skillopt_gate.exact import sign_test  # noqa: E402
from skillopt_gate.leaks import find_leaks  # noqa: E402
from skillopt_replay.ledger import MemoryLedger  # noqa: E402
from skillopt_replay.models.digests import digest_of  # noqa: E402
from skillopt_replay.models.local import LocalModel  # noqa: E402
from skillopt_replay.models.serving import ServerSettings  # noqa: E402
from skillopt_replay.protocols import ChatModel, Completion, Message  # noqa: E402
from skillopt_replay.rollouts import Outcome, Rollout, make_score  # noqa: E402
from skillopt_replay.skills import Skill, new_skill  # noqa: E402
from skillopt_replay.tasks import Task  # noqa: E402
from skillopt_sleep.training import Config, Trainer  # noqa: E402
from skillopt_sleep.training.contract import score  # noqa: E402
from skillopt_sleep.training.reading import read  # noqa: E402
from skillopt_sleep.training.rolling import Runner  # noqa: E402
from skillopt_sleep.training.summary import Difference, Evaluation, contrast, describe, evaluate  # noqa: E402

COUNTS = {"train": 6, "val": 4, "test": 12}
SETTINGS = (
    "train.num_epochs=2",
    "train.batch_size=6",
    "train.candidates=2",
    "gradient.minibatch_size=3",
    "gradient.minibatches=1",
    "gradient.failure_only=true",
    "gradient.trace_tokens=700",
    "gradient.reply_tokens=700",
    "gradient.plain=true",
    "optimizer.learning_rate=2",
    "optimizer.lr_scheduler=constant",
    "optimizer.use_slow_update=false",
    "optimizer.use_meta_skill=false",
    "evaluation.gate_mode=race",
    "evaluation.eval_test=false",
    "env.workers=4",
)
LEVEL = 0.05


class KeptModel:
    """A chat model whose replies are kept by what was asked."""

    def __init__(self, model: ChatModel, kept: sqlite3.Connection) -> None:
        self._model, self._kept = model, kept
        self.identity, self.estimate = model.identity, model.estimate
        self.asked = self.found = 0
        kept.execute("create table if not exists replies(key text primary key, reply blob)")

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int = 2048,
        temperature: float = 0.0,
        seed: int | None = None,
    ) -> Completion:
        parts = [self.identity, list(messages), schema, max_tokens, temperature, seed]
        key = hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()
        row = self._kept.execute("select reply from replies where key = ?", (key,)).fetchone()
        self.asked += 1
        if row:
            self.found += 1
            return msgspec.json.decode(row[0], type=Completion)
        reply = await self._model.complete(
            messages, schema=schema, max_tokens=max_tokens, temperature=temperature, seed=seed
        )
        if reply.error is None:
            with self._kept:
                row = (key, msgspec.json.encode(reply))
                self._kept.execute("insert or replace into replies values (?, ?)", row)
        return reply


class Lesson:
    """The tasks of a family and seed, answered in one reply."""

    def __init__(self, family: str, seed: int, target: ChatModel) -> None:
        self.name = family
        self.identity = f"{family}/{seed} {target.identity}"
        self.estimate = target.estimate
        self._target, self._longest = target, LONGEST[family]
        self._splits = make_tasks(family, COUNTS, seed)

    def load(self, split: str) -> Sequence[Task]:
        return self._splits[split]

    async def rollout(self, task: Task, skill: Skill, sample: int) -> Rollout:
        rules = skill.body.strip().partition("\n")[2].strip()  # its first line is the title
        system = "You are a helpful assistant." + (f"\n\n# Skill\n{rules}" if rules else "")
        messages = [Message("system", system), Message("user", task.prompt)]
        reply = await self._target.complete(messages, max_tokens=self._longest)
        return Rollout(
            task=task.id,
            skill=skill.digest,
            agent=self.identity,
            model=reply.model,
            outcome=Outcome.INFRASTRUCTURE if reply.error else Outcome.FINISHED,
            answer=reply.text,
            usage=reply.usage,
            error=reply.error,
        )

    async def evaluate(self, task: Task, rollout: Rollout) -> Rollout:
        if task.checks:
            return await score(task, rollout)
        return msgspec.structs.replace(rollout, score=make_score(check_query(task, rollout.answer)))


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one family and seed."""

    family: str
    seed: int
    before: Evaluation
    after: Evaluation
    by_hand: Evaluation
    difference: Difference
    steps: int
    accepts: int
    leaks: tuple[str, ...]
    skill: str
    seconds: float


async def learn(family: str, seed: int, model: KeptModel, config: Config, cache: Path) -> Row:
    started = time.monotonic()
    lesson = Lesson(family, seed, model)
    settings = hashlib.sha256(msgspec.json.encode([config, COUNTS])).hexdigest()[:8]
    out = cache / "runs" / f"{family}-{seed}-{settings}"
    trainer = Trainer(lesson, model, config, out=out, say=lambda line: print(f"  {line}", file=sys.stderr))
    empty = new_skill(family.replace("_", "-"), f"Use for {family}.", f"# {family}")
    summary = await trainer.train(empty)
    runner = Runner(lesson, MemoryLedger(), None, workers=config.env.workers)
    tests = lesson.load("test")
    written = new_skill(empty.name, f"Use for {family}.", f"# {family}\n\n{BY_HAND[family]}")
    before, after, by_hand = [await evaluate(one, tests, runner) for one in (empty, summary.best, written)]
    known = [task.prompt for task in lesson.load("train")]
    return Row(
        family=family,
        seed=seed,
        before=describe(empty, tests, before),
        after=describe(summary.best, tests, after),
        by_hand=describe(written, tests, by_hand),
        difference=contrast(tests, before, after),
        steps=summary.total_steps,
        accepts=summary.total_accepts,
        leaks=tuple(find_leaks(summary.best.text, [task.prompt for task in tests], known=known)),
        skill=summary.best.body,
        seconds=round(time.monotonic() - started, 1),
    )


def tell(one: Evaluation) -> str:
    return f"{one.hard:4.2f} [{one.interval[0]:4.2f}, {one.interval[1]:4.2f}]"


def report(rows: Sequence[Row]) -> None:
    print(
        "\nfamily      seed  before             after              by hand            won-lost      p  steps"
    )
    for row in rows:
        won = row.difference
        print(
            f"{row.family:11} {row.seed:4}  {tell(row.before)}  {tell(row.after)}  {tell(row.by_hand)}"
            f"  {won.wins:3}-{won.losses:<3}  {won.p_value:7.4f}  {row.accepts} of {row.steps}"
            + (f"  copied from held-out tasks: {row.leaks}" if row.leaks else "")
        )
    cells = sum(row.difference.p_value <= LEVEL for row in rows)
    print(f"\n{cells} of {len(rows)} runs rise significantly (exact, paired, one-sided, {LEVEL})")
    found = []
    for family in dict.fromkeys(row.family for row in rows):
        own = [row.difference for row in rows if row.family == family]
        wins, losses = sum(d.wins for d in own), sum(d.losses for d in own)
        found.append((float(sign_test(wins, losses)), family, len(own), wins, losses))
    found.sort()
    rising, holds = 0, True
    for place, (p, family, seeds, wins, losses) in enumerate(found):
        holds = holds and p * (len(found) - place) <= LEVEL
        rising += holds
        print(f"{family:11} {seeds} seeds: {wins}-{losses}, p {p:.2g}{'  rises' if holds else ''}")
    print(f"{rising} of {len(found)} families rise significantly over their seeds (Holm, {LEVEL})")


async def run(given: argparse.Namespace) -> list[Row]:
    settings_of_run = (*SETTINGS, *given.set)
    config = read(None, settings_of_run)
    print(f"{given.model.name}; tasks {json.dumps(COUNTS)}; {' '.join(settings_of_run)}", flush=True)
    given.cache.mkdir(parents=True, exist_ok=True)
    kept = sqlite3.connect(given.cache / "replies.db")
    digest = digest_of(given.model, given.cache / "digests")
    settings = ServerSettings(slots=4, context_per_slot=4096, threads=given.threads)
    rows = []
    async with LocalModel(given.model, name=given.model.stem, sha256=digest, settings=settings) as local:
        model = KeptModel(local, kept)
        for seed in given.seeds:
            for family in given.families:
                row = await learn(family, seed, model, config, given.cache)
                rows.append(row)
                won = row.difference
                print(
                    f"{family} {seed}: {tell(row.before)} -> {tell(row.after)}, by hand {tell(row.by_hand)},"
                    f" {won.wins}-{won.losses}, p {won.p_value:.4f}, {row.seconds:.0f} s",
                    flush=True,
                )
                print("\n".join(f"    | {line}" for line in row.skill.splitlines()), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--families", type=lambda text: text.split(","), default=list(FAMILIES))
    parser.add_argument("--seeds", type=lambda text: list(map(int, text.split(","))), default=[1, 2, 3])
    parser.add_argument("--cache", type=Path, default=ROOT / ".cache" / "learning")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    given = parser.parse_args()
    if given.model is None:
        print("skipped: it takes hours; name a GGUF file with --model")
        return
    if not given.model.is_file():
        sys.exit(f"there is no {given.model}: give --model a GGUF file, such as the one the demo downloads")
    unknown = [family for family in given.families if family not in FAMILIES]
    if unknown:
        sys.exit(f"no family is called {', '.join(unknown)}: they are {', '.join(FAMILIES)}")
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    report(asyncio.run(run(given)))


if __name__ == "__main__":
    main()
