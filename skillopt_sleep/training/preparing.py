"""What a run begins with: its tasks, its first skill, and the settings its results depend on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from skillopt_replay.protocols import ChatModel
from skillopt_replay.skill_folders import read_skill
from skillopt_replay.skills import Skill, SkillInvalid, find_problems, new_skill
from skillopt_replay.tasks import Task
from skillopt_sleep.errors import UsageError
from skillopt_sleep.training.batches import count_steps
from skillopt_sleep.training.config import Config
from skillopt_sleep.training.contract import SPLITS, Environment, TrainingError
from skillopt_sleep.training.reading import read

_UNSET = "Use for every task of"


def load_splits(environment: Environment, config: Config) -> dict[str, list[Task]]:
    """Return the tasks of each split, cut as the configuration says.

    Raises TrainingError for splits that are empty, share tasks, or are too small for the gate.
    """
    return cut_splits(environment.load, config)


def cut_splits(load: Callable[[str], Sequence[Task]], config: Config) -> dict[str, list[Task]]:
    """Return the tasks that `load` has of each split, as `load_splits` does."""
    splits = {split: _take_tasks(split, load(split)) for split in SPLITS}
    if config.env.limit:
        splits = {split: tasks[: config.env.limit] for split, tasks in splits.items()}
    for split, most in (("val", config.evaluation.sel_env_num), ("test", config.evaluation.test_env_num)):
        splits[split] = splits[split][:most] if most else splits[split]
    seen: set[str] = set()
    for split, tasks in splits.items():
        for task in tasks:
            if task.id in seen:
                raise TrainingError(f"task {task.id} of {split} comes twice: ids are unique over all splits")
            seen.add(task.id)
    size = config.train.train_size
    if size and size != len(splits["train"]):
        raise TrainingError(f"train.train_size is {size}, but the split has {len(splits['train'])} tasks")
    if not splits["train"]:
        raise TrainingError("there are no train tasks")
    wanted, steps = config.train.steps_per_epoch, count_steps(len(splits["train"]), config.train)
    if wanted and wanted != steps:
        raise TrainingError(
            f"train.steps_per_epoch is {wanted}, but {len(splits['train'])} train tasks make {steps} steps",
            hint="leave it out: it follows from the tasks, train.batch_size and train.accumulation",
        )
    gate = config.evaluation
    least = gate.gate_min_tasks if gate.use_gate and gate.gate_mode == "one-night" else 1
    least = 0 if gate.gate_mode == "race" else least
    if len(splits["val"]) < least:
        raise TrainingError(
            f"{len(splits['val'])} val tasks are too few for the gate, which needs {least}",
            hint="give it more, or set evaluation.gate_mode=strict, which lets luck pass as well",
        )
    return splits


def _take_tasks(split: str, tasks: Sequence[Task]) -> list[Task]:
    """Return what an environment has loaded, which may be anything."""
    others = [one for one in tasks if not isinstance(one, Task)] if isinstance(tasks, Iterable) else [tasks]
    if others:
        raise TrainingError(
            f"load({split!r}) of the environment gives {type(others[0]).__name__} where Task is wanted",
            hint="make_task(id, prompt, check) makes one, see docs/training.md",
        )
    return list(tasks)


def list_shared(splits: Mapping[str, Sequence[Task]]) -> list[str]:
    """Return a line for every two splits that share tasks: scores on those say little about other tasks."""
    asked = {split: {(task.prompt, task.project) for task in tasks} for split, tasks in splits.items()}
    lines = []
    for split, other in (("val", "train"), ("test", "train"), ("test", "val")):
        shared = sum((task.prompt, task.project) in asked[other] for task in splits[split])
        if shared:
            lines.append(
                f"{shared} of {len(splits[split])} {split} tasks are asked in {other} as well:"
                " they tell little about tasks that nobody has seen"
            )
    return lines


def make_initial(skill: Skill | Path | str | None, name: str, config: Config) -> Skill:
    """Return the skill that training begins with; a path is a SKILL.md or a folder with one.

    Raises TrainingError when it cannot be read or is not legal.
    """
    wanted = config.env.skill_name or "".join(c if c.isalnum() else "-" for c in name.lower()).strip("-")
    try:
        if isinstance(skill, Path):
            read = read_skill(skill, wanted)
            return make_initial(read if read.files else read.text, name, config)
        if isinstance(skill, Skill):
            problems = find_problems(skill)
            if problems:
                raise SkillInvalid(f"skill {skill.name}: {'; '.join(problems)}")
            return skill
        if skill and skill.lstrip("\ufeff").startswith("---"):
            front = Skill(wanted, skill).front_matter
            return make_initial(Skill(str(front.get("name") or wanted), skill), name, config)
        title = wanted.replace("-", " ").capitalize()
        description = config.env.skill_description or describe_unset(config.env.skill_name or name)
        return new_skill(wanted, description, skill if skill and skill.strip() else f"# {title}")
    except SkillInvalid as error:
        raise TrainingError(error.message) from error


def describe_unset(name: str) -> str:
    """Return the description of a skill for which nobody wrote one."""
    return f"{_UNSET} {name}."


def is_undescribed(skill: Skill) -> bool:
    """Return whether nobody wrote what the skill is for."""
    return skill.description.startswith(_UNSET)


def check_priced(config: Config, environment: Environment, *models: ChatModel | None) -> None:
    """Raise UsageError when `model.max_usd` is to bound calls of which nobody knows what they cost."""
    paid: list[Environment | ChatModel] = [environment, *(model for model in models if model is not None)]
    unpriced = dict.fromkeys(one.identity for one in paid if one.estimate.cost_usd is None)
    if config.model.max_usd and unpriced:
        raise UsageError(
            f"model.max_usd cannot bound the run: what {' and '.join(unpriced)} costs is not known",
            hint="set its price (`skillopt-sleep config set prices.MODEL '[1.0, 2.0]'`: dollars per million"
            " tokens in and out, see docs/models.md), or leave model.max_usd out and set model.max_tokens or"
            " model.max_calls; an environment of your own tells its price in its estimate",
        )


def list_settings(config: Config) -> dict[str, Any]:
    """Return the settings that results depend on: not where they go, how fast, or how much may be spent."""
    values: dict[str, Any] = msgspec.to_builtins(config)
    # What is lost never becomes a result, so how much of it stops a run changes none.
    del values["env"]["most_lost"]
    values.pop("model")
    for section, key in (
        ("env", "out_root"),
        ("env", "workers"),
        ("env", "attempts"),
        ("env", "data_path"),
        ("env", "split_dir"),
        ("env", "skill_init"),
        ("env", "skill_description"),
        ("gradient", "analyst_workers"),
        ("gradient", "attempts"),
    ):
        del values[section][key]
    return values


def list_changed(written: Path, config: Config) -> str:
    """Return the settings that are others than in a written configuration, and what they were there.

    "" when it cannot be read any more, or nothing in it that results depend on is another.
    """
    try:
        before, now = list_settings(read(written)), list_settings(config)
    except UsageError:
        return ""
    keys = [(section, key) for section in now for key in now[section]]
    return ", ".join(
        f"{section}.{key} (was {before[section][key]})"
        for section, key in keys
        if before[section][key] != now[section][key]
    )
