"""Tasks of one's own from files: one JSON object a task, in splits or split by a ratio."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import msgspec

from skillopt_replay.checks import needs_files
from skillopt_replay.tasks import Check, Exact, Pairwise, Rubric, Task, is_judged
from skillopt_sleep.errors import UsageError
from skillopt_sleep.training.contract import SPLITS, TrainingError, make_task

_ENDINGS = (".jsonl", ".json")


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One task of a file: what is asked, and the exact `answer`, or checks in the words of replay.

    `{"id": "1", "prompt": "2 + 2?", "answer": "4"}` or with
    `"checks": [{"type": "contains", "text": "4"}]`; `family` groups tasks for the report. `project` is the
    folder an agent works in a copy of, from that of the file, at `commit` where it is under git.
    """

    prompt: str
    id: str = ""
    family: str = ""
    answer: str = ""
    checks: tuple[Check, ...] = ()
    project: str = ""
    commit: str = ""


def load_splits(
    *,
    split_dir: Path | None,
    data_path: Path | None,
    ratio: str,
    seed: int,
    skill: str,
    works_on_files: bool = False,
) -> dict[str, list[Task]]:
    """Return the tasks of train, val and test: `split_dir` has a file for each, `data_path` holds all.

    `works_on_files`: an agent runs them, so they may have a project and checks of files.

    A file is `train.jsonl` (one object a line), `train.json` or `train/items.json` (a list). Raises
    TrainingError for what is missing or cannot be read, with the place, UsageError for a ratio that is none.
    """
    if split_dir is not None:
        return {
            split: read_tasks(
                _find(split_dir, split), skill, prefix=f"{split}-", works_on_files=works_on_files
            )
            for split in SPLITS
        }
    if data_path is None:
        raise TrainingError(
            "there are no tasks", hint="set env.split_dir, or env.data_path with env.split_ratio"
        )
    return split_by_ratio(read_tasks(data_path, skill, works_on_files=works_on_files), ratio, seed)


def read_tasks(path: Path, skill: str, *, prefix: str = "", works_on_files: bool = False) -> list[Task]:
    """Return the tasks of a file. Raises TrainingError with the line or item that is wrong."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TrainingError(f"{path.absolute()} cannot be read: {error.strerror}") from error
    tasks = []
    if path.suffix == ".jsonl":
        raw = [(f"line {n}", line) for n, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    else:
        try:
            items = msgspec.json.decode(data, type=list[msgspec.Raw])
        except msgspec.DecodeError as error:
            raise TrainingError(f"{path} is not a JSON list: {error}") from error
        raw = [(f"item {n}", bytes(item)) for n, item in enumerate(items, 1)]
    for number, (place, text) in enumerate(raw, 1):
        try:
            entry = msgspec.json.decode(text, type=Entry)
        except msgspec.DecodeError as error:
            raise TrainingError(f"{path}, {place}: {error}", hint=_say_known(str(error))) from error
        task = _make(entry, f"{path}, {place}", f"{prefix}{number}", skill, works_on_files=works_on_files)
        if entry.project:
            project = (path.parent / Path(entry.project).expanduser()).resolve()
            if not project.is_dir():
                raise TrainingError(f"{path}, {place}: the project {project} is no folder")
            task = msgspec.structs.replace(task, project=str(project), commit=entry.commit or None)
        tasks.append(task)
    return tasks


def _say_known(said: str) -> str:
    """Return what a task, or one of its checks, may hold; "" where JSON itself is at fault."""
    kinds = [kind.__struct_config__.tag for kind in get_args(Check) if kind not in {Pairwise, Rubric}]
    if ".type`" in said:
        return f"a check's type is one of {', '.join(sorted(kinds))}"
    return (
        "" if "malformed" in said or ".checks" in said else f"a task has {', '.join(Entry.__struct_fields__)}"
    )


def _make(entry: Entry, place: str, number: str, skill: str, *, works_on_files: bool) -> Task:
    checks: list[Check] = list(entry.checks)
    if entry.answer:
        checks.append(Exact(text=entry.answer))
    if not checks:
        raise TrainingError(f"{place}: the task has neither answer nor checks")
    if any(map(is_judged, checks)):
        raise TrainingError(f"{place}: a check needs a judge, and there is none in training")
    if not works_on_files and (needs_files(checks) or entry.project):
        raise TrainingError(
            f"{place}: the task needs files, on which a chat target does not work",
            hint="set model.target_backend to an agent, such as claude_code_exec",
        )
    return make_task(entry.id or number, entry.prompt, *checks, family=entry.family, skill=skill)


def _find(folder: Path, split: str) -> Path:
    places = [folder / f"{split}{ending}" for ending in _ENDINGS] + [folder / split / "items.json"]
    for place in places:
        if place.is_file():
            return place
    raise TrainingError(f"{folder} has no {split} split", hint=f"it is looked for at {places[0].absolute()}")


def split_by_ratio(tasks: Sequence[Task], ratio: str, seed: int) -> dict[str, list[Task]]:
    """Return the tasks shuffled by the seed and cut by a ratio like 2:1:7, by largest remainder.

    Raises UsageError for a ratio that is none.
    """
    try:
        parts = [int(part) for part in ratio.split(":")]
    except ValueError:
        parts = []
    if len(parts) != len(SPLITS) or min(parts) < 0 or not sum(parts):
        raise UsageError(f"env.split_ratio is {ratio!r}", hint="it is three whole numbers, as in 2:1:7")
    order = list(tasks)
    random.Random(seed).shuffle(order)  # noqa: S311 - a split, not a secret
    total = sum(parts)
    sizes = [len(order) * part // total for part in parts]
    rest = sorted(range(3), key=lambda i: (-(len(order) * parts[i] % total), -parts[i], i))
    for index in rest[: len(order) - sum(sizes)]:
        sizes[index] += 1
    starts = [sum(sizes[:i]) for i in range(3)]
    return {name: order[starts[i] : starts[i] + sizes[i]] for i, name in enumerate(SPLITS)}
