"""Evaluate a skill on a split beside another, with a ledger of its own when the run has a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout

from skillopt_replay.ledger import MemoryLedger
from skillopt_replay.protocols import Ledger
from skillopt_replay.skills import Skill
from skillopt_replay.tasks import Task
from skillopt_sleep.errors import Busy
from skillopt_sleep.files import write_atomically
from skillopt_sleep.training.config import Config
from skillopt_sleep.training.contract import Environment, TrainingError
from skillopt_sleep.training.preparing import check_priced, load_splits, make_initial
from skillopt_sleep.training.rolling import Runner
from skillopt_sleep.training.rounds import Report
from skillopt_sleep.training.run_ledger import RunLedger
from skillopt_sleep.training.summary import Difference, Evaluation, contrast, describe, evaluate


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """A skill and another on the tasks of a split, and how they differ task by task."""

    split: str
    skill: Evaluation
    other: Evaluation
    difference: Difference


async def compare_skills(
    environment: Environment,
    config: Config,
    skill: Path | str,
    other: Path | str | None,
    *,
    splits: Sequence[str],
    samples: int = 1,
    report: Report | None = None,
) -> list[Comparison]:
    """Return how the skill does on each of the splits beside the other (None: an empty one).

    With `env.out_root` the runs are kept in its `evaluations.db`, and `eval_summary.json` is written there.
    Raises TrainingError, Busy, CeilingReached, ServiceRefused.
    """
    loaded = load_splits(environment, config)
    if not any(loaded[split] for split in splits):
        raise TrainingError(f"there are no {' or '.join(splits)} tasks")
    check_priced(config, environment)
    one = _read(skill, environment.name, config)
    two = _read(other, environment.name, config)
    model, root = config.model, Path(config.env.out_root) if config.env.out_root else None
    stored = None
    lock = None
    if root is not None:
        root.mkdir(parents=True, exist_ok=True)
        lock = FileLock(root / "evaluations.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise Busy(f"another process evaluates in {root}") from None
        stored = RunLedger(
            root / "evaluations.db",
            max_usd=model.max_usd,
            max_tokens=model.max_tokens,
            max_calls=model.max_calls,
        )
    ledger: Ledger = stored or MemoryLedger(
        max_usd=model.max_usd or None, max_tokens=model.max_tokens or None, max_calls=model.max_calls or None
    )
    try:
        runner = Runner(
            environment,
            ledger,
            None,
            workers=config.env.workers,
            attempts=config.env.attempts,
            report=report,
        )
        found = [
            await _compare(split, loaded[split], one, two, runner, samples)
            for split in splits
            if loaded[split]
        ]
    finally:
        if stored is not None:
            stored.close()
        if lock is not None:
            lock.release()
    if root is not None:
        text = msgspec.json.format(msgspec.json.encode(arrange(found)), indent=2).decode()
        write_atomically(root / "eval_summary.json", text + "\n")
    return found


def _read(skill: Path | str | None, name: str, config: Config) -> Skill:
    best = Path("best_skill")
    if not isinstance(skill, Path) or skill.exists() or skill.stem != best.stem:
        return make_initial(skill, name, config)
    found = [p for p in (skill.with_name(best.name), skill.with_name(f"{best}.md")) if p.exists()]
    raise TrainingError(
        f"there is no {skill}",
        hint=f"the skill of that run is {found[0]}"
        if found
        else "training has not finished there: `skillopt-sleep train` goes on with it, given"
        f" env.out_root={skill.parent}",
    )


def arrange(found: Sequence[Comparison]) -> Comparison | dict[str, Sequence[Comparison]]:
    """Return what is told of an evaluation: the split's comparison, or those of all splits.

    There is no mean over splits: it would mix what was learned from with what was not.
    """
    return found[0] if len(found) == 1 else {"splits": found}


async def _compare(
    split: str, tasks: Sequence[Task], one: Skill, two: Skill, runner: Runner, samples: int
) -> Comparison:
    new = await evaluate(one, tasks, runner, samples=samples, stage=f"{split}, the skill")
    old = await evaluate(two, tasks, runner, samples=samples, stage=f"{split}, the other")
    return Comparison(
        split=split,
        skill=describe(one, tasks, new),
        other=describe(two, tasks, old),
        difference=contrast(tasks, old, new),
    )
